"""What the record of runs and the answer memory ask of a database, whichever engine it is.

Statements are written once, in the words that SQLite and PostgreSQL share: `?` for values,
`ON CONFLICT`, `RETURNING`; `rowid` is the order in which rows came. What must differ, the types of
columns, is a word of `Dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

Safety = Literal["FULL", "NORMAL"]
"""A commit survives the death of the process either way; FULL = and that of the machine, at the
price of one fsync. Replies that were paid for and answers that were shown are worth it; events,
written many times a run, are not."""

BUSY_SECONDS = 10.0
"""Longer than any transaction here takes; who still waits then is told so."""
ALL = 1 << 62
"""As a LIMIT: SQLite says -1 for all, PostgreSQL NULL, and each refuses the other's word."""
PARTS = ("events", "journal", "passages")
"""Tables whose rows belong to a run and go with it."""
# SQLite allows 999 or more variables in a statement, by build; stay below it.
_VARIABLES = 500
_RUNS_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    $rowid id $ordered PRIMARY KEY, question TEXT NOT NULL, workflow TEXT NOT NULL,
    created $ordered NOT NULL, request TEXT NOT NULL, process TEXT NOT NULL,
    heard DOUBLE PRECISION NOT NULL, status TEXT, stop_reason TEXT, answer TEXT,
    answered_at DOUBLE PRECISION
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (created);
CREATE TABLE IF NOT EXISTS events (
    number $number_key, run TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, event TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_run ON events (run);
CREATE TABLE IF NOT EXISTS journal (
    $rowid run TEXT NOT NULL, key TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (run, key)
);
CREATE TABLE IF NOT EXISTS passages (
    run TEXT NOT NULL, id TEXT NOT NULL, passage TEXT NOT NULL, PRIMARY KEY (run, id)
);
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a database holds, and how that is told from what others keep."""

    name: Literal["runs", "answers"]
    what: str
    application_id: int
    version: int
    schema: str
    nothing_yet: str
    """What is said where there is none."""
    begin: str
    """How there comes to be one."""
    open_again: str

    def statements(self, dialect: Mapping[str, str]) -> list[str]:
        """What makes its tables, with the words of an engine for `$ordered` text, a `$number_key`,
        `$bytes`, and `$rowid` where an engine has no such column by itself."""
        return [one for one in Template(self.schema).substitute(dialect).split(";") if one.strip()]


RUNS = Kind(
    name="runs",
    what="the record of runs",
    application_id=0x534C524E,
    version=1,
    schema=_RUNS_SCHEMA,
    nothing_yet="no run has been recorded",
    begin='ask something: secondlook ask "..."',
    open_again="open it again with RunStore.open",
)
Row = Mapping[str, Any]


class Result(Protocol):
    @property
    def rowcount(self) -> int: ...

    def fetchall(self) -> list[Row]: ...


class Statements(Protocol):
    """Within a transaction."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Result: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """Threads may share one. Every method may raise `RunError`."""

    kind: Kind

    @property
    def place(self) -> str:
        """How a person is told where it is."""

    def transaction(self, safety: Safety) -> AbstractContextManager[Statements]:
        """All of it or nothing; who writes meanwhile waits."""

    def select(self, statement: str, *values: Any) -> list[Row]: ...

    def now(self) -> float:
        """Seconds since the epoch, by a clock that all who share the database go by."""

    def close(self) -> None: ...


def select_in(
    database: Database, statement: str, wanted: Sequence[str], *values: Any
) -> Iterator[Row]:
    """`statement` ends in `IN`; `wanted` may be of any length."""
    for start in range(0, len(wanted), _VARIABLES):
        part = wanted[start : start + _VARIABLES]
        marks = ", ".join("?" for _ in part)
        yield from database.select(f"{statement} ({marks})", *values, *part)


def drop_runs(database: Database, runs: Iterable[str]) -> None:
    """Delete them with all that belongs to them."""
    rows = [(run,) for run in runs]
    with database.transaction("NORMAL") as db:
        db.executemany("DELETE FROM runs WHERE id = ?", rows)
        for table in PARTS:
            db.executemany(f"DELETE FROM {table} WHERE run = ?", rows)  # noqa: S608


def storable(text: str) -> str:
    """Databases take valid Unicode alone, PostgreSQL without NUL, and an argument of a shell may be
    anything."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
