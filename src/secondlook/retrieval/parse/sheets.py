"""Spreadsheets as text. A sheet is a page; each row is a line that can be understood alone.

Where the first row names the columns, every row reads "name: value; name: value": a passage
cut out of the middle of a table still says what its numbers are.
"""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.docx import describe_office
from secondlook.retrieval.parse.packed import package
from secondlook.retrieval.parse.plain import start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_MOST_CELLS = 20_000_000
_LONGEST_NAME = 60
_MOST_NAMED_COLUMNS = 60
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
        rows = [[_shown(cell) for cell in row] for row in _rows(sheet)]
        if any(any(row) for row in rows):
            composer.heading(1, name)
            write_rows(rows, composer)
    composer.end_page()


def _rows(sheet: Any) -> Iterable[list[Any]]:
    import python_calamine

    try:
        return sheet.iter_rows()  # type: ignore[no-any-return]
    except python_calamine.CalamineError:  # a sheet of charts only
        return ()


def _shown(cell: object) -> str:
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


def write_rows(rows: Iterable[list[str]], composer: Composer) -> None:
    """Rows of text; the first one that is filled decides whether columns have names."""
    filled = (row for row in rows if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    second = next(filled, None)
    names = _column_names(first, second)
    composer.row(first)
    for row in _remaining(second, filled):
        if names:
            composer.line(_named(names, row))
        else:
            composer.row(row)
    composer.end_lines()


def _remaining(second: list[str] | None, rest: Iterator[list[str]]) -> Iterator[list[str]]:
    if second is not None:
        yield second
    yield from rest


def _column_names(first: list[str], second: list[str] | None) -> list[str]:
    """The first row, if it looks like names: short words, all different, none a number."""
    names = [one_line(cell) for cell in first]
    given = [name for name in names if name]
    if second is None or len(given) < 2 or len(names) > _MOST_NAMED_COLUMNS:  # noqa: PLR2004
        return []
    if len(given) < len([cell for cell in second if cell.strip()]) - 1:
        return []
    if any(_is_number(name) or len(name) > _LONGEST_NAME for name in given):
        return []
    return names if len(set(given)) == len(given) else []


def _is_number(text: str) -> bool:
    return not any(char.isalpha() for char in text) and any(char.isdigit() for char in text)


def _named(names: list[str], row: list[str]) -> str:
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = one_line(cell)
        if value:
            name = names[index] if index < len(names) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts)


def parse_csv(source: Source) -> Extracted:
    text, composer = start(source)
    text = text.replace("\x00", "")
    write_rows(_read_csv(text, _delimiter(text, source.suffix), source), composer)
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
