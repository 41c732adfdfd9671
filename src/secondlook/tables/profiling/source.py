"""Asking a Parquet file many things at once.

Columns are spoken of by their place (`c0`, `c1`), never by name: DuckDB does not tell `a` from `A`,
and a header is somebody else's text that has no business in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from duckdb import DuckDBPyConnection

    from secondlook.tables.table import ColumnType

Fact: TypeAlias = tuple[int, str]
"""Something about the column at that place."""
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
    stored: tuple[str, ...]
    """DuckDB's own names of the types."""

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
        for batch in _batches(wanted):
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

    def places(self, *types: ColumnType) -> list[int]:
        return [place for place, type_ in enumerate(self.types) if type_ in types]


def open_source(
    connection: DuckDBPyConnection, file: str, *, rows: int, types: Iterable[ColumnType]
) -> Source:
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [file]).fetchall()
    return Source(connection, file, rows, tuple(types), tuple(str(row[1]) for row in described))


def _batches(wanted: Iterable[Fact]) -> list[list[Fact]]:
    batches: dict[int, list[Fact]] = {}
    for fact in wanted:
        batches.setdefault(fact[0] // COLUMNS_AT_ONCE, []).append(fact)
    return list(batches.values())
