"""A second look at single columns: what the profile does not say."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from secondlook.tables.joins import (
    Candidate,
    Profiled,
    Side,
    count_overlaps,
    joinable_sides,
    open_source,
    pair_up,
    percent,
    quoted,
)
from secondlook.tables.table import (
    NUMERIC,
    TEMPORAL,
    ColumnProfile,
    Examination,
    Table,
    TableProfile,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.joins import Source
    from secondlook.tables.worker import Worker

SECONDS = 120.0
MOST_COLUMNS = 12
EXAMINED_ROWS = 200_000
"""Forms are read off so many rows, drawn by a hash of their number."""
SAMPLE_VALUES = 8
SAMPLE_ROWS = 3
MOST_GROUPS = 1_000
SMALL_GROUP = 5
MOST_MEASURED = 50
"""Nobody groups by a measured number with more values."""
MOST_OVERLAPS = 20
WORTH_TELLING = 0.05
FIRST_YEAR, LAST_YEAR = 1800, 2100


def examine(
    worker: Worker,
    table: Table,
    profile: TableProfile,
    file: Path,
    columns: Sequence[str],
    *,
    others: Sequence[Profiled] = (),
) -> tuple[Examination, ...]:
    """What a closer look at these columns finds, and how their values meet those of other tables.
    Empty where there is nothing to look at."""
    places = _places(profile, columns)
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
    met = _meetings(worker, (table, profile, file), places, others)
    said = {place: (*found[at], *met.get(place, ())) for at, place in enumerate(places)}
    return tuple(
        Examination(table=table.id, column=profile.columns[place].name, said=sentences)
        for place, sentences in said.items()
        if sentences
    )


def _places(profile: TableProfile, columns: Sequence[str]) -> list[int]:
    """Columns that have values to look at."""
    wanted = dict.fromkeys(columns)
    names = [column.name for column in profile.columns]
    places = [names.index(name) for name in wanted if name in names]
    return [
        place for place in places if profile.columns[place].missing < profile.columns[place].rows
    ][:MOST_COLUMNS]


def _meetings(
    worker: Worker, mine: Profiled, places: Sequence[int], others: Sequence[Profiled]
) -> dict[int, list[str]]:
    """How many of each column's values other tables have."""
    sides = [side for side in joinable_sides(mine) if side.place in places]
    pairs = [
        (side, other, candidate)
        for side in sides
        for other in (each for profiled in others for each in joinable_sides(profiled))
        if (candidate := pair_up(side, other)) and _worth_comparing(candidate)
    ]
    pairs.sort(key=lambda each: each[2].order)
    asked = [Candidate(side, other, 0.0) for side, other, _ in pairs[:MOST_OVERLAPS]]
    met: dict[int, list[str]] = {}
    if asked:
        for each, share in zip(asked, count_overlaps(worker, asked), strict=True):
            if share >= WORTH_TELLING:
                met.setdefault(each.left.place, []).append(_meeting(each.right, share))
    return met


def _worth_comparing(each: Candidate) -> bool:
    """Numbers under different names meet by chance."""
    return each.likeness > 0 or each.left.column.type == each.right.column.type == "text"


def _meeting(other: Side, share: float) -> str:
    name = f"{other.table.name}[{quoted(other.column.name)}]"
    return f"{percent(share)} of its different values also occur in {name}"


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
    found = [_looked(source, place, described.columns[place]) for place in places]
    if any(found):
        found[0] += _sample_rows(source, described, places)
    return found


def _looked(source: Source, place: int, column: ColumnProfile) -> list[str]:
    said: list[str] = []
    if column.distinct == 1:
        return said  # the profile has told its value
    if column.type == "text":
        said += _text(source, place)
    elif column.type in NUMERIC:
        said += _number(source, place, column)
    elif column.type in TEMPORAL:
        said += _date(source, place)
    return [*said, *_groups(source, place, column), *_values(source, place)]


