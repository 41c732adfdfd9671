"""Spreadsheets and tables in text files. A sheet is a page; `rows` says how its rows read."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, time
from itertools import chain
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded
from secondlook.retrieval.parse.beginning import beginning, lines_in
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.docx import describe_office
from secondlook.retrieval.parse.packed import package
from secondlook.retrieval.parse.plain import start
from secondlook.retrieval.parse.rows import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_MOST_CELLS = 20_000_000
_SNIFFED_CHARS = 8192
_DELIMITERS = ",;\t|"
_BEAT_ROWS = 1000


def parse_sheets(source: Source) -> Extracted:
    composer = Composer(source.budget)
    if source.head.startswith(b"PK"):
        with package(source) as parts:  # refuses bombs before the table reader sees them
            describe_office(parts, composer)
    with source.open() as stream:
        _read_workbook(stream, composer, source)
    return composer.finish("sheet")


def _read_workbook(stream: Any, composer: Composer, source: Source) -> None:
    import python_calamine

    workbook = _open(stream)
    try:
        _write_workbook(workbook, composer, source)
    except python_calamine.CalamineError as error:
        raise Damaged(f"its sheets cannot be read: {error}") from error
    finally:
        workbook.close()


def _open(stream: Any) -> Any:
    import python_calamine

    try:
        return python_calamine.load_workbook(stream)
    except python_calamine.PasswordError as error:
        raise Encrypted(
            "it is protected by a password", hint="save a copy without password"
        ) from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise Damaged(f"it is not a readable spreadsheet: {error}") from error


def _write_workbook(workbook: Any, composer: Composer, source: Source) -> None:
    cells = 0
    source.budget.spend_pages(len(workbook.sheet_names))
    for number, name in enumerate(workbook.sheet_names, 1):
        sheet = workbook.get_sheet_by_name(name)
        cells += (sheet.total_height or 0) * (sheet.total_width or 0)
        if cells > _MOST_CELLS:
            raise LimitExceeded(f"it has more than {_MOST_CELLS:,} cells")
        composer.start_page(number)
        rows = ([shown(cell) for cell in row] for row in _rows(sheet))
        filled = (row for row in rows if any(row))
        first = next(filled, None)
        if first is not None:
            composer.heading(1, name)
            write_rows(chain([first], filled), composer)
    composer.end_page()


def _rows(sheet: Any) -> Iterable[list[Any]]:
    import python_calamine

    try:
        return sheet.iter_rows()  # type: ignore[no-any-return]
    except python_calamine.CalamineError:  # a sheet of charts only
        return ()


def shown(cell: object) -> str:
    """A cell as a person reads it: whole numbers without ".0", dates in ISO form."""
    if cell is None or cell == "":
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)  # noqa: PLR2004
    if isinstance(cell, datetime):
        is_day = cell.time() == time.min
        return cell.date().isoformat() if is_day else cell.isoformat(" ", "seconds")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def parse_csv(source: Source) -> Extracted:
    if source.is_large:
        return _parse_large_csv(source)
    text, composer = start(source)
    text = text.replace("\x00", "")
    write_rows(_read_csv(text, _delimiter(text, source.suffix), source), composer)
    return composer.finish("csv")


def _parse_large_csv(source: Source) -> Extracted:
    """Its beginning and the number of its lines: the text of all rows would help no search."""
    text, composer = beginning(source)
    rows = _read_csv(text.replace("\x00", ""), _delimiter(text, source.suffix), source)
    write_rows(rows, composer, total=f"about {lines_in(source):,}")
    return composer.finish("csv")


def _delimiter(text: str, suffix: str) -> str:
    if suffix in {".tsv", ".tab"}:
        return "\t"
    try:
        return csv.Sniffer().sniff(text[:_SNIFFED_CHARS], _DELIMITERS).delimiter
    except csv.Error:
        return ","


def _read_csv(text: str, delimiter: str, source: Source) -> Iterator[list[str]]:
    csv.field_size_limit(source.budget.limits.text_chars)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for number, row in enumerate(reader):
            if number % _BEAT_ROWS == 0:
                source.budget.beat()
            yield row
    except csv.Error as error:
        raise Damaged(f"line {reader.line_num} is no valid CSV: {error}") from error
