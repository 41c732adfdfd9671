"""Questions about measures of columns: means, counts, correlations, tests, per group or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import columns_of, take_apart
from secondlook.tables.asking.doubting import doubt_of
from secondlook.tables.asking.dropping import drops_something
from secondlook.tables.asking.leading import is_about_the_first
from secondlook.tables.asking.lexicon import other_work
from secondlook.tables.asking.naming import plan_for
from secondlook.tables.asking.options import sentences, spans_of
from secondlook.tables.asking.plain import plain_plans
from secondlook.tables.asking.planning import Plan, Sheet, output, said_of
from secondlook.tables.asking.port import Output, Reading
from secondlook.tables.asking.rules import p_cases
from secondlook.tables.query import Filter, Key, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.port import AskedTable, Wanted
    from secondlook.tables.query import Condition
    from secondlook.tables.resolving import Resolver

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
