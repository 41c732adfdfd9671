"""Questions that set rows beside another row, or count how often a value occurs.

`who scored more than b`, `which team has the same points as b`, `which venue hosted twice`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.filters import slots
from secondlook.tables.asking.rows_drafting import Draft, Parsed, Target, places_of
from secondlook.tables.asking.rows_vocabulary import NUMBER_WORDS
from secondlook.tables.query import Comparison, Filter, Key, Measure, Query, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.asking.filters import ConditionSet
    from secondlook.tables.asking.filters_slots import Choice
    from secondlook.tables.asking.rows_columns import ColumnFacts

_THAN: tuple[tuple[re.Pattern[str], Comparison], ...] = (
    (
        re.compile(
            r"\b(?:more|higher|larger|bigger|greater|longer|older|taller|better|later|above|over|after)\b.*\bthan\b"
        ),
        ">",
    ),
    (
        re.compile(
            r"\b(?:less|fewer|lower|smaller|shorter|younger|worse|earlier|faster|below|under)\b.*\bthan\b"
        ),
        "<",
    ),
    (re.compile(r"\b(?:same|equal|identical|tied)\b.*?\b(?:as|to|with)\b"), "="),
)
_NUMBERS = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_OFTEN: tuple[tuple[re.Pattern[str], Comparison, int | None], ...] = (
    (
        re.compile(
            r"\b(?:more than once|multiple times|more than one(?: \w+)?|several times|repeatedly)\b"
        ),
        ">",
        1,
    ),
    (re.compile(rf"\bat least (?P<n>\d+|{_NUMBERS})(?: \w+)?"), ">=", None),
    (re.compile(rf"\bmore than (?P<n>\d+|{_NUMBERS})(?: \w+)?"), ">", None),
    (
        re.compile(
            r"\b(?:only once|only one(?: \w+)?|just once|a single(?: \w+)?|exactly one(?: \w+)?)\b"
        ),
        "=",
        1,
    ),
    (re.compile(r"\b(?:twice|two times)\b"), "=", 2),
    (re.compile(rf"\b(?:only|exactly|just)? ?(?P<n>\d+|{_NUMBERS})(?: times| \w+)\b"), "=", None),
)
MOST_COLUMNS = 2


def drafts(parsed: Parsed) -> list[Draft]:
    return [*_beside_another(parsed), *_often(parsed)]


def _beside_another(parsed: Parsed) -> Iterator[Draft]:
    """Rows whose number is above, below or the same as that of a named row."""
    for pattern, sign in _THAN:
        trigger = parsed.asked.search(pattern)
        if trigger is None:
            continue
        words = frozenset(
            place for place in (min(trigger), max(trigger)) if place in parsed.asked.content
        ) | {min(trigger), max(trigger)}
        for other in _others(parsed, max(trigger)):
            for column, places, how in _columns(parsed, other.column):
                value = _value_of(parsed, other, column)
                if value is None:
                    continue
                yield from _rows_beside(
                    parsed,
                    other,
                    (column, sign, value),
                    places_of(words, other.places, places),
                    how,
                )


def _others(parsed: Parsed, after: int) -> list[Choice]:
    return [
        choice
        for slot in slots(parsed.asked)
        for choice in slot.choices[:2]
        if choice.values and min(choice.places) > after - 1 and not choice.negated
    ]


def _columns(parsed: Parsed, besides: str) -> list[tuple[ColumnFacts, frozenset[int], str]]:
    found: dict[str, tuple[ColumnFacts, frozenset[int], str]] = {}
    for mention in parsed.asked.mentions:
        if mention.column.measurable and mention.column.name != besides:
            found.setdefault(mention.column.name, (mention.column, mention.places, mention.how))
    if not found:
        for column in parsed.asked.table.columns:
            if column.kind == "number" and column.name != besides:
                found[column.name] = (column, frozenset(), "any")
    return list(found.values())[:MOST_COLUMNS]


def _value_of(parsed: Parsed, row: Choice, column: ColumnFacts) -> float | None:
    """Of the named row; None where it has none or nothing can be computed yet."""
    compute = parsed.asked.table.asked.compute
    if compute is None:
        return None
    of = Term(column=column.name, transform=column.transform)
    query = Query(
        table=parsed.table_id,
        where=row.conditions,
        measures=(Measure(name="value", statistic="max", of=of),),
    )
    rows = compute(query).rows
    value = rows[0][0] if rows else None
    return float(value) if isinstance(value, int | float) else None


def _rows_beside(
    parsed: Parsed,
    other: Choice,
    compared: tuple[ColumnFacts, Comparison, float],
    used: frozenset[int],
    how: str,
) -> Iterator[Draft]:
    column, sign, value = compared
    where = (
        Filter(column=column.name, comparison=sign, value=value, transform=column.transform),
        *(
            Filter(column=other.column, comparison="!=", value=one)
            for one in (other.values if sign == "=" else ())
        ),
        *parsed.sets[-1].conditions,
    )
    said = f"where {column.name} {sign} {value:g}, that of {other.values[0]!r}"
    wh = parsed.wh[1] if parsed.wh else None
    if parsed.counting or "number of" in parsed.asked.joined:
        yield Draft(
            kind="relative_count",
            family="relating",
            query=Query(
                table=parsed.table_id,
                where=where,
                measures=(Measure(name="count", statistic="count"),),
            ),
            said=f"number of rows {said}",
            used=places_of(used, wh),
            answer="value",
            traits=(f"relative:{how}", f"relative:{sign}"),
        )
        return
    for target in parsed.targets[:3]:
        yield Draft(
            kind="relative",
            family="relating",
            query=Query(
                table=parsed.table_id, where=where, select=(target.column.name,), distinct=True
            ),
            said=f"{target.column.name} {said}",
            used=places_of(used, wh, target.used),
            answer="list",
            target=target,
            traits=(
                f"relative:{how}",
                f"relative:{sign}",
                f"relative:{'same' if target.column.name == other.column else 'else'}",
            ),
        )


def _often(parsed: Parsed) -> Iterator[Draft]:
    """Values that occur in so many rows."""
    for pattern, sign, fixed in _OFTEN:
        match = pattern.search(parsed.asked.joined)
        if match is None:
            continue
        times = (
            fixed
            if fixed is not None
            else int(NUMBER_WORDS.get(match["n"], 0) or _digits(match["n"]))
        )
        trigger = parsed.asked.places(match.start(), match.end())
        for conditions in parsed.sets[:3] + parsed.sets[-1:]:
            if conditions.used & trigger:
                continue
            for target in parsed.targets[:2]:
                if target.column.distinct < 1:
                    yield _frequency(parsed, target, conditions, (sign, times), trigger)


def _digits(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _frequency(
    parsed: Parsed,
    target: Target,
    conditions: ConditionSet,
    often: tuple[Comparison, int],
    trigger: frozenset[int],
) -> Draft:
    sign, times = often
    where = f" where {conditions.said}" if conditions.choices else ""
    return Draft(
        kind="often",
        family="relating",
        query=Query(
            table=parsed.table_id,
            where=conditions.conditions,
            group_by=(Key(column=target.column.name),),
            measures=(Measure(name="rows", statistic="count"),),
            having=(Filter(column="rows", comparison=sign, value=times),),
        ),
        said=f"{target.column.name} with {sign} {times} rows{where}",
        used=places_of(trigger, target.used, conditions.used, parsed.wh[1] if parsed.wh else None),
        answer="list",
        conditions=conditions,
        target=target,
        traits=(f"often:{sign}", f"often:{'some' if conditions.choices else 'all'}"),
    )