def _drawn(source: Source, place: int) -> str:
    share = max(1, -(-source.rows // EXAMINED_ROWS))
    return f"c{place} IS NOT NULL AND hash(r) % {share} = 0"


def _text(source: Source, place: int) -> list[str]:
    where, column = _drawn(source, place), f"c{place}"
    return [
        *text_shapes(source, column, where),
        *text_dates(source, column, where),
        *text_numbers(source, column, where),
    ]


def _number(source: Source, place: int, column: ColumnProfile) -> list[str]:
    value = source.value(place)
    asked = (
        f"count({value}), count(*) FILTER ({value} = 0), count(*) FILTER ({value} < 0), "
        f"count(*) FILTER (({value}) % 1 = 0), count(*) FILTER ({value} BETWEEN 0 AND 1)"
    )
    total, zero, negative, whole, shares = source.rows_of(asked)[0]
    said = [f"{percent(zero / total)} are zero, {percent(negative / total)} are negative"]
    if column.type == "number":
        said.append(f"{percent(whole / total)} are whole numbers")
    if shares == total and column.distinct > 2:  # noqa: PLR2004  # not a yes or no
        said.append("all are between 0 and 1, as shares are")
    if _are_years(column):
        said.append("all could be years")
    return said


def _are_years(column: ColumnProfile) -> bool:
    ends = (column.minimum, column.maximum)
    return column.type == "integer" and all(
        isinstance(end, int) and FIRST_YEAR <= end <= LAST_YEAR for end in ends
    )


def _date(source: Source, place: int) -> list[str]:
    asked = (
        f"count(DISTINCT date_trunc('month', c{place})), "
        f"date_diff('month', min(c{place}), max(c{place})) + 1, "
        f"count(DISTINCT date_trunc('day', c{place})), "
        f"count(*) FILTER (c{place} = date_trunc('day', c{place})), count(c{place})"
    )
    months, span, days, midnight, total = source.rows_of(asked)[0]
    said = [f"values on {days:,} different days, in {months:,} of the {span:,} months they span"]
    if source.types[place] == "datetime" and midnight == total:
        said.append("no value has a time of day")
    return said


def _groups(source: Source, place: int, column: ColumnProfile) -> list[str]:
    most = min(MOST_MEASURED if column.type == "number" else MOST_GROUPS, source.rows // 2)
    if column.distinct > most:
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


def _values(source: Source, place: int) -> list[str]:
    """Some of its values, drawn by their hash: not those that happen to stand first."""
    value = f"left(c{place}::VARCHAR, 200)"
    drawn = f"{_drawn(source, place)} GROUP BY 1 ORDER BY hash({value}), 1 LIMIT {SAMPLE_VALUES}"
    values = [row[0] for row in source.rows_of(value, where=drawn)]
    return [f"some of its values: {', '.join(map(quoted, values))}"] if values else []


def _sample_rows(source: Source, profile: TableProfile, places: Sequence[int]) -> list[str]:
    """The first rows, where several columns are looked at together."""
    if len(places) < 2:  # noqa: PLR2004  # its values have been told
        return []
    listed = ", ".join(f"left(c{place}::VARCHAR, 200)" for place in places)
    rows = source.rows_of(f"r, {listed}", where=f"r < {SAMPLE_ROWS} LIMIT {SAMPLE_ROWS}")
    names = ", ".join(quoted(profile.columns[place].name) for place in places)
    told = [
        "(" + ", ".join("missing" if cell is None else quoted(cell) for cell in row[1:]) + ")"
        for row in sorted(rows, key=lambda row: row[0])
    ]
    return [f"first rows of ({names}): {', '.join(told)}"]


# What values look like: their forms, and whether texts are dates or numbers.

SHAPED = 40
"""Characters of a text that make its form."""
MOST_SHAPES = 12
"""More forms than that are prose: letters in a row then count as one."""
SHOWN_SHAPES = 4
FETCHED_SHAPES = 2_000
MOSTLY = 0.5
DATE_FORMS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %Y",
    "%B %Y",
    "%Y-%m",
    "%m/%Y",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%b %d %Y %I:%M:%S %p",
    "%b %d %Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%a %b %d %H:%M:%S %Y",
    "%Y-%m-%dT%H:%M:%SZ",
    "%H:%M",
    "%H:%M:%S",
)


def text_shapes(source: Source, column: str, where: str) -> list[str]:
    """`AA-999 in 98 %`: letters as A and a, digits as 9."""
    shaped = f"left({column}, {SHAPED})"
    for kind, sign in (
        ("\\p{Lu}", "A"),
        ("[\\p{Ll}\\p{Lo}\\p{Lt}\\p{Lm}]", "a"),
        ("\\p{Nd}", "9"),
    ):
        shaped = f"regexp_replace({shaped}, '{kind}', '{sign}', 'g')"
    grouped = f"{where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {FETCHED_SHAPES}"
    counts = Counter(dict(source.rows_of(f"{shaped}, count(*)", where=grouped)))
    if len(counts) > MOST_SHAPES:
        counts = _collapsed(counts.items())
    total = counts.total()
    if not total:
        return []
    best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:SHOWN_SHAPES]
    told = [f"{quoted(shape)} in {percent(n / total)}" for shape, n in best]
    return [f"forms of its values (A and a for letters, 9 for digits): {', '.join(told)}"]


def _collapsed(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for shape, count in counts:
        found[re.sub(r"([Aa9])\1+", r"\1+", shape)] += count
    return found


def text_dates(source: Source, column: str, where: str) -> list[str]:
    """With which forms the texts parse as dates or times."""
    bare = f"regexp_replace(trim({column}), '\\s+', ' ', 'g')"
    tried = [f"count(try_strptime({bare}, '{form}'))" for form in DATE_FORMS]
    total, *parsed = source.rows_of(f"count({column}), {', '.join(tried)}", where=where)[0]
    shares = (
        [(form, n / total) for form, n in zip(DATE_FORMS, parsed, strict=True) if n]
        if total
        else []
    )
    best = max((share for _, share in shares), default=0.0)
    if best < MOSTLY:
        return []
    equal = [form for form, share in shares if share == best]
    said = f"{percent(best)} of its values parse as dates with {quoted(equal[0])}"
    if len(equal) > 1:
        return [f"{said}, and as many with {quoted(equal[1])}: day and month cannot be told apart"]
    return [said]


def text_numbers(source: Source, column: str, where: str) -> list[str]:
    """How many texts are numbers, as they stand and without signs around them."""
    bare = f"regexp_replace({column}, '[^0-9.eE+-]', '', 'g')"
    has_digit = f"regexp_matches({column}, '^[^A-Za-z0-9]{{0,3}}[+-]?[0-9][0-9., ]*[^0-9]{{0,5}}$')"
    asked = (
        f"count({column}), count(TRY_CAST({column} AS DOUBLE)), "
        f"count(TRY_CAST({bare} AS DOUBLE)) FILTER ({has_digit})"
    )
    total, plain, cleaned = source.rows_of(asked, where=where)[0]
    if not total or not cleaned:
        return ["none of its values is a number"] if total and not plain else []
    said = f"{percent(plain / total)} of its values are numbers as they stand"
    more = f", {percent(cleaned / total)} without the signs around them" if cleaned > plain else ""
    return [f"{said}{more}"]
