"""Cells become values: one pass over the data where the sample told the truth. Forms come from the
first rows. While the table is written every cell is held to its column's form; where one does not
fit, such cells are gathered in one more pass, the forms are inferred anew with them, and the table
is written again. So a table larger than memory is read once as a rule, and a column is what all of
its cells say."""

from __future__ import annotations

import csv
import keyword
import re
import threading
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, TableError
from secondlook.tables import cells as forms_of
from secondlook.tables.cells import BLANKS, MISSING, NUMBER, TEXT, Form, identifier, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from secondlook.tables.table import ColumnType

    Report = Callable[[float], None]

MOST_COLUMNS = 20_000
_SAMPLED_CELLS = 200_000
_SAMPLED_ROWS = (200, 20_000)
_GATHERED = 50  # Misfits of a column that are looked at before its form is chosen anew
_MOST_ROUNDS = 8
_GAPS_TAKEN = "cells such as '-', '?' or 'n.a.' were taken for missing"
_MISFIT = "a cell does not fit the form of its column"
_ROW_GROUP_CELLS = 4_000_000
_ROW_GROUP_ROWS = (2_048, 122_880)
_MOST_IN_DICTIONARY = 1_000
"""Different values of a column in a group of rows that are written as a dictionary. Looking for
larger ones costs more than they save."""
_POLL_SECONDS = 0.25
_LONGEST_SAMPLED = 200  # Longer cells are text whatever they hold


