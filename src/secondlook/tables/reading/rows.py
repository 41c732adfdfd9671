"""Rows that are already parted into cells (a sheet, a table of SQLite, lists in Python): written as
CSV of our own, so that one reader understands them all."""

from __future__ import annotations

import csv
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from secondlook.tables.reading.converting import Cells
from secondlook.tables.reading.forms import MISSING
from secondlook.tables.reading.parts import Part, csv_relation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

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
            cells = _fitted([as_text(cell) for cell in row], width)
            longest = max(longest, 4 * sum(map(len, cells)) + 4 * width)
            writer.writerow(cells)
    relation = csv_relation(target, width, missing=missing, longest=longest)
    columns = [Cells(name, f"c{at}", dates_only=at in dates_only) for at, name in enumerate(names)]
    return Part(relation, columns, sheet=sheet, notes=list(notes))


def _fitted(row: list[str], width: int) -> list[str]:
    return row if len(row) == width else (row + [""] * (width - len(row)))[:width]


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
