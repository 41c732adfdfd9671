"""Questions about measures of columns: means, counts, correlations, tests, per group or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Order, Query
from secondlook.tables.understand.doubt import doubt_of, drops_something
from secondlook.tables.understand.lexicon import other_work, p_cases, spans_of
from secondlook.tables.understand.measures import plain_plans, plan_for
from secondlook.tables.understand.question import (
    Plan,
    Sheet,
    columns_of,
    is_a_label,
    numeric_targets,
    output,
    said_of,
    take_apart,
)
from secondlook.tables.understand.readings import Output, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from secondlook.tables.resolver import AskedTable, Resolved, Resolver
    from secondlook.tables.understand.question import Asked
    from secondlook.tables.understand.readings import Wanted

COMPARED = re.compile(r"\b(?:compar\w*|versus|vs)\b", re.IGNORECASE)


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    """Readings of both kinds, of each table."""
    asked = [take_apart(question, table, wanted, resolver) for table in tables]
    found = [each(one) for each in (_measured, _leading) for one in asked]
    return [one for one in found if one is not None]


def _measured(asked: Asked) -> Reading | None:
    names = asked.wanted.names
    understood = [*_understood(asked), *(asked.derived.spans if asked.derived else ())]
    if other_work(asked.text, understood) or (_first(asked) is not None and not names):
        return None
    plans = [plan_for(asked, name) for name in names] if names else [*plain_plans(asked)]
    known = [one for one in plans if one is not None]
    # Names give the groups: a question for each group whose names give none is not read.
    if (
        not plans
        or len(known) < len(plans)
        or (names and asked.groups and not any(one.said for one in known))
    ):
        return None
    sheet = Sheet(asked)
    outputs = [one for plan in known if (one := output(sheet, plan)) is not None]
    # Two wanted values that come to the same: a difference between them was missed.
    if len({(one.measure, one.cases) for one in outputs}) < len(known):
        return None
    query = _query(asked, sheet)
    if drops_something(asked, query):
        return None
    resolved = tuple(
        {
            one.column: one for plan in known for each in plan.targets for one in each.resolved
        }.values()
    )
    tested = [one.name for one in sheet.measures if one.statistic == "normality"][:1]
    if not names and tested and not query.group_by:
        # Whether values are normal is a question for yes or no.
        cases = p_cases(("yes", "no"), tested[0], "", small="no")
        outputs = [Output("normally distributed", tested[0], cases=cases)]
        outputs += [Output(one.name, one.name) for one in sheet.measures]
    elif not names:
        outputs = []
    return Reading(
        query=query,
        said=said_of(query, [one.said for one in asked.clauses if one.condition in query.where]),
        doubt=doubt_of(asked, resolved),
        resolved=resolved,
        family="statistics",
        rows=asked.table.table.rows,
        answer="words" if any(plan.words for plan in known) else "value",
        outputs=tuple(outputs),
    )


def _query(asked: Asked, sheet: Sheet) -> Query:
    kinds = {one.statistic for one in sheet.measures}
    # Not on a column by which the measures are told apart.
    apart = {
        one.column
        for each in sheet.measures
        for one in each.where
        if isinstance(one, Filter) and not one.comparison.startswith("within")
    }
    where = tuple(one.condition for one in asked.clauses if not columns_of(one) & apart)
    keys = [one.key for one in asked.groups]
    # `the mean of chairs and desks` is told for each of them; their number or total is one.
    if not kinds & {"sum", "count"} or COMPARED.search(asked.text[: asked.question]):
        keys += [
            Key(column=one.condition.column)
            for one in asked.clauses
            if isinstance(one.condition, Filter) and one.condition.comparison == "in"
        ]
    return Query(
        table=asked.table.table.id,
        where=() if "share" in kinds else where,
        group_by=() if asked.wanted.names else tuple(keys),
        measures=tuple(sheet.measures),
    )


def _understood(asked: Asked) -> list[tuple[int, int]]:
    return [*asked.options.understood, *spans_of(asked.mentions, asked.said, asked.clauses)]


# Which group is first: `which region has the highest total units`, `top 3 products by ...`.

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
_GROUPED = "sum mean median std variance missing count distinct range"
GROUPED = frozenset(_GROUPED.split())
"""Statistics of a group that make it first."""
_NUMBERS = "count number num value mean average avg sum total amount max min median"
NUMBERS = frozenset(_NUMBERS.split())
"""Words of a wanted name that is for a number."""
NEAR = 30


def _leading(asked: Asked) -> Reading | None:
    match = ROWS.search(asked.text)
    by = [one for one in asked.mentions if match and one.start >= match.end()]
    if match and not asked.wanted.names and len(by) == 1 and asked.is_number(by[0].resolved.column):
        # `top 3 rows by price`: the rows themselves.
        column, descending, count = (
            by[0].resolved.column,
            match["way"].lower() == "top",
            _count(match),
        )
        return Reading(
            query=Query(
                table=asked.table.table.id,
                where=tuple(one.condition for one in asked.clauses),
                order=(Order(by=column, descending=descending),),
                limit=count,
            ),
            said=f"the {count} rows with the {'highest' if descending else 'lowest'} {column}",
            doubt=doubt_of(asked, (by[0].resolved,), [match.span()]),
            resolved=(by[0].resolved,),
            family="leading",
            rows=asked.table.table.rows,
            answer="rows",
        )
    first = _first(asked)
    if first is None or other_work(asked.text, _understood(asked)):
        return None
    entity, descending, count = first
    plan = _plan(asked, entity.column)
    if plan is None:
        return None
    sheet = Sheet(asked)
    measure = sheet.add(plan, plan.kind)  # type: ignore[arg-type]
    outputs = _outputs(asked.wanted, entity.column, measure, count)
    if not outputs:
        return None
    which = "highest" if descending else "lowest"
    groups = f"{count} {entity.column}" if count > 1 else entity.column
    resolved = (entity, *(one for target in plan.targets for one in target.resolved))
    cues = [match.span() for one in (TOP, MOST, LEAST) for match in one.finditer(asked.text)]
    return Reading(
        query=Query(
            table=asked.table.table.id,
            where=tuple(one.condition for one in asked.clauses),
            group_by=(Key(column=entity.column),),
            measures=tuple(sheet.measures),
            order=(Order(by=measure, descending=descending),),
            limit=count,
        ),
        said=f"the {groups} with the {which} {measure}",
        doubt=doubt_of(asked, resolved, cues),
        resolved=resolved,
        family="leading",
        rows=asked.table.table.rows,
        answer="list" if count > 1 else "value",
        outputs=outputs,
    )


def _first(asked: Asked) -> tuple[Resolved, bool, int] | None:
    """A group asked for, whether the most is wanted, and how many of them."""
    question = asked.text[: asked.question]
    cue, numbered = ASKS.search(question), TOP.search(question)
    most, least = MOST.search(question), LEAST.search(question)
    if cue is None or bool(most) == bool(least):
        return None
    for one in asked.mentions:
        near = cue.end() <= one.start <= (numbered or cue).end() + NEAR
        profile = asked.table.profile.column(one.resolved.column)
        if near and profile is not None and profile.distinct:
            # Texts that repeat, more so numbers: a class, a year.
            numeric = asked.is_number(one.resolved.column)
            if profile.distinct * 3 <= profile.rows if numeric else profile.distinct < profile.rows:
                return one.resolved, most is not None, _count(numbered) if numbered else 1
    return None


def _count(numbered: re.Match[str]) -> int:
    said = numbered["count"].lower()
    return int(said) if said.isdigit() else _COUNTS[said]


def _plan(asked: Asked, entity: str) -> Plan | None:
    """The statistic of the question, over the column that follows; rows where there is neither."""
    said = [one for one in asked.said if asked.in_question(one.start) and one.kind in GROUPED]
    here = [one for one in asked.mentions if asked.in_question(one.start)]
    columns = numeric_targets(asked, [one for one in here if one.resolved.column != entity])
    if len(columns) > 1 or len({one.kind for one in said}) > 1:
        return None
    if said and said[0].kind != "count":
        return Plan(said[0].kind, tuple(columns)) if columns else None
    if said:
        return Plan("sum", tuple(columns)) if columns else Plan("count", ())
    # `which region has the most orders`: the number of rows, if no column is measured.
    counted = re.search(r"\b(?:most|fewest|least)\b", asked.text[: asked.question], re.IGNORECASE)
    if counted is None or columns:
        return None
    for one in here:
        profile = asked.table.profile.column(one.resolved.column)
        is_key = profile is not None and profile.distinct == profile.rows
        if one.start >= counted.end() and not (is_a_label(asked, one.resolved.column) and is_key):
            return None
    return Plan("count", ())


def _outputs(wanted: Wanted, entity: str, measure: str, count: int) -> tuple[Output, ...]:
    if not wanted.names and count > 1:
        return (Output(measure, measure, every="mapping"),)
    if not wanted.names:
        return Output(entity, entity), Output(measure, measure)
    every: Literal["list"] | None = "list" if count > 1 else None
    numbers = [
        one
        for one in wanted.names
        if one not in wanted.texts and NUMBERS & set(re.split(r"[_\W]+", one.lower()))
    ]
    texts = [one for one in wanted.names if one not in numbers]
    if len(texts) != 1 or len(numbers) > 1:
        return ()
    decimals = {one: wanted.each.get(one, wanted.decimals) for one in numbers}
    return (
        Output(texts[0], entity, every=every),
        *(Output(one, measure, decimals=decimals[one], every=every) for one in numbers),
    )
