"""`questions.csv`, as people's spreadsheets write it: any encoding, any of three separators."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import Unsupported, UsageError
from secondlook.evaluation.datasets.jsonlines import BROKEN_ARCHIVE, opened, unreadable
from secondlook.evaluation.records import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question",),
    "answer": ("answer", "answers", "expected", "expected_answer"),
    "gold": ("gold", "document", "documents", "source", "sources"),
    "answerable": ("answerable",),
    "id": ("id",),
    "type": ("type", "level", "difficulty", "subject"),
}
"""What each column may be called; upper case, blanks and hyphens make no difference."""
_FIELDS = {name: field for field, names in COLUMNS.items() for name in names}
_SEPARATORS = ("\t", ";", ",")
_SEPARATOR_MARK = re.compile(r"sep=([\t;,|])\s*")
"""A first line that some programs write for Excel."""
HINT = (
    "the first line names the columns: question, answer, and if you like document, answerable, "
    "id, type"
)


@dataclass(frozen=True, slots=True)
class SheetRow:
    line: int
    cells: Mapping[str, str]
    """By the names that `COLUMNS` has, without blanks around; a missing cell is empty."""


@dataclass(frozen=True, slots=True)
class Sheet:
    rows: list[SheetRow]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Header:
    line: int
    separator: str
    fields: tuple[str | None, ...]
    notes: tuple[str, ...]


def read_sheet(path: Path, problems: list[Problem]) -> Sheet:
    lines = _lines(path, problems)
    header = _header(path, lines)
    rows = []
    for line, cells in _records(path, lines, header, problems):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header.fields):
            reason = f"{len(cells)} cells under {len(header.fields)} columns: is a text unquoted?"
            problems.append(Problem(path.name, line, reason))
            continue
        named = zip(header.fields, cells, strict=False)
        rows.append(SheetRow(line, {field: cell.strip() for field, cell in named if field}))
    return Sheet(rows, header.notes)


def _lines(path: Path, problems: list[Problem]) -> list[str]:
    from secondlook.retrieval.parse.charset import decode

    try:
        with opened(path) as file:
            text, damage = decode(file.read())
    except BROKEN_ARCHIVE as error:
        raise UsageError(f"{str(path)!r} is a damaged archive: {error}", hint=HINT) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except Unsupported as error:
        raise UsageError(
            f"{str(path)!r} is no table of text: {error.message}", hint=HINT
        ) from error
    problems.extend(Problem(path.name, None, note) for note in damage)
    # Not splitlines(): a cell may hold characters that only look like the end of a line.
    return list(io.StringIO(text, newline=""))


def _header(path: Path, lines: list[str]) -> _Header:
    """Read with each separator; the one that gives the most columns we know is right."""
    line = next((number for number, text in enumerate(lines) if text.strip()), None)
    if line is None:
        raise UsageError(f"{str(path)!r} is empty", hint=HINT)
    separators: tuple[str, ...] = _SEPARATORS
    if (mark := _SEPARATOR_MARK.fullmatch(lines[line])) and line + 1 < len(lines):
        line, separators = line + 1, (mark[1],)
    readings = [
        _Header(line, separator, *_columns(lines[line], separator)) for separator in separators
    ]
    best = max(readings, key=lambda reading: sum(field is not None for field in reading.fields))
    _check(path, best)
    return best


def _columns(line: str, separator: str) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
    try:
        names = next(csv.reader([line], delimiter=separator))
    except csv.Error:  # longer than any header
        return (), ()
    fields = tuple(_FIELDS.get(re.sub(r"[\s-]+", "_", name.strip().casefold())) for name in names)
    unread = [
        name.strip()
        for name, field in zip(names, fields, strict=True)
        if field is None and name.strip()
    ]
    return fields, tuple(f"the column {name!r} is not read" for name in unread)


def _check(path: Path, header: _Header) -> None:
    known = [field for field in header.fields if field]
    if "question" not in known:
        raise UsageError(f"{str(path)!r} has no column `question`", hint=HINT)
    for field in known:
        if known.count(field) > 1:
            names = ", ".join(COLUMNS[field])
            raise UsageError(f"{str(path)!r} has two columns for {field!r}: {names}", hint=HINT)


def _records(
    path: Path, lines: list[str], header: _Header, problems: list[Problem]
) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line. After a row that cannot be read it goes on with
    the line that follows: a quotation mark never closed must not swallow the rest."""
    start = header.line + 1
    while start < len(lines):
        reader = csv.reader(lines[start:], delimiter=header.separator, strict=True)
        before = 0
        try:
            for cells in reader:
                yield start + before + 1, cells
                before = reader.line_num
        except csv.Error as error:
            problems.append(
                Problem(path.name, start + before + 1, f"not a row of a table: {error}")
            )
            start += before + 1
        else:
            return
