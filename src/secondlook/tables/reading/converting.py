"""Cells become values: one pass over the data where the sample told the truth.

Forms come from the first rows. While the table is written every cell is held to its column's form;
where one does not fit, such cells are gathered in one more pass, the forms are inferred anew with
them, and the table is written again. So a table larger than memory is read once as a rule, and a
column is what all of its cells say.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.errors import TableError
from secondlook.tables.reading.forms import (
    TEXT,
    Form,
    identifier,
    present,
    quoted,
    says_missing,
)
from secondlook.tables.reading.inferring import infer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.tables.table import ColumnType

    Report = Callable[[float], None]

MOST_COLUMNS = 20_000
_SAMPLED_CELLS = 200_000
_SAMPLED_ROWS = (200, 20_000)
_GATHERED = 50
"""Misfits of a column that are looked at before its form is chosen anew."""
_MOST_ROUNDS = 8
_MISFIT = "a cell does not fit the form of its column"
_ROW_GROUP_CELLS = 4_000_000
_ROW_GROUP_ROWS = (2_048, 122_880)
_MOST_IN_DICTIONARY = 1_000
"""Different values of a column in a group of rows that are written as a dictionary. Looking for
larger ones costs more than they save."""
_POLL_SECONDS = 0.25
_LONGEST_SAMPLED = 200
"""Longer cells are text whatever they hold."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One column of what is being read."""

    name: str
    """As the table will have it."""
    sql: str
    """In the relation: text to be understood, or a value of the right type already."""
    type: ColumnType | None = None
    """None where the cells have to tell."""
    dates_only: bool = False
    """Text by declaration: dates are looked for, numbers are not."""
    has_marks: bool = False
    """Whether texts of MISSING are in it, to be told from the others."""

    @property
    def present(self) -> str:
        """In the relation, NULL where it is missing."""
        return present(self.sql) if self.has_marks else self.sql


@dataclass(frozen=True, slots=True)
class Converted:
    rows: int
    types: tuple[ColumnType, ...]
    notes: tuple[str, ...]


def convert(
    connection: Any, relation: str, columns: Sequence[Cells], target: str, *, report: Report
) -> Converted:
    """Writes the relation (what stands behind FROM) as Parquet, each column in its type."""
    if len(columns) > MOST_COLUMNS:
        raise TableError(f"it has {len(columns):,} columns, the limit is {MOST_COLUMNS:,}")
    known = _Known(columns, _sample(connection, relation, columns))
    for round_ in range(_MOST_ROUNDS):
        forms = known.forms()
        rows = _try_to_write(connection, relation, columns, forms, target, report=report)
        if rows is not None:
            return Converted(rows, _types(columns, forms), _notes(columns, forms))
        misfits = _gather(connection, relation, columns, forms)
        known.learn(misfits, is_last=round_ >= _MOST_ROUNDS - 2)
    raise TableError("its columns could not be understood", hint="save it as Parquet and try again")


@dataclass(slots=True)
class _Known:
    """What has been seen of the columns that have to tell their type."""

    columns: Sequence[Cells]
    seen: dict[int, set[str]]
    texts: set[int] = field(default_factory=set)
    """Columns that no form holds for."""

    def forms(self) -> dict[int, Form]:
        order = list(self.seen)
        dates_only = {at for at, one in enumerate(order) if self.columns[one].dates_only}
        forms = dict(zip(order, infer([self.seen[at] for at in order], dates_only), strict=True))
        return {at: TEXT if at in self.texts else form for at, form in forms.items()}

    def learn(self, misfits: dict[int, list[str]], *, is_last: bool) -> None:
        for at, cells in misfits.items():
            # Seen before and fitting by our pattern, yet no value: 31 April, for example.
            if is_last or self.seen[at].issuperset(cells):
                self.texts.add(at)
            self.seen[at].update(cells)


