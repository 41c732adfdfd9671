"""What is known of a table: data only."""

from collections.abc import Collection, Iterable
from typing import Literal

from secondlook.answer import Record, Scalar

ColumnType = Literal["integer", "number", "text", "date", "datetime", "time", "boolean", "other"]
NUMERIC: frozenset[ColumnType] = frozenset({"integer", "number"})
TEMPORAL: frozenset[ColumnType] = frozenset({"date", "datetime"})


class Column(Record):
    name: str  # As the file has it; blank and repeated names are made different, as pandas does
    type: ColumnType


class Table(Record):
    """A table as it was read: typed columns in a Parquet file of ours."""

    id: str  # Of its contents: SHA-256 of the source, the sheet and the version of the reader
    name: str  # Unique among the tables at hand, and a Python identifier
    title: str  # For people: `sales.xlsx, Q1`
    path: str | None = None
    """Where the file was when it was added; None for a frame that was handed over."""
    sha256: str  # Of the source file
    rows: int
    columns: tuple[Column, ...]
    warnings: tuple[str, ...] = ()  # What reading it had to assume or leave out
    checksum: str = ""  # SHA-256 of the Parquet file; empty where an older version wrote it


class ValueCount(Record):
    value: str
    count: int


class ColumnProfile(Record):
    name: str
    type: ColumnType
    rows: int
    missing: int = 0
    distinct: int = 0
    exact: bool = True  # Whether `distinct` was counted or estimated
    minimum: Scalar = None
    maximum: Scalar = None  # Numbers, or dates in ISO form; for texts the first and last in order
    mean: float | None = None
    std: float | None = None
    quantiles: tuple[float, ...] = ()  # At 5, 25, 50, 75 and 95 %
    top: tuple[ValueCount, ...] = ()
    """The most frequent values of a column with few of them, as text."""
    examples: tuple[str, ...] = ()  # Some of its values, from the first rows, as text
    key: bool = False  # Every value is there and different
    warnings: tuple[str, ...] = ()


class TableProfile(Record):
    table: str  # Its id
    rows: int
    columns: tuple[ColumnProfile, ...]
    warnings: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnProfile | None:
        return next((one for one in self.columns if one.name == name), None)


class Join(Record):
    """Two columns whose values seem to mean the same things."""

    left: str  # Id of a table
    left_column: str
    right: str
    right_column: str
    overlap: float  # Share of the left's values that the right has


class Examination(Record):
    """What a second look at single columns found, for a model and for people."""

    table: str
    column: str
    said: tuple[str, ...]
    """Value formats, how dates parse, sizes of groups, sample values: one sentence each."""


# What tables are called in a question and in code: no two alike.


def named_apart(tables: Iterable[Table], *, taken: Collection[str] = ()) -> list[Table]:
    """The tables with names that differ from each other and from those taken."""
    names = set(taken)
    found: list[Table] = []
    for table in tables:
        name = unlike(table.name, names)
        names.add(name)
        found.append(table if name == table.name else table.model_copy(update={"name": name}))
    return found


def unlike(name: str, taken: Collection[str]) -> str:
    """The name itself, or the first number behind it that makes it different: `sales_2`."""
    number, chosen = 1, name
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen
