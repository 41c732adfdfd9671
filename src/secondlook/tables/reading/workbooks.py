"""Spreadsheets: every sheet that holds a table becomes one."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText
from secondlook.retrieval.parse.packed import BROKEN_ZIP
from secondlook.tables.reading.headers import is_header, named, notes_of, numbered
from secondlook.tables.reading.rows import as_text, rows_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.tables.reading.parts import Part

    Row = list[Any]
    Range = tuple[tuple[int, int], tuple[int, int]]

_MOST_CELLS = 20_000_000
_MOST_EXPANDED = 4 << 30
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_LOOKED_AT = 100


def workbook_parts(path: Path, stage: Path) -> Iterator[Part]:
    """A part for each sheet with cells, in the order of the workbook."""
    _require_sane(path)
    workbook = _open(path)
    try:
        found = 0
        for number, name in enumerate(workbook.sheet_names):
            part = _sheet_part(workbook, name, stage / f"sheet-{number}.csv")
            if part is not None:
                found += 1
                yield part
        if not found:
            raise NoText("none of its sheets holds a cell")
    finally:
        workbook.close()


def _require_sane(path: Path) -> None:
    """Refuses bombs and locked files before the reader of sheets sees them."""
    with path.open("rb") as stream:
        is_ole = stream.read(4) == _OLE
        if is_ole:
            stream.seek(0)
            if _ENCRYPTED_STREAM in stream.read(1 << 20):
                raise _locked()
            return
    try:
        with zipfile.ZipFile(path) as archive:
            expanded = sum(info.file_size for info in archive.infolist())
    except BROKEN_ZIP as error:
        raise Damaged(f"its zip container cannot be opened: {error}") from error
    if expanded > _MOST_EXPANDED:
        raise LimitExceeded(
            f"it expands to {expanded:,} bytes",
            hint="a small file that grows this much is usually a decompression bomb",
        )


def _locked() -> Encrypted:
    return Encrypted("it is protected by a password", hint="save a copy without password")


def _open(path: Path) -> Any:
    import python_calamine

    try:
        return python_calamine.load_workbook(str(path))
    except python_calamine.PasswordError as error:
        raise _locked() from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise Damaged(f"it is not a readable spreadsheet: {error}") from error


def _sheet_part(workbook: Any, name: str, target: Path) -> Part | None:
    rows, merged = _cells(workbook, name)
    first = next((at for at, row in enumerate(rows) if _filled(row)), None)
    if first is None:
        return None
    top = _below_titles(rows, first, merged)
    header, begin, notes = _header(rows, top, merged)
    if top > first:
        notes.insert(0, "rows above the header were left out")
    names = named(header) if header else numbered(len(rows[top]))
    if header:
        notes += notes_of(header, names)
    keep = _kept_columns(header, rows[begin:])
    body = ([row[at] for at in keep] for row in rows[begin:] if _filled(row))
    return rows_part(body, [names[at] for at in keep], target, sheet=name, notes=notes)


def _cells(workbook: Any, name: str) -> tuple[list[Row], list[Range]]:
    import python_calamine

    try:
        sheet = workbook.get_sheet_by_name(name)
        if (sheet.total_height or 0) * (sheet.total_width or 0) > _MOST_CELLS:
            raise LimitExceeded(f"sheet {name!r} has more than {_MOST_CELLS:,} cells")
        rows = sheet.to_python(skip_empty_area=False)
        return rows, list(getattr(sheet, "merged_cell_ranges", None) or ())
    except python_calamine.WorksheetNotFound:  # a sheet of charts only
        return [], []
    except python_calamine.CalamineError as error:
        raise Damaged(f"sheet {name!r} cannot be read: {error}") from error


def _filled(row: Row) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _below_titles(rows: list[Row], first: int, merged: list[Range]) -> int:
    """Lines of text above a table fill one cell; a header fills nearly as many as its rows, or
    stands over some of its columns."""
    widest = max(_filled(row) for row in rows[first : first + _LOOKED_AT])
    for at in range(first, min(len(rows), first + 20)):
        if _filled(rows[at]) > max(1, widest // 3) or _is_spread(at, merged, narrower_than=widest):
            return at
    return first


def _is_spread(row: int, merged: list[Range], *, narrower_than: int = 1 << 30) -> bool:
    """Whether a cell of that row covers several columns, though not all: that would be a title."""
    widths = (right - left + 1 for (_, left), (bottom, right) in merged if bottom == row)
    return any(1 < width < narrower_than for width in widths)


def _header(rows: list[Row], first: int, merged: list[Range]) -> tuple[list[str], int, list[str]]:
    """The names, where the body begins, and what was assumed."""
    notes: list[str] = []
    top = [as_text(cell) for cell in rows[first]]
    spans = [span for span in merged if span[0][0] <= first <= span[1][0]]
    if _is_spread(first, spans) and first + 1 < len(rows):
        below = [as_text(cell) for cell in rows[first + 1]]
        notes.append("two rows of headers were joined")
        return _joined(_spread(top, spans), below), first + 2, notes
    body = [[as_text(cell) for cell in row] for row in rows[first + 1 : first + 1 + _LOOKED_AT]]
    if is_header(top, body):
        return top, first + 1, notes
    return [], first, [*notes, "no header was found: columns are numbered"]


def _spread(cells: list[str], spans: list[Range]) -> list[str]:
    """A merged cell stands over every column that it covers."""
    spread = list(cells)
    for (_, left), (_, right) in spans:
        for at in range(left, min(right + 1, len(spread))):
            spread[at] = cells[left]
    return spread


def _joined(top: list[str], below: list[str]) -> list[str]:
    return [
        f"{upper} {lower}".strip() if upper != lower else upper
        for upper, lower in zip(top, below, strict=True)
    ]


def _kept_columns(header: list[str], body: list[Row]) -> list[int]:
    """Columns with a name or a cell; an empty margin is none."""
    width = len(body[0]) if body else len(header)
    used = [bool(at < len(header) and header[at].strip()) for at in range(width)]
    for row in body:
        for at, cell in enumerate(row):
            if not used[at] and cell is not None and cell != "":
                used[at] = True
    return [at for at, is_used in enumerate(used) if is_used]
