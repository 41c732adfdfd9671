"""A second look at single columns: what the profile does not say."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from secondlook.tables.profile import Source, open_source, percent, quoted
from secondlook.tables.table import ColumnProfile, Examination, Table, TableProfile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.worker import Worker

SECONDS = 120.0
MOST_COLUMNS = 12
EXAMINED_ROWS = 200_000  # Forms are read off so many rows, drawn by a hash of their number
SAMPLE_VALUES = 8
MOST_GROUPS, MOST_MEASURED = 1_000, 50
"""Nobody groups by a measured number with more values than the second."""
SMALL_GROUP = 5
MOST_SHAPES, SHOWN_SHAPES = 12, 4
"""More forms than the first are prose: letters in a row then count as one."""


def examine(
    worker: Worker, table: Table, profile: TableProfile, file: Path, columns: Sequence[str]
) -> tuple[Examination, ...]:
    """What a closer look at these columns finds. Empty where there is nothing to look at."""
    names = [column.name for column in profile.columns]
    known = [names.index(name) for name in dict.fromkeys(columns) if name in names]
    filled = [at for at in known if profile.columns[at].missing < profile.columns[at].rows]
    places = filled[:MOST_COLUMNS]
    if not places:
        return ()
    found = worker.call(
        "examine:look_closer",
        seconds=SECONDS,
        file=file,
        table=table.model_dump(mode="json", exclude={"path"}),
        profile=profile.model_dump(mode="json"),
        places=places,
    )
    return tuple(
        Examination(table=table.id, column=names[place], said=tuple(said))
        for place, said in zip(places, found, strict=True)
        if said
    )


def look_closer(
    connection: DuckDBPyConnection,
    *,
    file: str,
    table: dict[str, Any],
    profile: dict[str, Any],
    places: list[int],
) -> list[list[str]]:
    """Sentences for each of the places. Runs in the worker."""
    described = TableProfile.model_validate(profile)
    types = [column.type for column in Table.model_validate(table).columns]
    source = open_source(connection, file, rows=described.rows, types=types)
    return [_looked(source, place, described.columns[place]) for place in places]


def _looked(source: Source, place: int, column: ColumnProfile) -> list[str]:
    if column.distinct == 1:
        return []  # the profile has told its value
    share = max(1, -(-source.rows // EXAMINED_ROWS))
    drawn = f"c{place} IS NOT NULL AND hash(r) % {share} = 0"
    said = text_shapes(source, f"c{place}", drawn) if column.type == "text" else []
    said += _groups(source, place, column)
    # Values drawn by their hash: not those that happen to stand first.
    value = f"left(c{place}::VARCHAR, 200)"
    some = f"{drawn} GROUP BY 1 ORDER BY hash({value}), 1 LIMIT {SAMPLE_VALUES}"
    values = [row[0] for row in source.rows_of(value, where=some)]
    return [*said, f"some of its values: {', '.join(map(quoted, values))}"] if values else said


def _groups(source: Source, place: int, column: ColumnProfile) -> list[str]:
    most = MOST_MEASURED if column.type == "number" else MOST_GROUPS
    if column.distinct > min(most, source.rows // 2):
        return []
    sizes = f"c{place} IS NOT NULL GROUP BY c{place}"
    counts = sorted(row[0] for row in source.rows_of("count(*)", where=sizes))
    if len(counts) < 2:  # noqa: PLR2004  # one group is none
        return []
    said = f"{len(counts):,} groups of {counts[0]:,} to {counts[-1]:,} rows"
    if len(counts) > 2:  # noqa: PLR2004  # two have no middle one
        said += f", {counts[len(counts) // 2]:,} in the middle"
    small = sum(size < SMALL_GROUP for size in counts)
    return [f"{said}; {small:,} have fewer than {SMALL_GROUP} rows" if small else said]


def text_shapes(source: Source, column: str, where: str) -> list[str]:
    """`AA-999 in 98 %`: letters as A and a, digits as 9."""
    shaped = f"left({column}, 40)"
    for kind, sign in (("\\p{Lu}", "A"), ("[\\p{Ll}\\p{Lo}\\p{Lt}\\p{Lm}]", "a"), ("\\p{Nd}", "9")):
        shaped = f"regexp_replace({shaped}, '{kind}', '{sign}', 'g')"
    grouped = f"{where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2000"
    counts = Counter(dict(source.rows_of(f"{shaped}, count(*)", where=grouped)))
    if len(counts) > MOST_SHAPES:
        exact, counts = counts, Counter()
        for shape, count in exact.items():
            counts[re.sub(r"([Aa9])\1+", r"\1+", shape)] += count
    total = counts.total()
    if not total:
        return []
    best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:SHOWN_SHAPES]
    shown = ", ".join(f"{quoted(shape)} in {percent(n / total)}" for shape, n in best)
    return [f"forms of its values (A and a for letters, 9 for digits): {shown}"]
