"""Questions about measures of columns: means, counts, correlations, tests, per group or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Order, Query
from secondlook.tables.resolver import Resolved, atoms
from secondlook.tables.understand.doubt import doubt_of, drops_something
from secondlook.tables.understand.lexicon import other_work, p_cases, sentences, spans_of
from secondlook.tables.understand.measures import plain_plans, plan_for
from secondlook.tables.understand.question import (
    Plan,
    Sheet,
    columns_of,
    is_a_label,
    numeric_targets,
    of_mention,
    output,
    said_of,
    take_apart,
)
from secondlook.tables.understand.readings import Output, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from secondlook.tables.query import Condition
    from secondlook.tables.resolver import AskedTable, Mention, Resolver
    from secondlook.tables.understand.lexicon import Said
    from secondlook.tables.understand.question import Asked, Target
    from secondlook.tables.understand.readings import Wanted

LABEL = re.compile(r"[\"'{]*([A-Za-z_ ]+?)\d+[\"']?\s*:")
COMPARED = re.compile(r"\b(?:compar\w*|versus|vs)\b", re.IGNORECASE)
YES_NO = ("yes", "no")
FAMILY = "statistics"


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    readings = []
    for table in tables:
        asked = take_apart(question, table, wanted, resolver)
        reading = _read(asked)
        if reading is not None:
            readings.append(reading)
    return readings


def _read(asked: Asked) -> Reading | None:
    if _leaves_work(asked) or (is_about_the_first(asked) and not asked.wanted.names):
        return None
    plans = _plans(asked)
    if not plans:
        return None
    sheet = Sheet(asked)
    outputs: list[Output | None] = [output(sheet, plan) for plan in plans]
    if _is_mapping(asked):
        outputs = list(_as_mapping(asked, sheet)) if len(sheet.measures) == 1 else []
    elif not all(outputs) or _says_the_same_twice(outputs) or _drops_a_group(asked, plans):
        return None
    if not outputs:
        return None
    query = _query(asked, sheet)
    if drops_something(asked, query):
        return None
    resolved = tuple(
        {
            one.column: one for plan in plans for target in plan.targets for one in target.resolved
        }.values()
    )
    named = bool(asked.wanted.names)
    return Reading(
        query=query,
        said=said_of(query, [one.said for one in asked.clauses if one.condition in query.where]),
        doubt=doubt_of(asked, resolved),
        resolved=resolved,
        family=FAMILY,
        rows=asked.table.table.rows,
        answer="words" if any(plan.words for plan in plans) else "value",
        outputs=tuple(one for one in outputs if one) if named else _plainly(sheet, query),
    )


def _plainly(sheet: Sheet, query: Query) -> tuple[Output, ...]:
    """Whether values are normal is a question for yes or no; other measures need no more words."""
    tested = [one for one in sheet.measures if one.statistic == "normality"]
    if not tested or query.group_by:
        return ()
    numbers = [Output(one.name, one.name) for one in sheet.measures]
    words = [
        Output("normally distributed", one.name, cases=p_cases(YES_NO, one.name, "", small="no"))
        for one in tested[:1]
    ]
    return (*words, *numbers)


def _says_the_same_twice(outputs: Sequence[Output | None]) -> bool:
    """Two wanted values that come to the same: a difference between them was missed."""
    what = [(one.measure, one.cases) for one in outputs if one is not None]
    return len(set(what)) < len(what)


def _drops_a_group(asked: Asked, plans: Sequence[Plan]) -> bool:
    """Wanted names give the groups; a question for each group whose names give none is not read."""
    return bool(asked.wanted.names and asked.groups and not any(one.said for one in plans))


def _as_mapping(asked: Asked, sheet: Sheet) -> tuple[Output, ...]:
    """`@monthly['month_1': value, ...]`: one name for the values of all groups."""
    (name,) = asked.wanted.names
    label = LABEL.match(asked.wanted.held[name])
    prefix = label[1] if label else ""
    (measure,) = sheet.measures
    decimals = asked.wanted.each.get(name, asked.wanted.decimals)
    return (Output(name, measure.name, decimals=decimals, every="mapping", prefix=prefix),)


def _is_mapping(asked: Asked) -> bool:
    names = asked.wanted.names
    return len(names) == 1 and len(asked.groups) == 1 and ":" in asked.wanted.held[names[0]]


def _plans(asked: Asked) -> list[Plan]:
    if _is_mapping(asked):
        return plain_plans(asked)
    if not asked.wanted.names:
        return plain_plans(asked)
    plans = [plan_for(asked, name) for name in asked.wanted.names]
    return [plan for plan in plans if plan is not None] if all(plans) else []


def _query(asked: Asked, sheet: Sheet) -> Query:
    by_name = bool(asked.wanted.names) and not _is_mapping(asked)
    of_rows = any(one.statistic == "share" for one in sheet.measures)
    return Query(
        table=asked.table.table.id,
        where=() if of_rows else _where(asked, sheet),
        group_by=() if by_name else (*(one.key for one in asked.groups), *_compared(asked, sheet)),
        measures=tuple(sheet.measures),
    )


def _where(asked: Asked, sheet: Sheet) -> tuple[Condition, ...]:
    """Of the whole query: not on a column by which the measures are told apart."""
    apart = {
        one.column
        for measure in sheet.measures
        for one in measure.where
        if isinstance(one, Filter) and not one.comparison.startswith("within")
    }
    return tuple(one.condition for one in asked.clauses if not columns_of(one) & apart)


def _compared(asked: Asked, sheet: Sheet) -> list[Key]:
    """`the mean of chairs and desks` is told for each of them; their number or total is one."""
    if any(one.statistic in {"sum", "count"} for one in sheet.measures) and not (
        COMPARED.search(asked.text[: asked.question])
    ):
        return []
    values = [
        one.condition.column
        for one in asked.clauses
        if isinstance(one.condition, Filter) and one.condition.comparison == "in"
    ]
    return [Key(column=one) for one in values]


def _of_intervals(asked: Asked) -> list[tuple[int, int]]:
    """The sentences that describe them."""
    return [
        (low, high)
        for low, high in sentences(asked.text)
        if any(low <= one.start < high for one in asked.intervals)
    ]


def _leaves_work(asked: Asked) -> bool:
    """Whether the text orders work that this reading would not do."""
    understood = [
        *asked.options.understood,
        *spans_of(asked.mentions, asked.said, asked.clauses),
        *_of_intervals(asked),
        *(asked.derived.spans if asked.derived else ()),
    ]
    return bool(other_work(asked.text, understood))


# Which group is first: `which region has the highest total units`, `top 3 products by ...`.

LEADING_FAMILY = "leading"
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_NUMBER = rf"(?P<count>\d+|{'|'.join(_COUNTS)})"
ASKS = re.compile(
    rf"\b(?:which|what|identify|find|name|list|give|show)\b|\b(?:top|bottom)(?: {_NUMBER})?\b",
    re.IGNORECASE,
)
TOP = re.compile(rf"\b(?P<way>top|bottom|first|last)\s+{_NUMBER}\b", re.IGNORECASE)
ROWS = re.compile(
    rf"\b(?P<way>top|bottom)\s+{_NUMBER}\s+(?:rows|records|entries|lines|observations)\b",
    re.IGNORECASE,
)
MOST = re.compile(
    r"\b(?:highest|largest|greatest|biggest|maximum|top)\b"
    r"|\b(?<!at )most\b(?! (?:common|frequent|popular))",
    re.IGNORECASE,
)
LEAST = re.compile(r"\b(?:lowest|smallest|(?<!at )least|fewest|minimum|bottom)\b", re.IGNORECASE)
GROUPED = frozenset(
    {"sum", "mean", "median", "std", "variance", "missing", "count", "distinct", "range"}
)
"""Statistics of a group that make it first."""
NEAR = 30


@dataclass(frozen=True, slots=True)
class _Asked:
    entity: Mention
    descending: bool
    count: int


def leading_read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    asked = [take_apart(question, table, wanted, resolver) for table in tables]
    return [reading for one in asked if (reading := _leading_read(one)) is not None]


def _leading_read(asked: Asked) -> Reading | None:
    rows = _first_rows(asked)
    if rows is not None:
        return rows
    leading = _leading(asked)
    if leading is None or other_work(asked.text, _understood(asked)):
        return None
    plan = _plan(asked, leading)
    if plan is None:
        return None
    sheet = Sheet(asked)
    measure = sheet.add(plan, plan.kind)  # type: ignore[arg-type]
    entity = leading.entity.resolved
    outputs = _outputs(asked, entity.column, measure, leading.count)
    if outputs is None:
        return None
    which = "highest" if leading.descending else "lowest"
    groups = f"{leading.count} {entity.column}" if leading.count > 1 else entity.column
    resolved = (entity, *(one for target in plan.targets for one in target.resolved))
    return Reading(
        query=Query(
            table=asked.table.table.id,
            where=tuple(one.condition for one in asked.clauses),
            group_by=(Key(column=entity.column),),
            measures=tuple(sheet.measures),
            order=(Order(by=measure, descending=leading.descending),),
            limit=leading.count,
        ),
        said=f"the {groups} with the {which} {measure}",
        doubt=doubt_of(asked, resolved, _cues(asked.text)),
        resolved=resolved,
        family=LEADING_FAMILY,
        rows=asked.table.table.rows,
        answer="list" if leading.count > 1 else "value",
        outputs=outputs,
    )


def _first_rows(asked: Asked) -> Reading | None:
    """`top 3 rows by price`: the rows themselves."""
    match = ROWS.search(asked.text)
    if match is None or asked.wanted.names:
        return None
    by = [one for one in asked.mentions if one.start >= match.end()]
    if len(by) != 1 or not asked.is_number(by[0].resolved.column):
        return None
    column, descending = by[0].resolved.column, match["way"].lower() == "top"
    count = _count(match)
    which = "highest" if descending else "lowest"
    return Reading(
        query=Query(
            table=asked.table.table.id,
            where=tuple(one.condition for one in asked.clauses),
            order=(Order(by=column, descending=descending),),
            limit=count,
        ),
        said=f"the {count} rows with the {which} {column}",
        doubt=doubt_of(asked, (by[0].resolved,), [match.span()]),
        resolved=(by[0].resolved,),
        family=LEADING_FAMILY,
        rows=asked.table.table.rows,
        answer="rows",
    )


def is_about_the_first(asked: Asked) -> bool:
    return _leading(asked) is not None


def _cues(text: str) -> list[tuple[int, int]]:
    return [match.span() for one in (TOP, MOST, LEAST) for match in one.finditer(text)]


def _understood(asked: Asked) -> list[tuple[int, int]]:
    return [*spans_of(asked.mentions, asked.said, asked.clauses), *asked.options.understood]


def _leading(asked: Asked) -> _Asked | None:
    """A group asked for, and a word for the first or the last of them."""
    question = asked.text[: asked.question]
    cue = ASKS.search(question)
    if cue is None or not (MOST.search(question) or LEAST.search(question)):
        return None
    numbered = TOP.search(question)
    entity = next(
        (
            one
            for one in asked.mentions
            if one.start >= cue.end()
            and one.start - (numbered or cue).end() <= NEAR
            and _groups(asked, one.resolved.column)
        ),
        None,
    )
    if entity is None:
        return None
    most, least = MOST.search(question), LEAST.search(question)
    if most and least:
        return None
    return _Asked(entity, most is not None, _count(numbered))


def _count(numbered: re.Match[str] | None) -> int:
    if numbered is None:
        return 1
    said = numbered["count"].lower()
    return int(said) if said.isdigit() else _COUNTS[said]


def _groups(asked: Asked, column: str) -> bool:
    """Texts that repeat, more so numbers: a class, a year."""
    profile = asked.table.profile.column(column)
    if profile is None:
        return False
    if asked.is_number(column):
        return 0 < profile.distinct * 3 <= profile.rows
    return 0 < profile.distinct < profile.rows


def _plan(asked: Asked, leading: _Asked) -> Plan | None:
    """The statistic of the question, over the column that follows; rows where there is neither."""
    entity = leading.entity.resolved.column
    said = [one for one in asked.said if asked.in_question(one.start) and one.kind in GROUPED]
    columns = numeric_targets(
        asked,
        [
            one
            for one in asked.mentions
            if asked.in_question(one.start) and one.resolved.column != entity
        ],
    )
    if len(columns) > 1 or len({one.kind for one in said}) > 1:
        return None
    if not said:
        return _by_rows(asked, columns)
    return _by_statistic(said[0], columns)


def _by_rows(asked: Asked, columns: list[Target]) -> Plan | None:
    """`which region has the most orders`: the number of rows, if no column is measured."""
    question = asked.text[: asked.question]
    counted = re.search(r"\b(?:most|fewest|least)\b", question, re.IGNORECASE)
    others = [
        one for one in asked.mentions if counted and counted.end() <= one.start < asked.question
    ]
    of_rows = all(is_a_label(asked, one.resolved.column) and _is_key(asked, one) for one in others)
    return Plan("count", ()) if counted and not columns and of_rows else None


def _is_key(asked: Asked, mention: Mention) -> bool:
    profile = asked.table.profile.column(mention.resolved.column)
    return profile is not None and profile.distinct == profile.rows


def _by_statistic(said: Said, columns: list[Target]) -> Plan | None:
    if said.kind == "count":
        return Plan("count", ()) if not columns else Plan("sum", tuple(columns))
    return Plan(said.kind, tuple(columns)) if columns else None


def _outputs(asked: Asked, entity: str, measure: str, count: int) -> tuple[Output, ...] | None:
    every = "list" if count > 1 else None
    names, wanted = asked.wanted.names, asked.wanted
    if not names:
        shown = "mapping" if count > 1 else None
        return (
            (Output(entity, entity), Output(measure, measure))
            if shown is None
            else (Output(measure, measure, every="mapping"),)
        )
    texts = [one for one in names if one in wanted.texts or not _sounds_like_a_number(one)]
    numbers = [one for one in names if one not in texts]
    if len(texts) != 1 or len(numbers) > 1:
        return None
    made = [Output(texts[0], entity, every=every)]  # type: ignore[arg-type]
    made += [
        Output(one, measure, decimals=wanted.each.get(one, wanted.decimals), every=every)  # type: ignore[arg-type]
        for one in numbers
    ]
    return tuple(made)


def _sounds_like_a_number(name: str) -> bool:
    words = set(re.split(r"[_\W]+", name.lower()))
    return bool(
        words
        & {
            "count",
            "number",
            "num",
            "value",
            "mean",
            "average",
            "avg",
            "sum",
            "total",
            "amount",
            "max",
            "min",
            "median",
        }
    )


# Missing values over the columns of a table: how many, in which, in which the most.

GAPS_FAMILY = "gaps"
GONE = re.compile(r"\b(?:missing|null|nan|empty|blank)\b", re.IGNORECASE)
WHICH = re.compile(
    r"\b(?:which|what|list|name|identify)\b[^?.\n]{0,30}\b(?:columns?|variables?|features?|fields?)\b",
    re.IGNORECASE,
)
EACH = re.compile(
    r"\b(?:each|every|per|all(?: the| of the)?|by) (?:column|variable|feature|field)s?\b",
    re.IGNORECASE,
)
WHOLE = re.compile(
    r"\b(?:in|of|across|within) (?:the |this )?(?:whole |entire |given )?"
    r"(?:data ?set|table|data|file)\b"
    r"|\b(?:in total|altogether|overall|are there)\b",
    re.IGNORECASE,
)
GAPS_MOST = re.compile(r"\b(?:most|highest|largest|maximum)\b", re.IGNORECASE)
GAPS_LEAST = re.compile(r"\b(?:fewest|least|lowest|smallest)\b", re.IGNORECASE)
NUMBERS = frozenset({"total", "count", "number", "num", "sum", "missing"})
COLUMNS = frozenset({"column", "columns", "variable", "feature", "field", "name"})
MOST_COLUMNS = 500


def gaps_read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    if GONE.search(question) is None or len(wanted.names) > 1:
        return []
    asked = [take_apart(question, table, wanted, resolver) for table in tables]
    return [reading for one in asked if (reading := _gaps_read(one)) is not None]


def _gaps_read(asked: Asked) -> Reading | None:
    question = asked.text[: asked.question]
    named = [one for one in asked.mentions if asked.in_question(one.start)]
    if named or asked.clauses or len(asked.table.table.columns) > MOST_COLUMNS:
        return None
    if GONE.search(question) is None or not any(
        one.kind.startswith("missing") for one in asked.said
    ):
        return None
    combine = _combine(question)
    if combine is None or not _fits(combine, asked.wanted):
        return None
    sheet = Sheet(asked)
    over = tuple(_counted(asked, sheet, one.name) for one in asked.table.table.columns)
    name = asked.wanted.names[0] if asked.wanted.names else _said(combine)
    each = () if combine == "each" else (Output(name, "", combine=combine, over=over),)
    return Reading(
        query=Query(table=asked.table.table.id, measures=tuple(sheet.measures)),
        said=f"{_said(combine)}, over all columns",
        doubt=doubt_of(asked, ()),
        resolved=(),
        family=GAPS_FAMILY,
        answer="list" if combine == "positive" else "value",
        outputs=each,
    )


def _fits(combine: str, wanted: Wanted) -> bool:
    """Whether the wanted name is for such a value."""
    if not wanted.names:
        return True
    words = {atom.text for atom in atoms(wanted.names[0])}
    if combine == "sum":
        return bool(words & NUMBERS) and not words & COLUMNS
    return combine in {"most", "least"} and bool(words & COLUMNS) and not words & NUMBERS


def _counted(asked: Asked, sheet: Sheet, column: str) -> tuple[str, str]:
    share = any(one.kind == "missing_share" for one in asked.said)
    target = of_mention(asked, Resolved(column, asked.table.table.id, column, 1.0, "exact"))
    plan = Plan("missing_share" if share else "missing", (target,))
    return sheet.add(plan, "missing_share" if share else "missing"), column


def _combine(question: str) -> Literal["most", "least", "sum", "positive", "each"] | None:
    if WHICH.search(question):
        if GAPS_MOST.search(question):
            return "most"
        return "least" if GAPS_LEAST.search(question) else "positive"
    if EACH.search(question):
        return "each"
    return "sum" if WHOLE.search(question) else None


def _said(combine: str) -> str:
    return {
        "most": "column with the most missing values",
        "least": "column with the fewest missing values",
        "sum": "number of missing values",
        "positive": "columns with missing values",
        "each": "missing values of each column",
    }[combine]
