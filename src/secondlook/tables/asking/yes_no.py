"""Questions for a choice or a yes: `did a or b win more`, `was x founded before 1900`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.rows_drafting import Draft, Parsed, Target, places_of
from secondlook.tables.asking.rows_vocabulary import RANKS
from secondlook.tables.query import Filter, Key, Measure, Order, Query, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.asking.filters_slots import Choice

_ASKS = re.compile(r"^(?:is|was|were|are|did|does|do|has|have|had|can|could|will)\b")
_MORE = re.compile(
    r"\b(?:more|most|higher|highest|larger|largest|bigger|biggest|greater|longer|longest|taller|tallest|better|best|older|later|last|farther)\b"
)
_LESS = re.compile(
    r"\b(?:less|least|fewer|fewest|lower|lowest|smaller|smallest|shorter|shortest|worse|earlier|first|younger|before|faster)\b"
)


def drafts(parsed: Parsed) -> list[Draft]:
    return [*_either(parsed), *_whether(parsed)]


def _pairs(parsed: Parsed) -> Iterator[tuple[Choice, Choice]]:
    from secondlook.tables.asking.filters import slots

    choices = [choice for slot in slots(parsed.asked) for choice in slot.choices[:3]]
    for at, one in enumerate(choices):
        for other in choices[at + 1 :]:
            if one.column != other.column or not one.values or not other.values:
                continue
            if one.places & other.places or one.values == other.values:
                continue
            yield one, other


def _either(parsed: Parsed) -> Iterator[Draft]:
    """Which of two named values has more or less of something."""
    for one, other in _pairs(parsed):
        between = range(max(one.places) + 1, min(other.places))
        words = {parsed.asked.words[place].text for place in between}
        if not words & {"or", "than"} and len(between) > 0:
            continue
        if "or" not in words:
            continue
        for pattern, descending in ((_MORE, True), (_LESS, False)):
            trigger = parsed.asked.search(pattern)
            if trigger is None:
                continue
            used = places_of(one.places, other.places, trigger, frozenset(between))
            used = places_of(used, parsed.wh[1] if parsed.wh else None)
            yield from _ranked(parsed, (one, other), used, descending=descending)


def _ranked(
    parsed: Parsed, pair: tuple[Choice, Choice], used: frozenset[int], *, descending: bool
) -> Iterator[Draft]:
    one, other = pair
    key = parsed.asked.table.column(one.column)
    where = Filter(column=one.column, comparison="in", values=(*one.values, *other.values))
    names = f"{one.values[0]!r} or {other.values[0]!r}"
    shared = {"table": parsed.table_id, "where": (where,), "limit": 1}
    yield Draft(
        kind="either_rows",
        family="yes_no",
        query=Query(
            group_by=(Key(column=one.column),),
            measures=(Measure(name="rows", statistic="count"),),
            order=(Order(by="rows", descending=descending),),
            **shared,  # type: ignore[arg-type]
        ),
        said=f"which of {names} has {'more' if descending else 'fewer'} rows",
        used=used,
        answer="list",
        target=Target(key, one.places, "value"),
        traits=("either:rows", "either:key" if key.distinct > 0.95 else "either:repeated"),  # noqa: PLR2004
    )
    for column, places, how in _measures(parsed, one.column):
        facts = parsed.asked.table.column(column)
        turned = bool(set(facts.words) & RANKS)
        order = Order(by=column, descending=descending != turned, transform=facts.transform)
        yield Draft(
            kind="either",
            family="yes_no",
            query=Query(select=(one.column,), order=(order,), **shared),  # type: ignore[arg-type]
            said=f"which of {names} has the {'higher' if order.descending else 'lower'} {column}",
            used=places_of(used, places),
            answer="list",
            target=Target(key, one.places, "value"),
            traits=(f"either:{how}", f"either:{'down' if descending else 'up'}"),
        )


def _measures(parsed: Parsed, key: str) -> list[tuple[str, frozenset[int], str]]:
    found: dict[str, tuple[str, frozenset[int], str]] = {}
    for mention in parsed.asked.mentions:
        if mention.column.measurable and mention.column.name != key:
            found.setdefault(
                mention.column.name, (mention.column.name, mention.places, mention.how)
            )
    for column in parsed.asked.table.columns:
        if column.measurable and column.name != key:
            found.setdefault(column.name, (column.name, frozenset(), "any"))
    return list(found.values())[:4]


def _whether(parsed: Parsed) -> Iterator[Draft]:
    """Whether a row meets all conditions."""
    asks = parsed.asked.search(_ASKS)
    if asks is None or " or " in parsed.asked.joined:
        return
    for conditions in parsed.sets:
        if len(conditions.choices) < 2:  # noqa: PLR2004
            continue
        yield Draft(
            kind="whether",
            family="yes_no",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                select=(parsed.asked.table.columns[0].name,),
                limit=1,
                ties=False,
            ),
            operation="exists",
            said=f"whether there is a row where {conditions.said}",
            used=places_of(asks, conditions.used),
            answer="boolean",
            conditions=conditions,
        )
    yield from _greater(parsed, asks)


def _greater(parsed: Parsed, asks: frozenset[int]) -> Iterator[Draft]:
    """Whether one named value has more of something than the other."""
    for pattern, operation in ((_MORE, "greater"), (_LESS, "less")):
        trigger = parsed.asked.search(pattern)
        if trigger is None:
            continue
        for one, other in _pairs(parsed):
            for name, places, how in _measures(parsed, one.column):
                column = parsed.asked.table.column(name)
                queries = [
                    Query(
                        table=parsed.table_id,
                        where=(Filter(column=one.column, comparison="in", values=chosen.values),),
                        measures=(
                            Measure(
                                name="value",
                                statistic="max",
                                of=Term(column=name, transform=column.transform),
                            ),
                        ),
                    )
                    for chosen in (one, other)
                ]
                yield Draft(
                    kind="greater",
                    family="yes_no",
                    query=queries[0],
                    more=(queries[1],),
                    operation=operation,  # type: ignore[arg-type]
                    said=f"whether {name} of {one.values[0]!r} is {operation} than that of "
                    f"{other.values[0]!r}",
                    used=places_of(asks, trigger, one.places, other.places, places),
                    answer="boolean",
                    traits=(f"greater:{how}",),
                )