@dataclass(frozen=True, slots=True)
class Cells:
    """One column of what is being read."""

    name: str  # As the table will have it
    sql: str  # In the relation: text to be understood, or a value of the right type already
    type: ColumnType | None = None  # None where the cells have to tell
    dates_only: bool = False  # Text by declaration: dates are looked for, numbers are not
    has_marks: bool = False  # Whether it may hold texts of MISSING

    @property
    def present(self) -> str:
        """In the relation, NULL where it is missing."""
        return forms_of.present(self.sql) if self.has_marks else self.sql


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
    seen = _sample(connection, relation, columns)
    dates_only = {number for number, at in enumerate(seen) if columns[at].dates_only}
    texts: set[int] = set()  # columns that no form holds for
    for round_ in range(_MOST_ROUNDS):
        inferred = zip(seen, infer(list(seen.values()), dates_only), strict=True)
        forms = {at: TEXT if at in texts else form for at, form in inferred}
        rows = _try_to_write(connection, relation, columns, forms, target, report=report)
        if rows is not None:
            types = tuple(column.type or forms[at].type for at, column in enumerate(columns))
            notes: list[str] = []
            for at, form in forms.items():
                name = repr(columns[at].name)
                notes += [form.note.format(column=name)] if form.note else []
                notes += [f"{name}: {_GAPS_TAKEN}"] if form.has_gaps else []
            return Converted(rows, types, tuple(notes))
        for at, cells in _gather(connection, relation, columns, forms).items():
            # Seen before and fitting by our pattern, yet no value: 31 April, for example.
            if round_ >= _MOST_ROUNDS - 2 or seen[at].issuperset(cells):
                texts.add(at)
            seen[at].update(cells)
    raise TableError("its columns could not be understood", hint="save it as Parquet and try again")


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
    # Cells, and beside them the values of those that are likely to be plain: computed once here,
    # they are both compared and written.
    plain = {at: form for at, form in forms.items() if form.plainly}
    given = [
        f"{column.sql if at in plain else column.present} AS c{at}"
        for at, column in enumerate(columns)
    ]
    given += [f"{form.tried(columns[at].sql)} AS v{at}" for at, form in plain.items()]
    source = f"(SELECT {', '.join(given)} FROM {relation})"  # noqa: S608
    selected = ", ".join(
        f"{_value(at, column, forms.get(at))} AS {identifier(column.name)}"
        for at, column in enumerate(columns)
    )
    fewest, most = _ROW_GROUP_ROWS
    group = max(fewest, min(most, _ROW_GROUP_CELLS // len(columns)))
    options = (
        f"FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {group}, "
        f"DICTIONARY_SIZE_LIMIT {_MOST_IN_DICTIONARY}"
    )
    statement = f"COPY (SELECT {selected} FROM {source}) TO {quoted(target)} ({options})"  # noqa: S608
    try:
        with watched(connection, report):
            (rows,) = connection.execute(statement).fetchone()
    except Exception as error:
        if _MISFIT in str(error):
            return None
        raise
    return int(rows)


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
        is_there += f" AND NOT {forms_of.says_missing(cell)}"
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


# Which form each column has, by the cells seen so far. Columns of one file are read alike.

_CODE = re.compile(r"[+-]?0[0-9]+", re.ASCII)
_CODES = Form("text", note="{column}: digits with leading zeros were kept as text")


def infer(columns: Sequence[Collection[str]], dates_only: Collection[int] = ()) -> list[Form]:
    """A form for each column that all its cells fit. `dates_only`: texts by declaration, in which
    nothing but dates is looked for. A column without cells is taken for numbers until one shows."""
    stripped = [{cell.strip(BLANKS) for cell in cells} for cells in columns]
    gaps = [{one for one in some if one.lower() in forms_of.OTHERWISE_MISSING} for some in stripped]
    present = [sorted(some - gone) for some, gone in zip(stripped, gaps, strict=True)]
    found: list[Form | dict[forms_of.Decimal, Form]] = []
    for at, cells in enumerate(present):
        empty = TEXT if columns[at] else forms_of.INTEGER
        found.append(_find(cells, dates_only=at in dates_only) if cells else empty)
    # A comma marks decimals if a column is numbers only so, and none is with a point.
    proofs = {next(iter(one)) for one in found if isinstance(one, dict) and len(one) == 1}
    points = "." in proofs or any(
        one is NUMBER and any("." in cell for cell in cells) and not forms_of.dots_may_group(cells)
        for one, cells in zip(found, present, strict=True)
    )
    decimal: forms_of.Decimal = "," if "," in proofs and not points else "."
    forms = []
    for at, one in enumerate(found):
        if isinstance(one, dict):
            form = one.get(decimal) or next(iter(one.values()))
        elif one is NUMBER and decimal == "," and forms_of.dots_may_group(present[at]):
            form = forms_of.decorated_form(",", present[at])
        else:
            form = one
        if form.pattern:
            trims = bool(gaps[at]) or any(cell != cell.strip(BLANKS) for cell in columns[at])
            form = replace(form, is_trimmed=trims, has_gaps=bool(gaps[at]))
        forms.append(form)
    return forms


def _find(cells: list[str], *, dates_only: bool) -> Form | dict[forms_of.Decimal, Form]:
    looks = (forms_of.iso_form, forms_of.written_form, forms_of.local_form)
    dated = (form for look in looks if (form := look(cells)) is not None)
    if dates_only:
        return next(dated, TEXT)
    if all(forms_of.BOOLEAN.fits(cell) for cell in cells):
        return forms_of.BOOLEAN
    number = forms_of.plain_number(cells)
    if number is not None:
        return number
    # Postcodes, article numbers: a number but for leading zeros.
    if any(_CODE.fullmatch(cell) for cell in cells):
        return _CODES if all(cell.isdigit() for cell in cells) else TEXT
    return next(dated, None) or forms_of.decorated_number(cells) or TEXT


# Names for columns: as pandas would have them, and no two alike.

_LONGEST = 500
_YEAR = re.compile(r"(?:1[6-9]|20|21)\d\d", re.ASCII)
_NUMERIC = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+%?", re.ASCII)


def named(cells: Sequence[str], *, as_pandas: bool = False) -> list[str]:
    """Blank names become `Unnamed: 3`, repeated ones `a.1`, as pandas names them. DuckDB does not
    tell `a` from `A`: those count as repeated too, unless it is to be just as in pandas."""
    names: list[str] = []
    taken: set[str] = set()
    for position, cell in enumerate(cells):
        name = cell if cell.strip(BLANKS) else f"Unnamed: {position}"
        name = name if as_pandas else name[:_LONGEST]
        unique, count = name, 0
        while (unique if as_pandas else unique.lower()) in taken:
            count += 1
            unique = f"{name}.{count}"
        taken.add(unique if as_pandas else unique.lower())
        names.append(unique)
    return names


def numbered(width: int) -> list[str]:
    return [f"column_{number}" for number in range(1, width + 1)]


def notes_of(cells: Sequence[str], names: Sequence[str]) -> list[str]:
    """What had to be changed that pandas would not have changed."""
    both = zip(named(cells, as_pandas=True), names, strict=True)
    return [f"column {old[:60]!r} is called {new[:60]!r}" for old, new in both if old != new]


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns. It does unless it looks like the rows below: with
    numbers or dates wherever they have them. Years and 0, 1, 2, ... are names as well."""
    if not body:
        return True
    numeric = [cell for cell in first if _NUMERIC.fullmatch(cell.strip())]
    # Numbers that a header may well hold: years, or positions as pandas counts them.
    years = all(_YEAR.fullmatch(cell.strip()) for cell in numeric)
    counted = numeric == [str(number) for number in range(len(numeric))]
    are_names = len(set(numeric)) == len(numeric) > 1 and (years or counted)
    if are_names or any(not cell.strip(BLANKS) for cell in first):
        return True
    columns = [
        {row[at] for row in body if at < len(row) and row[at] not in MISSING}
        for at in range(len(first))
    ]
    alone = infer(columns)
    telling = [at for at, form in enumerate(alone) if form.pattern and columns[at]]
    if not telling:
        return not numeric or len(numeric) < len(first)
    return not all(alone[at].fits(first[at].strip(BLANKS)) for at in telling)


def identifier_of(*parts: str) -> str:
    """A name for a table that is one in Python and SQL too: `sales_q1`."""
    joined = unicodedata.normalize("NFKD", "_".join(part for part in parts if part))
    bare = "".join(char for char in joined if not unicodedata.combining(char))
    plain = re.sub(r"[^0-9a-zA-Z_]+", "_", bare).strip("_").lower()
    plain = re.sub("_+", "_", plain)[:60].strip("_")
    is_name = plain.isidentifier() and not keyword.iskeyword(plain)
    return plain if is_name else f"table_{plain}".rstrip("_")


# What a reader finds in a file: relations that DuckDB can read, each to become a table.

_ORDINARY_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    relation: str  # What stands behind FROM
    columns: Sequence[Cells]
    sheet: str = ""  # Its name within the file; "" where the file is one table
    notes: list[str] = field(default_factory=list)
    otherwise: Callable[[], Part] | None = None
    """A slower way to read the same, for when DuckDB refuses this one."""


def csv_relation(
    path: Path,
    width: int,
    *,
    delimiter: str = ",",
    quote: str = '"',
    escape: str = '"',
    skip: int = 0,
    missing: Sequence[str] = MISSING,
    longest: int = 0,
) -> str:
    """Cells of a CSV file as text, `c0` and so on; nothing is guessed, no row is passed over.
    `longest`: bytes of its longest row, where that is known. DuckDB sets aside several times as
    much for each thread."""
    room = f", max_line_size = {longest * 2}, buffer_size = {longest * 4}"
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(width))
    markers = ", ".join(quoted(one) for one in missing)
    return (
        f"read_csv({quoted(str(path))}, auto_detect = false, header = false, skip = {skip}, "
        f"delim = {quoted(delimiter)}, quote = {quoted(quote)}, escape = {quoted(escape)}, "
        f"nullstr = [{markers}], columns = {{{columns}}}"
        f"{room if longest > _ORDINARY_LINE else ''})"
    )


# Rows that are already parted into cells (a sheet, a table of SQLite, lists in Python): written
# as CSV of our own, so that one reader understands them all.

_EXACT_INTEGERS = 1e15


def rows_part(
    rows: Iterable[Sequence[object]],
    names: Sequence[str],
    target: Path,
    *,
    sheet: str = "",
    notes: Sequence[str] = (),
    dates_only: Collection[int] = (),
    missing: Sequence[str] = MISSING,
) -> Part:
    """`missing`: texts that mean a missing value."""
    width = len(names)
    with target.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink, lineterminator="\n", quoting=csv.QUOTE_ALL)
        longest = 0
        for row in rows:
            texts = [as_text(cell) for cell in row]
            cells = (texts + [""] * (width - len(texts)))[:width]
            longest = max(longest, 4 * sum(map(len, cells)) + 4 * width)
            writer.writerow(cells)
    relation = csv_relation(target, width, missing=missing, longest=longest)
    columns = [Cells(name, f"c{at}", dates_only=at in dates_only) for at, name in enumerate(names)]
    return Part(relation, columns, sheet=sheet, notes=list(notes))


def as_text(cell: object) -> str:
    """A cell as it would stand in a CSV file; numbers with all their digits."""
    if isinstance(cell, str):
        return cell
    if cell is None or isinstance(cell, bytes):
        return ""
    if isinstance(cell, float):
        is_whole = cell.is_integer() and abs(cell) < _EXACT_INTEGERS
        return str(int(cell)) if is_whole else repr(cell)
    if isinstance(cell, datetime):
        is_day = cell.time() == time.min
        return cell.date().isoformat() if is_day else cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


# Parquet files, and every other relation whose columns already have types.

_INTEGERS = re.compile("U?(?:TINYINT|SMALLINT|INTEGER)|BIGINT")
_BROADER = re.compile(r"FLOAT|DOUBLE|UBIGINT|U?HUGEINT|DECIMAL\(.*\)")
_TEXTS = re.compile(r"VARCHAR|UUID|ENUM\(.*\)|INTERVAL|BIT|\"NULL\"|NULL")
_NESTED = re.compile(r".*\[\d*\]|MAP\(.*\)|UNION\(.*\)|VARIANT.*", re.DOTALL)
_DEEPEST = 8
_CASTS: tuple[tuple[str, str, ColumnType], ...] = (
    ("DATE", "{}", "date"),
    ("BOOLEAN", "{}", "boolean"),
    ("TIMESTAMP WITH TIME ZONE", "timezone('UTC', {})", "datetime"),
    ("TIMESTAMP", "CAST({} AS TIMESTAMP)", "datetime"),
    ("TIME", "CAST({} AS TIME)", "time"),
    ("JSON", "json_extract_string({}, '$')", "text"),  # a text without its quotes
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of a relation, flattened. Without a type: text that may be understood further."""

    path: tuple[str, ...]
    sql: str
    type: ColumnType | None


def typed_part(
    connection: Any,
    relation: str,
    kind: str,
    *,
    otherwise: ColumnType | None = None,
    hint: str | None = None,
) -> Part:
    """Structs are taken apart, lists turned into JSON. `otherwise`: the type of texts that could
    be understood further."""
    import duckdb

    try:
        described = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise Damaged(f"it is no readable {kind}: {first_line(error)}", hint=hint) from error
    columns: list[Typed] = []
    notes: list[str] = []
    for name, type_, *_ in described:
        for column in _flattened((name,), identifier(name), type_):
            if column is None:
                notes.append(f"{name!r}: binary data were left out")
            else:
                columns.append(column)
    names = named([".".join(column.path) for column in columns])
    cells = [
        Cells(name, column.sql, column.type or otherwise)
        for name, column in zip(names, columns, strict=True)
    ]
    return Part(relation, cells, notes=notes)


def _flattened(path: tuple[str, ...], sql: str, kind: str) -> Iterator[Typed | None]:
    if kind.startswith("STRUCT(") and len(path) < _DEEPEST and not kind.endswith("]"):
        for name, inner in struct_fields(kind):
            yield from _flattened((*path, name), f"struct_extract({sql}, {quoted(name)})", inner)
    else:
        yield _plain(path, sql, kind)


def _plain(path: tuple[str, ...], sql: str, kind: str) -> Typed | None:
    if kind.startswith("BLOB"):
        return None
    if _INTEGERS.fullmatch(kind):
        return Typed(path, f"CAST({sql} AS BIGINT)", "integer")
    if _BROADER.fullmatch(kind):
        return Typed(path, f"CAST({sql} AS DOUBLE)", "number")
    for name, cast, type_ in _CASTS:
        if kind.startswith(name) and not kind.endswith("]"):
            return Typed(path, cast.format(sql), type_)
    if _NESTED.fullmatch(kind) or kind.startswith("STRUCT("):
        return Typed(path, f"CAST(to_json({sql}) AS VARCHAR)", "text")
    return Typed(path, f"CAST({sql} AS VARCHAR)", None if _TEXTS.fullmatch(kind) else "text")


def struct_fields(kind: str) -> list[tuple[str, str]]:
    """`STRUCT(a INTEGER, "b c" VARCHAR)` taken apart at its outermost commas."""
    fields: list[tuple[str, str]] = []
    depth, is_quoted, start = 0, False, len("STRUCT(")
    for at in range(start, len(kind)):
        char = kind[at]
        if char == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]" and depth:
            depth -= 1
        elif char in ",)" and not depth:
            field = kind[start:at].strip()
            name = re.match(r'"((?:[^"]|"")*)"|(\S+)', field)
            if name is not None:
                plain = name[2] if name[1] is None else name[1].replace('""', '"')
                fields.append((plain, field[name.end() :].strip()))
            start = at + 1
    return fields


def first_line(error: Exception) -> str:
    """What DuckDB says first, without the path: the file may be a copy that nobody knows."""
    said = str(error).partition("\n")[0].partition(" Error: ")
    return re.sub(r""" ?(?:in|of|for)? ?file ['"][^'"]*['"],?""", "", said[2] or said[0])[:300]