def _sample(connection: Any, relation: str, columns: Sequence[Cells]) -> dict[int, set[str]]:
    wanted = [at for at, column in enumerate(columns) if column.type is None]
    if not wanted:
        return {}
    fewest, most = _SAMPLED_ROWS
    rows = max(fewest, min(most, _SAMPLED_CELLS // len(wanted)))
    cells = ", ".join(f"left({columns[at].present}, {_LONGEST_SAMPLED})" for at in wanted)
    connection.execute(f"SELECT {cells} FROM {relation} LIMIT {rows}")  # noqa: S608
    seen: list[set[str]] = [set() for _ in wanted]
    while batch := connection.fetchmany(2_000):
        for number, cells_of_column in enumerate(zip(*batch, strict=True)):
            seen[number].update(cells_of_column)
    return {at: {cell for cell in seen[n] if cell} for n, at in enumerate(wanted)}


def _try_to_write(
    connection: Any,
    relation: str,
    columns: Sequence[Cells],
    forms: dict[int, Form],
    target: str,
    *,
    report: Report,
) -> int | None:
    """How many rows were written; None where a cell did not fit."""
    selected = ", ".join(
        f"{_value(at, column, forms.get(at))} AS {identifier(column.name)}"
        for at, column in enumerate(columns)
    )
    given = f"(SELECT {_tried(columns, forms)} FROM {relation})"  # noqa: S608
    fewest, most = _ROW_GROUP_ROWS
    group = max(fewest, min(most, _ROW_GROUP_CELLS // len(columns)))
    options = (
        f"FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {group}, "
        f"DICTIONARY_SIZE_LIMIT {_MOST_IN_DICTIONARY}"
    )
    statement = f"COPY (SELECT {selected} FROM {given}) TO {quoted(target)} ({options})"  # noqa: S608
    try:
        with watched(connection, report):
            (rows,) = connection.execute(statement).fetchone()
    except Exception as error:
        if _MISFIT in str(error):
            return None
        raise
    return int(rows)


def _tried(columns: Sequence[Cells], forms: dict[int, Form]) -> str:
    """Cells, and beside them the values of those that are likely to be plain: computed once here,
    they are both compared and written."""
    plain = {at: form for at, form in forms.items() if form.plainly}
    cells = [
        f"{column.sql if at in plain else column.present} AS c{at}"
        for at, column in enumerate(columns)
    ]
    values = [f"{form.tried(columns[at].sql)} AS v{at}" for at, form in plain.items()]
    return ", ".join(cells + values)


def _value(at: int, column: Cells, form: Form | None) -> str:
    cell, tried = f"c{at}", f"v{at}"
    if form is None or not form.pattern:
        return cell
    # The cell is in the message so that it is not worked out before any row is read.
    error = f"error({quoted(_MISFIT)} || left({cell}, 0))"
    if form.has_gaps:
        error = f"CASE WHEN NOT {form.is_gap(cell)} THEN {error} END"
    value = f"coalesce({form.converted(cell)}, {error})"
    if not form.plainly:
        return f"CASE WHEN {cell} IS NOT NULL THEN {value} END"
    is_there = f"{cell} IS NOT NULL"
    if column.has_marks:
        is_there += f" AND NOT {says_missing(cell)}"
    return f"CASE WHEN {form.is_plain(cell, tried)} THEN {tried} WHEN {is_there} THEN {value} END"


def _gather(
    connection: Any, relation: str, columns: Sequence[Cells], forms: dict[int, Form]
) -> dict[int, list[str]]:
    """Some cells of each column that do not fit its form: those of smallest hash, so that equal
    data give equal samples whatever the order in which threads see them."""
    checked = [at for at, form in forms.items() if form.pattern]
    asked = ", ".join(
        f"arg_min(left({cell}, {_LONGEST_SAMPLED}), hash({cell}), {_GATHERED})"
        f" FILTER (WHERE {forms[at].misfit(cell)})"
        for at in checked
        for cell in [f"c{at}"]
    )
    cells = ", ".join(f"{columns[at].present} AS c{at}" for at in checked)
    given = f"(SELECT {cells} FROM {relation})"  # noqa: S608
    found = connection.execute(f"SELECT {asked} FROM {given}").fetchone()  # noqa: S608
    return {at: cells for at, cells in zip(checked, found, strict=True) if cells}


def _types(columns: Sequence[Cells], forms: dict[int, Form]) -> tuple[ColumnType, ...]:
    return tuple(column.type or forms[at].type for at, column in enumerate(columns))


def _notes(columns: Sequence[Cells], forms: dict[int, Form]) -> tuple[str, ...]:
    notes: list[str] = []
    for at, form in forms.items():
        column = repr(columns[at].name)
        if form.note:
            notes.append(form.note.format(column=column))
        if form.has_gaps:
            notes.append(f"{column}: cells such as '-', '?' or 'n.a.' were taken for missing")
    return tuple(notes)


@contextmanager
def watched(connection: Any, report: Report) -> Iterator[None]:
    """Passes on how far DuckDB has come with the statement that runs meanwhile."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL_SECONDS):
            done = connection.query_progress()
            if done > 0:
                report(done / 100)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
