"""What is in a table, computed from its Parquet file in two passes. Runs in the worker. Small
tables are counted. In large ones distinct values are estimated, quantiles come from a sample, and
repeated values are looked for in a part of the rows. Samples are drawn by hashes: the same file
gives the same profile."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.table import NUMERIC, Column, ColumnProfile, Table, TableProfile, ValueCount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from secondlook.answer import Scalar
    from secondlook.tables.table import ColumnType

MOST_FREQUENT = 20
FIRST_ROWS, EXAMPLES = 200, 3
EXACT_CELLS = 4_000_000  # Up to so many cells distinct values are counted, not estimated
LISTED_ROWS = 10_000  # Up to so many rows distinct values of many columns are counted at once
QUANTILE_VALUES = 2_000_000  # So many values are held at once to find quantiles: 16 MB
FEW_PRESENT = 50_000
"""A column with no more values has its quantiles of all of them: a sample would hold too few."""
PROBED_ROWS = 5_000  # So many rows show what kind of texts a column has
COUNTED_VALUES = 1_000_000  # So many values are held at once to see whether any of them repeats
SKETCH_ERROR = 0.15  # DuckDB's sketch of distinct values was within 10 % wherever it was tried
KEY_TYPES: frozenset[ColumnType] = frozenset({"integer", "text", "date", "datetime"})
"""A measured number may be different in every row and still names none."""
MOST_COUNTED, MOST_COUNTED_NUMBERS = 1_000, 50
"""Texts and numbers with no more different values have each of them counted."""
LONGEST_COUNTED = 500
"""Longer texts are prose: nobody counts them, and a thousand of them may fill the memory."""
LONGEST_KEPT = 200
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STEADY_DIGITS = 12  # Digits of a mean that do not depend on which thread added first
MOSTLY = 0.5
SHARE_OF_NUMBERS = 0.05
SHOWN = 3
CONSTANT = "always the same value"
ALL_MISSING = "every value is missing"


@dataclass(slots=True)
class Facts:
    """What is known of one column."""

    type: ColumnType
    rows: int
    stored: int = 0  # Values that are not NULL
    present: int = 0  # Of them, those that can be computed with
    infinite: int = 0  # Of them, those that are infinite or too large. The rest is NaN: missing.
    distinct: int = 0
    exact: bool = True
    minimum: Scalar = None
    maximum: Scalar = None
    mean: float | None = None
    std: float | None = None
    quantiles: tuple[float, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    """Every value with its count, the most frequent first; empty where there are too many."""
    numbers: float = 0.0  # Share of the texts probed that are numbers
    not_a_number: str | None = None
    examples: tuple[str, ...] = ()
    key: bool = False

    @property
    def missing(self) -> int:
        return self.rows - self.present - self.infinite

    @property
    def may_be_key(self) -> bool:
        enough = 1 if self.exact else 1 - SKETCH_ERROR
        whole = self.stored == self.rows > 1
        return self.type in KEY_TYPES and whole and self.distinct >= self.rows * enough

    @property
    def worth_counting(self) -> bool:
        most = MOST_COUNTED if self.type in {"text", "boolean"} else MOST_COUNTED_NUMBERS
        most = most if self.exact else int(most * (1 + SKETCH_ERROR))
        return self.type not in {"other", "time"} and 0 < self.distinct <= most


def profile(connection: DuckDBPyConnection, *, file: str, table: dict[str, Any]) -> dict[str, Any]:
    """A `TableProfile` of the Parquet file."""
    described = Table.model_validate(table)
    columns, rows = described.columns, described.rows
    source = open_source(connection, file, rows=rows, types=[one.type for one in columns])
    facts, repeated = [Facts(type_, 0) for type_ in source.types], 0
    if rows:
        facts = _first_pass(source)
        _second_pass(source, facts)
        _examples(source, facts)
        if not any(one.key for one in facts):
            listed = ",".join(f"c{place}" for place in range(len(facts)))
            drawn, unlike = _different(source, f"hash({listed})")
            repeated = (drawn - unlike) * _parts(rows)
    return TableProfile(
        table=described.id,
        rows=rows,
        columns=tuple(map(_column_profile, columns, facts)),
        warnings=_table_warnings(facts, rows, repeated),
    ).model_dump(mode="json")


def _column_profile(column: Column, facts: Facts) -> ColumnProfile:
    # Where every value is different there is no most frequent one.
    top = facts.counts[:MOST_FREQUENT] if facts.counts and facts.counts[0][1] > 1 else ()
    same = ("rows", "missing", "distinct", "exact", "minimum", "maximum", "mean", "std", "key")
    return ColumnProfile(
        name=column.name,
        type=column.type,
        **{name: getattr(facts, name) for name in same},
        quantiles=facts.quantiles,
        top=tuple(ValueCount(value=text, count=count) for text, count in top),
        examples=facts.examples,
        warnings=_column_warnings(facts),
    )


def _first_pass(source: Source) -> list[Facts]:
    """What every column is asked."""
    exact = source.rows * len(source.types) <= EXACT_CELLS
    numeric = min(sum(type_ in NUMERIC for type_ in source.types), COLUMNS_AT_ONCE)
    sampled = max(1, math.ceil(source.rows * numeric / QUANTILE_VALUES))
    asked = {
        (place, name): sql
        for place in range(len(source.types))
        for name, sql in _asked(source, place, exact=exact, sampled=sampled).items()
    }
    found = source.ask(asked, given=f"hash(r) % {sampled} = 0 AS drawn")
    if exact and source.rows > LISTED_ROWS:
        # Column by column: DuckDB takes long to prepare a query with many counts of this kind.
        for place in range(len(source.types)):
            ((count,),) = source.rows_of(f"count(DISTINCT {source.value(place)})")
            found[place, "distinct"] = count
    # Some texts tell what kind of texts they are.
    probed: dict[Fact, str] = {}
    for place, type_ in enumerate(source.types):
        if type_ == "text":
            column, number = f"c{place}", f"TRY_CAST(c{place} AS DOUBLE)"
            probed |= {
                (place, "numbers"): f"count({number}) / nullif(count({column}), 0)",
                (place, "other"): f"left(min({column}) FILTER ({number} IS NULL), {LONGEST_KEPT})",
            }
    share = max(1, math.ceil(source.rows / PROBED_ROWS))
    found |= source.ask(probed, where=f"hash(r) % {share} = 0")

    by_place: list[dict[str, Any]] = [{} for _ in source.types]
    for (place, name), answer in found.items():
        by_place[place][name] = answer

    def facts(place: int, mine: dict[str, Any]) -> Facts:
        stored = mine["stored"]
        return Facts(
            type=source.types[place],
            rows=source.rows,
            stored=stored,
            present=mine.get("present", stored),
            infinite=mine.get("infinite", 0),
            distinct=min(mine["distinct"] or 0, stored),
            exact=exact,
            minimum=mine.get("min"),
            maximum=mine.get("max"),
            mean=_steady(mine.get("mean")),
            std=_steady(mine.get("std")),
            quantiles=tuple(mine.get("quantiles") or ()),
            numbers=mine.get("numbers") or 0.0,
            not_a_number=mine.get("other"),
        )

    return [facts(place, mine) for place, mine in enumerate(by_place)]


def _asked(source: Source, place: int, *, exact: bool, sampled: int) -> dict[str, str]:
    column, value, type_ = f"c{place}", source.value(place), source.types[place]
    asked = {"stored": f"count({column})"}
    if not exact:
        asked["distinct"] = f"approx_count_distinct({value})"
    elif source.rows <= LISTED_ROWS:
        asked["distinct"] = f"list_unique(list({value}))"
    if type_ in NUMERIC:
        asked |= {
            "present": f"count({value})",
            "mean": f"avg({value})",
            "std": f"stddev_samp({value})",
            "quantiles": _quantiles(value) + (" FILTER (drawn)" if sampled > 1 else ""),
        }
    elif type_ == "boolean":
        asked["mean"] = f"avg({column}::INTEGER)"
    if type_ == "number":
        asked["infinite"] = f"count(*) FILTER (NOT isnan({column}::DOUBLE)) - count({value})"
    if type_ not in {"boolean", "other"}:
        end = column if type_ == "integer" else value
        asked |= {name: _carried(type_, f"{name}({end})") for name in ("min", "max")}
    return asked


def _second_pass(source: Source, facts: Sequence[Facts]) -> None:
    """What the answers of the first make worth asking."""
    asked: dict[Fact, str] = {}
    for place, each in enumerate(facts):
        value = source.value(place)
        if each.worth_counting:
            short = f"CASE WHEN strlen({value}) <= {LONGEST_COUNTED} THEN {value} END"
            countable = short if each.type == "text" else value
            asked[place, "counts"] = f"histogram({countable})::MAP(VARCHAR, UBIGINT)"
        if each.type in NUMERIC and not each.exact and 0 < each.present <= FEW_PRESENT:
            asked[place, "quantiles"] = _quantiles(value)
    for (place, name), found in source.ask(asked).items():
        mine = facts[place]
        if name == "quantiles":
            mine.quantiles = tuple(found or ())
        elif found and sum(found.values()) == mine.present:
            ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
            mine.counts, mine.distinct, mine.exact = tuple(ordered), len(ordered), True
    parts = _parts(source.rows)
    for place, mine in enumerate(facts):
        mine.key = mine.may_be_key and mine.exact
        if mine.may_be_key and not mine.exact:
            # A column that seems to have no value twice: look whether it has none.
            drawn, unlike = _different(source, f"hash(c{place})")
            mine.key, mine.exact = drawn == unlike, parts == 1
            mine.distinct = mine.rows if mine.key else min(unlike * parts, mine.rows - 1)


def _examples(source: Source, facts: Sequence[Facts]) -> None:
    """The first values of each column."""
    texts = [
        _carried("datetime" if each.type == "datetime" else "text", f"c{place}")
        for place, each in enumerate(facts)
    ]
    for start in range(0, len(texts), COLUMNS_AT_ONCE):
        some = texts[start : start + COLUMNS_AT_ONCE]
        first = f"r < {FIRST_ROWS} LIMIT {FIRST_ROWS}"
        rows = source.rows_of(f"r,{','.join(some)}", where=first)
        rows.sort(key=lambda row: row[0])
        for at in range(len(some)):
            different = dict.fromkeys(str(row[at + 1]) for row in rows if row[at + 1] is not None)
            facts[start + at].examples = tuple(different)[:EXAMPLES]


def _parts(rows: int) -> int:
    """Into how many parts values are dealt by their hash, so that one of them fits in memory."""
    return max(1, math.ceil(rows / COUNTED_VALUES))


def _different(source: Source, hashed: str) -> tuple[int, int]:
    """How many values of one part there are, and how many different ones. Values are dealt to
    parts by their hash: one that repeats comes with all its copies."""
    part = f"h % {_parts(source.rows)} = 0"
    counts = source.rows_of("count(*), count(DISTINCT h)", given=f"{hashed} AS h", where=part)
    drawn, unlike = counts[0]
    return int(drawn), int(unlike)


def _carried(type_: ColumnType, sql: str) -> str:
    """In a form that JSON can carry: dates in ISO form, texts cut."""
    if type_ == "integer":
        return sql
    if type_ == "number":
        return f"({sql})::DOUBLE"
    if type_ == "datetime":
        return f"replace(({sql})::VARCHAR, ' ', 'T')"
    return f"left(({sql})::VARCHAR, {LONGEST_KEPT})"


def _quantiles(value: str) -> str:
    return f"quantile_cont(({value})::DOUBLE, {list(QUANTILES)})"


def _steady(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{STEADY_DIGITS}g}")


# What is doubtful about a table, in a few words each.


def _column_warnings(facts: Facts) -> tuple[str, ...]:
    if facts.rows == 0:
        return ()
    if facts.present + facts.infinite == 0:
        return (ALL_MISSING,)
    found: list[str] = []
    share = facts.missing / facts.rows
    found += [missing_share(share)] if share >= MOSTLY else []
    found += [CONSTANT] if facts.distinct == 1 and facts.present > 1 else []
    if facts.numbers == 1:
        found.append("numbers kept as text")
    elif facts.numbers >= SHARE_OF_NUMBERS:
        other = quoted(facts.not_a_number or "")
        found.append(f"{percent(facts.numbers)} of the texts are numbers, others are not: {other}")
    if facts.type == "text":
        alike: dict[str, list[str]] = defaultdict(list)
        for text, _ in facts.counts:
            alike[" ".join(text.casefold().split())].append(text)
        several = [group for group in alike.values() if len(group) > 1]
        told = [" = ".join(map(quoted, sorted(group)[:SHOWN])) for group in several[:SHOWN]]
        found += [f"spelled in several ways: {'; '.join(told)}"] if told else []
    if facts.infinite:
        found.append(f"{facts.infinite:,} values are infinite or too large to compute with")
    return tuple(found)


def missing_share(share: float) -> str:
    return f"{percent(share)} missing"


def _table_warnings(facts: Sequence[Facts], rows: int, repeated: int) -> tuple[str, ...]:
    if not rows:
        return ("it has no rows",)
    found: list[str] = []
    if repeated:
        about = "about " if _parts(rows) > 1 else ""
        found.append(f"{about}{repeated:,} rows repeat an earlier one")
    empty = sum(each.present + each.infinite == 0 for each in facts)
    if empty:
        found.append(f"{empty:,} of its columns have no value at all")
    return tuple(found)


# Asking a Parquet file many things at once.

Fact: TypeAlias = tuple[int, str]  # Something about the column at that place
COLUMNS_AT_ONCE = 100
"""Parquet lies in columns, so a table of 5,000 is read in batches at no further cost."""
NATIVE_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE"})
"""Whose sums cannot overflow; others are turned into DOUBLE first."""
LARGEST = "1e140"
"""A number beyond it is set aside: its square, summed up, would be no number any more. So are
infinity and NaN, which compare as greater."""


@dataclass(frozen=True, slots=True)
class Source:
    connection: DuckDBPyConnection
    file: str
    rows: int
    types: tuple[ColumnType, ...]
    stored: tuple[str, ...]  # DuckDB's own names of the types

    @property
    def relation(self) -> str:
        """Every column under its place, and the number of the row as `r`. Takes `file`."""
        places = ",".join(f"c{place}" for place in range(len(self.types)))
        return f"read_parquet(?, file_row_number = true) AS t({places},r)"

    def ask(
        self, wanted: Mapping[Fact, str], *, given: str = "", where: str = "true"
    ) -> dict[Fact, Any]:
        """Each aggregate's value, in as many queries as there are batches of columns. `given` is
        a further column to compute for every row first."""
        found: dict[Fact, Any] = {}
        batches: dict[int, list[Fact]] = defaultdict(list)
        for fact in wanted:
            batches[fact[0] // COLUMNS_AT_ONCE].append(fact)
        for batch in batches.values():
            asked = ",".join(wanted[fact] for fact in batch)
            found.update(zip(batch, self.rows_of(asked, given=given, where=where)[0], strict=True))
        return found

    def rows_of(self, asked: str, *, given: str = "", where: str = "true") -> list[tuple[Any, ...]]:
        """The rows of a query. SQL is made of places and constants of ours, never of cells."""
        rows = f"(SELECT *, {given} FROM {self.relation})" if given else self.relation  # noqa: S608
        query = f"SELECT {asked} FROM {rows} WHERE {where}"  # noqa: S608
        return self.connection.execute(query, [self.file]).fetchall()

    def value(self, place: int) -> str:
        """The column as what can be counted; numbers so that they can be summed and squared."""
        column, type_ = f"c{place}", self.types[place]
        if type_ == "other":
            return f"{column}::VARCHAR"
        if type_ not in NUMERIC:
            return column
        number = column if self.stored[place] in NATIVE_NUMBERS else f"{column}::DOUBLE"
        if type_ == "integer":
            return number
        return f"CASE WHEN abs({number}) < {LARGEST} THEN {number} END"


def open_source(
    connection: DuckDBPyConnection, file: str, *, rows: int, types: Iterable[ColumnType]
) -> Source:
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [file]).fetchall()
    return Source(connection, file, rows, tuple(types), tuple(str(row[1]) for row in described))


# Numbers and other people's texts in a sentence.

LONGEST_VALUE = 40


def percent(share: float) -> str:
    if 0 < share < 0.01:  # noqa: PLR2004
        return "<1 %"
    if 0.99 < share < 1:  # noqa: PLR2004
        return ">99 %"
    return f"{100 * share:.0f} %"


def quoted(text: str) -> str:
    """As a Python literal, cut: one line, whatever is in it."""
    return repr(cut(text, LONGEST_VALUE))


def single_line(text: str, longest: int) -> str:
    """Without quotes around it. Control characters and line breaks are blanks."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return cut(" ".join(shown.split()), longest)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
