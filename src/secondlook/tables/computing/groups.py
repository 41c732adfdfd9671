"""Groups of a result: which are kept, in which order, how many."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.query import AnyOf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Condition, Filter, Order, Query

    Row = tuple[Scalar, ...]

SIGNS: dict[str, Callable[[object, object], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,  # type: ignore[dict-item]
    "<=": le,  # type: ignore[dict-item]
    ">": gt,  # type: ignore[dict-item]
    ">=": ge,  # type: ignore[dict-item]
}


def shaped(query: Query, columns: Sequence[str], rows: list[Row]) -> tuple[int, list[Row]]:
    """How many groups there are that `having` leaves, and those within the limit."""
    places = {name: at for at, name in enumerate(columns)}
    rows = [row for row in rows if all(_holds(one, places, row) for one in query.having)]
    for one in reversed(query.order):
        rows = _sorted(one, places, rows)
    if query.limit is None:
        return len(rows), rows[query.offset :]
    end = query.offset + query.limit
    kept = rows[query.offset : end]
    if query.ties and query.order and kept:
        by = [_place(places, one.by) for one in query.order]
        last = [kept[-1][at] for at in by]
        for row in rows[end:]:
            if [row[at] for at in by] != last:
                break
            kept.append(row)
    return len(rows), kept


def _place(places: dict[str, int], name: str) -> int:
    if name not in places:
        known = ", ".join(places)
        raise TableError(f"The result has no column {name!r} to order by.", hint=f"It has {known}.")
    return places[name]


def _sorted(order: Order, places: dict[str, int], rows: list[Row]) -> list[Row]:
    """Missing values last whatever the direction."""
    at = _place(places, order.by)
    known = [row for row in rows if row[at] is not None]
    known.sort(key=lambda row: row[at], reverse=order.descending)  # type: ignore[arg-type,return-value]
    return known + [row for row in rows if row[at] is None]


def _holds(one: Condition, places: dict[str, int], row: Row) -> bool:
    if isinstance(one, AnyOf):
        return any(_met(each, row[_place(places, each.column)]) for each in one.filters)
    return _met(one, row[_place(places, one.column)])


def _met(one: Filter, value: Scalar) -> bool:
    return _compare(one, value) != one.negated


def _compare(one: Filter, value: Scalar) -> bool:
    if one.comparison in {"missing", "present"}:
        return (value is None) == (one.comparison == "missing")
    if value is None:
        return one.comparison == "!="
    if one.comparison == "in":
        return value in one.values
    if one.comparison not in SIGNS:
        raise TableError(f"Groups cannot be compared by {one.comparison!r}.")
    return SIGNS[one.comparison](value, one.value)
