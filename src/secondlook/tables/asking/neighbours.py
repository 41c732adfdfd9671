"""Questions for the row next to another one: `who came after b`, `the previous venue`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.rows_drafting import Draft, Parsed, places_of
from secondlook.tables.query import Order, Query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.asking.filters_slots import Choice

_CLOSELY = "(?:directly |immediately |right |just )?"
_AFTER = re.compile(
    rf"\b(?:{_CLOSELY}(?:after|below|following|behind|succeeded|follows|followed|beneath|under)"
    r"|next(?: \w+)?(?: (?:after|to|from))?)\b"
)
_BEFORE = re.compile(
    rf"\b{_CLOSELY}(?:before|above|preceding|preceded|precedes|ahead of|over|prior to"
    r"|previous(?: to)?)\b"
)
_LISTED = re.compile(
    r"\b(?:listed|list|table|chart|row|comes?|came|ranked|rank|above|below|shown)\b"
)
MOST_SETS = 8
MOST_TARGETS = 4
Side = Literal["before", "after"]


def drafts(parsed: Parsed) -> list[Draft]:
    return [*_beside(parsed, "after", _AFTER), *_beside(parsed, "before", _BEFORE)]


def _beside(parsed: Parsed, side: Side, pattern: re.Pattern[str]) -> Iterator[Draft]:
    used = parsed.asked.search(pattern)
    if used is None:
        return
    wh = parsed.wh[1] if parsed.wh else None
    listed = parsed.asked.search(_LISTED)
    dates = [one for one in parsed.asked.table.columns if one.kind in {"year", "date"}][:1]
    for conditions in parsed.sets[:MOST_SETS]:
        if not conditions.choices or not all(map(_names_a_row, conditions.choices)):
            continue
        anchored = "anchored" if min(conditions.used) > min(used) else "loose"
        columns = {choice.column for choice in conditions.choices}
        ways = [(target, by) for target in parsed.targets[:MOST_TARGETS] for by in (None, *dates)]
        for target, by in ways:
            sort = "place" if by is None else "date"
            yield Draft(
                kind="neighbour",
                family="neighbours",
                query=Query(
                    table=parsed.table_id,
                    where=conditions.conditions,
                    select=(target.column.name,),
                    order=() if by is None else (Order(by=by.name, transform=by.transform),),
                    neighbour=side,
                ),
                said=f"{target.column.name} of the row {side} the one where {conditions.said}"
                + (f", by {by.name}" if by else ""),
                used=places_of(used, wh, conditions.used, target.used),
                answer="list",
                conditions=conditions,
                target=target,
                traits=(
                    f"neighbour:{anchored}",
                    f"neighbour:{'same' if target.column.name in columns else 'other'}",
                    f"neighbour:{len(conditions.choices)}",
                    f"neighbour:by:{sort}",
                    f"neighbour:by:{sort}:{'listed' if listed else 'told'}",
                ),
            )


def _names_a_row(choice: Choice) -> bool:
    return choice.equality or choice.source in {"year", "equal"}
