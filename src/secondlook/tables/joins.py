"""Columns of two tables that mean the same things: likely by name and type, then counted."""

from __future__ import annotations

import re
from collections import Counter
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
COMPARED_VALUES = 1_000
"""So many different values of the left are looked for in the right."""
MOST_COUNTED = 40
"""Likely pairs that are counted; each costs a scan of two columns."""
MOST_PER_PAIR = 3
ALIKE, SAME_NAME = 0.5, 0.95
"""Likeness of names from which half of the values are enough, and that of the same name."""
NAMING_WORDS = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "fk", "pk", "ref"}
)


@dataclass(frozen=True, slots=True)
class Side:
    table: Table
    file: Path
    place: int
    column: ColumnProfile
    words: frozenset[str]
    """Of its name."""
    table_words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The left's values are looked for among the right's."""

    left: Side
    right: Side
    likeness: float

    @property
    def order(self) -> tuple[float, bool]:
        return (-self.likeness, not self.right.column.key)


def find_joins(worker: Worker, tables: Sequence[Profiled]) -> tuple[Join, ...]:
    """Likely joins, the surest first."""
    pairs = (
        pair_up(first, second)
        for one, other in combinations(map(joinable_sides, tables), 2)
        for first, second in product(one, other)
    )
    likely = [each for each in pairs if each is not None and _plausible(each)]
    likely = sorted(likely, key=lambda each: each.order)[:MOST_COUNTED]
    if not likely:
        return ()
    shares: list[float] = worker.call(
        "joins:overlaps",
        seconds=SECONDS,
        pairs=[{"left": _sent(each.left), "right": _sent(each.right)} for each in likely],
    )
    found = [
        (each, share)
        for each, share in zip(likely, shares, strict=True)
        if share >= (0.5 if each.likeness >= ALIKE else 0.9)
    ]
    found.sort(key=lambda each: (-each[1] * (1 + each[0].likeness), each[0].order))
    taken: Counter[frozenset[str]] = Counter()
    joins = []
    for each, share in found:
        pair = frozenset({each.left.table.id, each.right.table.id})
        taken[pair] += 1
        if taken[pair] <= MOST_PER_PAIR:
            joins.append(
                Join(
                    left=each.left.table.id,
                    left_column=each.left.column.name,
                    right=each.right.table.id,
                    right_column=each.right.column.name,
                    overlap=round(share, 4),
                )
            )
    return tuple(joins)


def _sent(side: Side) -> dict[str, Any]:
    types = [column.type for column in side.table.columns]
    distinct = side.column.distinct
    return {"file": side.file, "place": side.place, "types": types, "distinct": distinct}


def joinable_sides(profiled: Profiled) -> list[Side]:
    def words(name: str) -> frozenset[str]:
        return frozenset(singular(atom.text) for atom in atoms(name))

    table, profile, file = profiled
    return [
        Side(table, file, place, column, words(column.name), words(table.name))
        for place, column in enumerate(profile.columns)
        if column.type in {"integer", "text", "date"}
        and column.distinct > 1
        and not re.match(r"Unnamed: \d+$", column.name)
    ]


def pair_up(one: Side, other: Side) -> Candidate | None:
    """None where types or ranges rule a match out. The key is on the right."""
    types = {one.column.type, other.column.type}
    if len(types) > 1 and types != {"integer", "text"}:
        return None
    low, high = one.column.minimum, one.column.maximum
    least, most = other.column.minimum, other.column.maximum
    known = None not in {low, high, least, most}
    if len(types) == 1 and known and not (low <= most and least <= high):  # type: ignore[operator]
        return None
    left, right = sorted((one, other), key=lambda side: (side.column.key, side.column.distinct))
    return Candidate(left, right, likeness(left, right))


def _plausible(each: Candidate) -> bool:
    left, right = each.left.column, each.right.column
    if each.likeness >= ALIKE and right.key:
        return True
    if each.likeness >= SAME_NAME:
        # Two tables may share a category, but `yes` and `no` join nothing.
        names = bool(each.left.words & NAMING_WORDS) or left.type != "integer"
        return names and left.distinct >= 10  # noqa: PLR2004
    # Numbers meet by chance: without a name in common only texts count.
    return left.type == right.type == "text" and right.key and left.distinct >= 5  # noqa: PLR2004


def likeness(one: Side, other: Side) -> float:
    """`customer_id` is `customers.id`; but the `id` of one table is not that of another."""
    if one.words == other.words:
        return 0.0 if one.words <= NAMING_WORDS else 1.0
    for mine, theirs in ((one, other), (other, one)):
        meant = mine.words - NAMING_WORDS
        is_named = theirs.words and theirs.words <= NAMING_WORDS
        if is_named and meant and meant <= theirs.table_words:
            return SAME_NAME
    first, second = one.words - NAMING_WORDS, other.words - NAMING_WORDS
    both = first | second
    return 0.9 * len(first & second) / len(both) if both else 0.0


def overlaps(connection: DuckDBPyConnection, *, pairs: list[dict[str, Any]]) -> list[float]:
    """Of each pair: which share of the left's values the right has. Runs in the worker.

    Values are drawn by their hash, so that only such can be on the other side as well."""

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
