"""Questions about measures of columns: means, counts, correlations, tests, per group or not."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Order, Query
from secondlook.tables.understand.lexicon import Said, other_work, p_cases, spans_of, statistics_in
from secondlook.tables.understand.question import (
    PAIRED,
    Plan,
    Sheet,
    Target,
    columns_of,
    doubt_of,
    drops_something,
    is_a_label,
    numeric_targets,
    of_derived,
    of_mention,
    output,
    said_of,
    share_of_words,
    statistic_of,
    take_apart,
    targets,
)
from secondlook.tables.understand.readings import Output, Reading
from secondlook.tables.words import STOP_WORDS, atoms, same_word, squeezed, stem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from secondlook.tables.query import Condition
    from secondlook.tables.resolver import AskedTable, Mention, Resolved, Resolver
    from secondlook.tables.understand.lexicon import Kind
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
    doubt, unplaced = doubt_of(asked, resolved)
    return Reading(
        query=query,
        said=said_of(query, [one.said for one in asked.clauses if one.condition in query.where]),
        doubt=doubt,
        unplaced=unplaced,
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
        column, count = by[0].resolved.column, _count(match)
        descending = match["way"].lower() == "top"
        doubt, unplaced = doubt_of(asked, (by[0].resolved,), [match.span()])
        return Reading(
            query=Query(
                table=asked.table.table.id,
                where=tuple(one.condition for one in asked.clauses),
                order=(Order(by=column, descending=descending),),
                limit=count,
            ),
            said=f"the {count} rows with the {'highest' if descending else 'lowest'} {column}",
            doubt=doubt,
            unplaced=unplaced,
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
    doubt, unplaced = doubt_of(asked, resolved, cues)
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
        doubt=doubt,
        unplaced=unplaced,
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


# What a question wants when it gives no names: its statistics, each with its columns.

ANY_COLUMN: frozenset[Kind] = frozenset(
    {"missing", "missing_share", "distinct", "mode", "min", "max"}
)
"""What can be told of a column that holds no numbers."""
OVERRULED: frozenset[Kind] = frozenset({"min", "max", "count", "sum", "mean", "share"})
"""Words that are no statistic of their own beside a correlation or outliers."""


HAVING = re.compile(r"\b(?:have|has|had|having|with|whose|where)\b", re.IGNORECASE)
OF_THE = re.compile(r"\s*(?:of )?(?:the )?(?:all )?[\"'\u201c]?", re.IGNORECASE)
BESIDE = re.compile(
    r"[\"'\u201d)]?(?:\s*columns?)?\s*(?:,|and|&|or|as well as|to|/|,\s*and)?\s*(?:of )?"
    r"(?:the )?(?:column )?[(\"'\u201c]?",
    re.IGNORECASE,
)
"""Between two columns of one statistic; anything else makes the second a condition."""
THAN_A_MEASURE = re.compile(
    r"\b(?:above|below|over|under|than|exceed\w*|equal to|beyond)\s+(?:or equal to )?"
    r"(?:the |its |an? )?"
    r"(?:overall |total )?(?:average|mean|median|maximum|minimum|mode|standard|sum|total)\b",
    re.IGNORECASE,
)
"""A condition that takes a computation of its own."""
NAMES_A_THING = re.compile(
    r"\s*(?:(?:from|in|at|on) )?(?:which|who|whom|where|when)\b", re.IGNORECASE
)
"""Asks for what has the most, not how much it is."""


def plain_plans(asked: Asked) -> list[Plan]:
    if THAN_A_MEASURE.search(asked.text[: asked.question]):
        return []
    said = [one for one in asked.said if asked.in_question(one.start)]
    kinds = {one.kind for one in said}
    if {"share", "missing"} <= kinds:
        # `what percentage of X is missing` names one statistic with two words.
        rest = [one for one in said if one.kind not in {"share", "missing"}]
        first = next(one for one in said if one.kind in {"share", "missing"})
        said = [replace(first, kind="missing_share"), *rest]
        kinds = {one.kind for one in said}
    if kinds & {"correlation", "covariance"}:
        both = targets(asked, 2)
        paired = dict.fromkeys(one.kind for one in said if one.kind not in OVERRULED)
        paired_kinds = [one for one in paired if statistic_of(asked, one) in PAIRED]
        return [Plan(one, tuple(both)) for one in paired_kinds if len(both) == TWO]
    if kinds and kinds <= {"min", "max"} and NAMES_A_THING.match(asked.text):
        return []
    # `the number of outliers` is no count of rows.
    if kinds & {"outliers", "missing", "missing_share"}:
        said = [one for one in said if one.kind not in OVERRULED]
    elif "share" in kinds:
        said = [one for one in said if one.kind == "share"]
    made = of_derived(asked)
    if made is not None:
        return [Plan(one.kind, (made,), at=one.at) for one in said if one.kind not in PAIRED]
    return _of_trend(asked) if "slope" in kinds else _by_segments(asked, said)


def _of_trend(asked: Asked) -> list[Plan]:
    from secondlook.tables.resolver import Resolved
    from secondlook.tables.understand.selection import the_date

    column, dated = targets(asked, 1), the_date(asked.table)
    time = of_mention(Resolved(dated or "", asked.table.table.id, dated or "", 1.0, "exact"))
    return [Plan("slope", (column[0], time))] if column and dated is not None else []


def _by_segments(asked: Asked, said: list[Said]) -> list[Plan]:
    """Nothing where one of the statistics has no column, or a column no place beside another:
    `the mean of units for orders with a discount` is no mean of the discount."""
    away = {one.key.column for one in asked.groups}
    away |= {column for clause in asked.clauses for column in columns_of(clause)}
    measured = [
        one
        for one in asked.mentions
        if asked.is_number(one.resolved.column) and one.resolved.column not in away
    ]
    if any(
        one.resolved.column != other.resolved.column
        and not any(one.end <= each.start < other.end for each in said)
        and BESIDE.fullmatch(asked.text[one.end : other.start]) is None
        for one, other in pairwise(measured)
    ):
        return []
    plans = [
        _plan_of(asked, one, column)
        for statistics, columns in _segments(asked, said)
        for column in (*columns,) or (None,)
        for one in statistics
    ]
    return [plan for plan in plans if plan is not None] if all(plans) else []


def _plan_of(asked: Asked, said: Said, target: Target | None) -> Plan | None:
    of_columns = re.search(r"\bcolumns\b", asked.text[: asked.question])
    if said.kind == "count" and not of_columns:
        # Rows; but of a column of amounts (`how many units`) their sum, and of one of names that
        # repeat (`how many regions`) the different ones.
        if target is not None and not is_a_label(asked, target.term.column):
            return Plan("sum", (target,)) if _of_what_follows(asked, said, target) else None
        named = _counted(asked, said)
        if named is not None:  # of chosen rows it may mean either
            return None if asked.clauses else Plan("distinct", (of_mention(named.resolved),))
        return Plan("count", ())
    if said.kind == "share":
        return share_of_rows(asked)
    if target is None or said.kind == "count" or statistic_of(asked, said.kind) in PAIRED:
        return None
    return Plan(said.kind, (target,), at=said.at)


def _of_what_follows(asked: Asked, said: Said, target: Target) -> bool:
    """`how many products have a price` does not count the price."""
    first = next((one for one in asked.mentions if one.start >= said.end), None)
    if first is None or first.resolved.column != target.term.column:
        return first is None
    return HAVING.search(asked.text[said.end : first.start]) is None


def _counted(asked: Asked, said: Said) -> Mention | None:
    """The column right after the count, where its values repeat and are no numbers."""
    for one in asked.mentions:
        profile = asked.table.profile.column(one.resolved.column)
        between = asked.text[said.end : one.start] if one.start >= said.end else "?"
        away = {each.key.column for each in asked.groups}
        away |= {column for clause in asked.clauses for column in columns_of(clause)}
        if OF_THE.fullmatch(between) and profile and one.resolved.column not in away:
            repeats = profile.distinct < profile.rows
            return one if repeats and not asked.is_number(one.resolved.column) else None
    return None


def share_of_rows(asked: Asked) -> Plan | None:
    """Of all rows, those that meet the one condition of the question."""
    if len(asked.clauses) != 1:
        return None
    (one,) = asked.clauses
    return Plan("share", (), (one.condition,), said=one.said)


def _segments(asked: Asked, said: list[Said]) -> list[tuple[list[Said], list[Target]]]:
    """Statistics with the columns that follow them: `mean and median of A, and the sum of B`."""
    away = {one.key.column for one in asked.groups}
    columns = [
        one
        for one in asked.mentions
        if asked.in_question(one.start) and one.resolved.column not in away
    ]
    segments: list[tuple[list[Said], list[Target]]] = []
    before: list[Target] = []
    events: list[Said | Mention] = [*said, *columns]
    for one in sorted(events, key=lambda one: one.start):
        if isinstance(one, Said):
            if not segments or segments[-1][1]:
                segments.append(([], []))
            segments[-1][0].append(one)
            continue
        kinds = {each.kind for each in segments[-1][0]} if segments else set()
        measured = numeric_targets(asked, [one])
        if not measured and kinds and kinds <= ANY_COLUMN:
            measured = [of_mention(one.resolved)]
        (segments[-1][1] if segments else before).extend(measured)
    if segments and not segments[-1][1]:
        segments[-1][1].extend(before)
    return segments


# Wanted names such as `mean_fare_class1`: which statistic, which column, which rows they mean.

_SAYS_NOTHING = """value values val column result results test status is are after before removal
removed removing new old original initial raw transformed coefficient num number no type strength
relationship overall
dataset data calculated computed score r distribution dist outcome conclusion category class of in
the for and with final given output answer float int string list name cleaned imputed normalized
filled significance significant detected identified count total remaining without outliers outlier
shapiro wilk ks kolmogorov smirnov anderson darling pearson spearman iqr zscore z method
stat statistic statistics variable feature group all positive negative"""
SAYS_NOTHING = frozenset(_SAYS_NOTHING.split())
GONE = frozenset({"missing", "null", "nulls", "nan", "na"})
SHARES = frozenset({"pct", "percentage", "percent", "share", "ratio", "proportion", "rate"})
ONE, TWO = 1, 2
TESTS: tuple[Kind, ...] = ("normality", "correlation", "skewness")
"""What is turned into words."""
FOR_WORDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("normality", ("normal", "dist", "distribution", "normality", "shapiro", "ks", "anderson")),
    (
        "correlation",
        ("correlat", "relationship", "strength", "association", "corr", "linear", "signific"),
    ),
    ("skewness", ("skew", "skewness", "symmetry")),
)


def plan_for(asked: Asked, name: str) -> Plan | None:
    words = [atom.text for atom in atoms(name)]
    text = " ".join(words)
    said = statistics_in(text)
    form = asked.wanted.forms.get(name, ())
    if not form and name in asked.wanted.texts:
        return None
    kind, at = _kind(asked, words, said, form)
    if kind is None:
        return None
    if kind == "share":
        plan = share_of_rows(asked)
        return replace(plan, name=name) if plan else None
    covered = {word for one in said for word in text[one.start : one.end].split()}
    left = [word for word in words if word not in covered and word not in STOP_WORDS]
    chosen, left = _columns(asked, kind, left)
    if chosen is None:
        return None
    where, rows, left = _rows(asked, left, {one.term.column for one in chosen})
    # A word of the question too only repeats.
    asked_words = [stem(atom.text) for atom in atoms(asked.text)]
    unknown = [
        word
        for word in left
        if word not in SAYS_NOTHING
        and (word.isdigit() or not any(same_word(one, stem(word)) for one in asked_words))
    ]
    if unknown and not form:
        return None
    raw = bool({"before", "original", "initial", "raw"} & set(words))
    return Plan(kind, tuple(chosen), where, name, tuple(form), at, rows, as_it_is=raw)


def _kind(
    asked: Asked, words: Sequence[str], said: Sequence[Said], form: Sequence[str]
) -> tuple[Kind | None, float | None]:
    if form:
        cued = (kind for kind, cues in FOR_WORDS if any(w.startswith(cues) for w in words))
        tested = {one.kind for one in asked.said if one.kind in TESTS}
        only = tested.pop() if len(tested) == 1 else None
        return next(chain(cued, (one.kind for one in said if one.kind in TESTS)), only), None
    if GONE & set(words):
        return ("missing_share" if SHARES & set(words) else "missing"), None
    kinds = list(dict.fromkeys(one.kind for one in said))
    if {"outliers", "missing"} & set(kinds):
        kinds = [one for one in kinds if one in {"outliers", "missing", "missing_share"}]
    if len(kinds) > 1:
        asked_for = {one.kind for one in asked.said}
        kinds = [one for one in kinds if one in asked_for] or kinds
    if len(kinds) > 1:
        # `mean_max_temp` is the mean of a column whose name holds the rest.
        kinds = [one for one in kinds if one not in {"min", "max", "count", "range"}] or kinds
    if len(kinds) == 1 and kinds[0] != "count":
        return kinds[0], next(one.at for one in said if one.kind == kinds[0])
    if len(kinds) > 1:
        return None, None
    return _kind_of_question(asked)


def _kind_of_question(asked: Asked) -> tuple[Kind | None, float | None]:
    """A name that says none: the only one that the question asks for."""
    here = [one for one in asked.said if asked.in_question(one.start)]
    kinds = {one.kind for one in here}
    for strong in ("outliers", "missing_share", "missing", "distinct"):
        if strong in kinds:
            kinds = {strong}
    if len(kinds) != 1:
        return None, None
    (kind,) = kinds
    return kind, next((one.at for one in here if one.kind == kind), None)


def _columns(asked: Asked, kind: Kind, left: list[str]) -> tuple[list[Target] | None, list[str]]:
    """The columns that the rest of the name speaks of, else those of the question."""
    wanted = TWO if statistic_of(asked, kind) in PAIRED else ONE
    any_type = kind in ANY_COLUMN
    made = of_derived(asked)
    known = [made] if made else []
    known += numeric_targets(asked, asked.mentions, any_type=any_type)
    named = sorted(
        (one for one in known if _names(left, one)), key=lambda one: -share_of_words(left, one)
    )
    if wanted == ONE and len(named) > 1:
        first, second = (share_of_words(left, one) for one in named[:2])
        named = named[:1] if first > second else []
    if len(named) == wanted:
        return named, [word for word in left if not any(_names([word], one) for one in named)]
    if kind in {"count", "share"}:
        return [], left
    usual = targets(asked, wanted, any_type=any_type)
    return (usual or None), left


def _names(words: Sequence[str], target: Target) -> bool:
    """Whether a word of the name is one of the column's, or the words together are its name."""
    if any(same_word(stem(word), one) for word in words for one in target.words):
        return True
    whole = squeezed(target.term.column)
    return any(word == whole for word in words) or "".join(words) == whole


def _rows(
    asked: Asked, left: list[str], measured: set[str]
) -> tuple[tuple[Condition, ...], str, list[str]]:
    """Groups that the name speaks of: `child`, `class1`, `male`; of each column one."""
    where: list[Condition] = []
    said: list[str] = []
    columns = [one.key.column for one in asked.groups]
    columns += [one.column for one in asked.resolver.values(asked.text[: asked.question])]
    for column in dict.fromkeys(one for one in columns if one not in measured):
        profile = asked.table.profile.column(column)
        top = [one.value for one in profile.top] if profile else []
        for value in sorted(top or asked.table.values(column), key=len, reverse=True):
            words = [atom.text for atom in atoms(value)]
            if words and all(word in left for word in words):
                own = squeezed(column)
                left = [word for word in left if word not in words and stem(word) not in own]
                where.append(Filter(column=column, comparison="=", value=value))
                said.append(f"{column} is {value}")
                break
    return tuple(where), " and ".join(said), left
