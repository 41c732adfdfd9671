"""Columns of two tables that mean the same things: likely by name and type, then counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.profile import open_source
from secondlook.tables.table import ColumnProfile, Join, Table, TableProfile
from secondlook.tables.words import atoms, singular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.worker import Worker

Profiled: TypeAlias = "tuple[Table, TableProfile, Path]"
SECONDS = 120.0
COMPARED_VALUES = 1_000  # So many different values of the left are looked for in the right
MOST_COUNTED = 40  # Likely pairs that are counted; each costs a scan of two columns
FEWEST_SHARED = 0.5  # Of the words of two names, and of the values of two columns
NAMING_WORDS = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "fk", "pk", "ref"}
)


@dataclass(frozen=True, slots=True)
class Side:
    table: Table
    file: Path
    place: int
    column: ColumnProfile

    @property
    def sent(self) -> dict[str, Any]:
        types = [column.type for column in self.table.columns]
        distinct = self.column.distinct
        return {"file": self.file, "place": self.place, "types": types, "distinct": distinct}


def find_joins(worker: Worker, tables: Sequence[Profiled]) -> tuple[Join, ...]:
    """Likely joins, the surest first. The values of the left are looked for among the right's,
    which is a key."""
    likely: list[tuple[float, Side, Side]] = []
    for one, other in combinations(map(_sides, tables), 2):
        for pair in product(one, other):
            left, right = sorted(pair, key=lambda side: (side.column.key, side.column.distinct))
            share = likeness(left, right) if left.column.type == right.column.type else 0.0
            if right.column.key and share >= FEWEST_SHARED:
                likely.append((share, left, right))
    likely = sorted(likely, key=lambda each: -each[0])[:MOST_COUNTED]
    if not likely:
        return ()
    pairs = [{"left": left.sent, "right": right.sent} for _, left, right in likely]
    shares: list[float] = worker.call("joins:overlaps", seconds=SECONDS, pairs=pairs)
    joins = [
        Join(
            left=left.table.id,
            left_column=left.column.name,
            right=right.table.id,
            right_column=right.column.name,
            overlap=round(share, 4),
        )
        for share, (_, left, right) in zip(shares, likely, strict=True)
        if share >= FEWEST_SHARED
    ]
    return tuple(sorted(joins, key=lambda join: -join.overlap))


def _sides(profiled: Profiled) -> list[Side]:
    table, profile, file = profiled
    return [
        Side(table, file, place, column)
        for place, column in enumerate(profile.columns)
        if column.type in {"integer", "text", "date"}
        and column.distinct > 1
        and not column.name.startswith("Unnamed: ")
    ]


def likeness(one: Side, other: Side) -> float:
    """`customer_id` is `customers.id`; but the `id` of one table is not that of another."""
    first, second = _words(one.column.name), _words(other.column.name)
    if first == second:
        return 0.0 if first <= NAMING_WORDS else 1.0
    for mine, theirs, table in ((first, second, other.table), (second, first, one.table)):
        if theirs <= NAMING_WORDS and set() < mine - NAMING_WORDS <= _words(table.name):
            return 1.0
    both = (first | second) - NAMING_WORDS
    return len(first & second & both) / len(both) if both else 0.0


def _words(name: str) -> set[str]:
    return {singular(atom.text) for atom in atoms(name)}


def overlaps(connection: DuckDBPyConnection, *, pairs: list[dict[str, Any]]) -> list[float]:
    """Of each pair: which share of the left's values the right has. Runs in the worker. Values are
    drawn by their hash, so that only such can be on the other side as well."""

    def values(side: dict[str, Any], parts: int) -> str:
        source = open_source(connection, side["file"], rows=0, types=side["types"])
        value = f"c{side['place']}::VARCHAR"
        drawn = f"{value} IS NOT NULL AND hash({value}) % {parts} = 0"
        return f"SELECT DISTINCT {value} AS v FROM {source.relation} WHERE {drawn}"  # noqa: S608  # places only

    shares = []
    for left, right in ((pair["left"], pair["right"]) for pair in pairs):
        parts = max(1, int(left["distinct"]) // COMPARED_VALUES)
        mine, theirs = values(left, parts), values(right, parts)
        query = f"SELECT count(*), count(*) FILTER (v IN ({theirs})) FROM ({mine})"  # noqa: S608
        found = connection.execute(query, [right["file"], left["file"]]).fetchone()
        drawn, shared = found or (0, 0)
        shares.append(shared / drawn if drawn else 0.0)
    return shares
