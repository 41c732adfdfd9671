"""Columns of two tables that mean the same things: likely by name and type, then counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.profiling.headers import name_words
from secondlook.tables.profiling.source import open_source
from secondlook.tables.table import ColumnProfile, ColumnType, Join, Table, TableProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.worker import Worker

Profiled: TypeAlias = "tuple[Table, TableProfile, Path]"
SECONDS = 120.0
JOINABLE: frozenset[ColumnType] = frozenset({"integer", "text", "date"})
COMPARED_VALUES = 1_000
"""So many different values of the left are looked for in the right."""
MOST_COUNTED = 40
"""Likely pairs that are counted; each costs a scan of two columns."""
MOST_PER_PAIR = 3
ALIKE = 0.5
"""Likeness of names from which half of the values are enough."""
SAME_NAME = 0.95
ENOUGH_OVERLAP = 0.5
OVERLAP_WITHOUT_NAME = 0.9
FEWEST_WITHOUT_NAME = 5
FEWEST_WITHOUT_KEY = 10
"""Two tables may share a category, but `yes` and `no` join nothing."""
NAMING_WORDS = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "fk", "pk", "ref"}
)
_NAMELESS = re.compile(r"Unnamed: \d+$")


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
    def enough(self) -> float:
        return ENOUGH_OVERLAP if self.likeness >= ALIKE else OVERLAP_WITHOUT_NAME

    @property
    def order(self) -> tuple[float, bool]:
        return (-self.likeness, not self.right.column.key)


def find_joins(worker: Worker, tables: Sequence[Profiled]) -> tuple[Join, ...]:
    """Likely joins, the surest first."""
    likely = sorted(_candidates(tables), key=lambda each: each.order)[:MOST_COUNTED]
    if not likely:
        return ()
    overlaps = count_overlaps(worker, likely)
    found = [
        (each, share) for each, share in zip(likely, overlaps, strict=True) if share >= each.enough
    ]
    found.sort(key=lambda each: (-each[1] * (1 + each[0].likeness), each[0].order))
    return tuple(_best_of_each_pair(found))


def count_overlaps(worker: Worker, candidates: Sequence[Candidate]) -> list[float]:
    pairs = [{"left": _told(each.left), "right": _told(each.right)} for each in candidates]
    found: list[float] = worker.call("profiling.joins:overlaps", seconds=SECONDS, pairs=pairs)
    return found


def _told(side: Side) -> dict[str, Any]:
    types = [column.type for column in side.table.columns]
    distinct = side.column.distinct
    return {"file": side.file, "place": side.place, "types": types, "distinct": distinct}


def _best_of_each_pair(found: Iterable[tuple[Candidate, float]]) -> Iterable[Join]:
    taken: dict[frozenset[str], int] = {}
    for each, overlap in found:
        pair = frozenset({each.left.table.id, each.right.table.id})
        taken[pair] = taken.get(pair, 0) + 1
        if taken[pair] <= MOST_PER_PAIR:
            yield Join(
                left=each.left.table.id,
                left_column=each.left.column.name,
                right=each.right.table.id,
                right_column=each.right.column.name,
                overlap=round(overlap, 4),
            )


def _candidates(tables: Sequence[Profiled]) -> Iterable[Candidate]:
    for one, other in combinations(map(joinable_sides, tables), 2):
        for first, second in product(one, other):
            candidate = pair_up(first, second)
            if candidate and _plausible(candidate):
                yield candidate


def joinable_sides(profiled: Profiled) -> list[Side]:
    table, profile, file = profiled
    names = _name_parts(table.name)
    return [
        Side(table, file, place, column, _name_parts(column.name), names)
        for place, column in enumerate(profile.columns)
        if column.type in JOINABLE and column.distinct > 1 and not _NAMELESS.match(column.name)
    ]


def _name_parts(name: str) -> frozenset[str]:
    return frozenset(map(singular, name_words(name)))


def pair_up(one: Side, other: Side) -> Candidate | None:
    """None where types or ranges rule a match out. The key is on the right."""
    types = {one.column.type, other.column.type}
    if len(types) > 1 and types != {"integer", "text"}:
        return None
    if len(types) == 1 and not _ranges_meet(one.column, other.column):
        return None
    left, right = sorted((one, other), key=lambda side: (side.column.key, side.column.distinct))
    return Candidate(left, right, likeness(left, right))


def _ranges_meet(one: ColumnProfile, other: ColumnProfile) -> bool:
    ends = (one.minimum, one.maximum, other.minimum, other.maximum)
    if any(end is None for end in ends):
        return True
    least, greatest, other_least, other_greatest = ends
    return bool(least <= other_greatest and other_least <= greatest)  # type: ignore[operator]


def _plausible(each: Candidate) -> bool:
    left, right = each.left.column, each.right.column
    if each.likeness >= ALIKE and right.key:
        return True
    if each.likeness >= SAME_NAME:
        names = bool(each.left.words & NAMING_WORDS) or left.type != "integer"
        return names and left.distinct >= FEWEST_WITHOUT_KEY
    # Numbers meet by chance: without a name in common only texts count.
    texts = left.type == right.type == "text"
    return texts and right.key and left.distinct >= FEWEST_WITHOUT_NAME


def likeness(one: Side, other: Side) -> float:
    """`customer_id` is `customers.id`; but the `id` of one table is not that of another."""
    if one.words == other.words:
        return 0.0 if one.words <= NAMING_WORDS else 1.0
    if _names_the_other(one, other) or _names_the_other(other, one):
        return SAME_NAME
    mine, theirs = one.words - NAMING_WORDS, other.words - NAMING_WORDS
    both = mine | theirs
    return 0.9 * len(mine & theirs) / len(both) if both else 0.0


def _names_the_other(one: Side, other: Side) -> bool:
    if not other.words or not other.words <= NAMING_WORDS:
        return False
    meant = one.words - NAMING_WORDS
    return bool(meant) and meant <= other.table_words


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004  # not `dies`
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word  # noqa: PLR2004


def overlaps(connection: DuckDBPyConnection, *, pairs: list[dict[str, Any]]) -> list[float]:
    """Of each pair: which share of the left's values the right has. Runs in the worker."""
    return [_overlap(connection, pair["left"], pair["right"]) for pair in pairs]


def _overlap(connection: DuckDBPyConnection, left: dict[str, Any], right: dict[str, Any]) -> float:
    """Values are drawn by their hash, so that only such can be on the other side as well."""
    parts = max(1, int(left["distinct"]) // COMPARED_VALUES)
    values = [_values(connection, side, parts) for side in (left, right)]
    query = f"SELECT count(*), count(*) FILTER (v IN ({values[1]})) FROM ({values[0]})"  # noqa: S608  # places only
    counted = connection.execute(query, [right["file"], left["file"]]).fetchone()
    drawn, shared = counted or (0, 0)
    return shared / drawn if drawn else 0.0


def _values(connection: DuckDBPyConnection, side: dict[str, Any], parts: int) -> str:
    source = open_source(connection, side["file"], rows=0, types=side["types"])
    value = f"c{side['place']}::VARCHAR"
    drawn = f"{value} IS NOT NULL AND hash({value}) % {parts} = 0"
    return f"SELECT DISTINCT {value} AS v FROM {source.relation} WHERE {drawn}"  # noqa: S608  # places only
