"""Tables of a printed page, known by where their cells stand: pieces of lines below one another,
with wide gaps between them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Row = list["Line"]
    Cells = list[list[Row]]  # the parts that stand in a cell, of each row

_SAME, _CLOSE, _USUAL, _APART = 0.4, 1.25, 1.75, 2.2
"""Heights of a line between one and the next: on one row, in one cell, in one table, in two."""
_WIDER = 1.25  # times the widest step so far, beyond the usual one: something else begins
_TIGHT = 0.8  # of the usual distance of rows: closer lines go on in the cells above
_ALIGNED = 0.7  # of the cells stand below one of the row above
_LONGEST_LABEL = 40  # characters before a value; two columns of longer texts are prose
_CODE = re.compile(r"[{}]|;$|:?=")
_NAME = re.compile(r"[^\W\d_]{2}")


@dataclass(slots=True)
class Line:
    text: str
    left: float
    right: float
    bottom: float
    top: float
    soft_break: bool = False  # it ends in a hyphen that only the line's end made necessary
    is_field: bool = False  # `label: value` of a form's field
    same_row: bool = False  # as the line before; only on pages with filled-in fields
    cells: tuple[Line, ...] = ()  # its parts at wide gaps; of such a part, those at narrow ones;
    # of a form's field its label and its value
    span: tuple[int, int] = (0, 0)  # of the page's text as pdfium has it, in UTF-16 units

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def is_beside(self, other: Line) -> bool:
        return other.bottom <= (self.bottom + self.top) / 2 <= other.top


def words_of(cell: Row) -> str:
    return " ".join(part.text for part in cell if part.text)


def apart(lines: Sequence[Line]) -> Iterator[tuple[list[Line], Cells]]:
    """The lines of a page: some that are text, and the rows of the table below them, in turns."""
    text: list[Line] = []
    at = 0
    while at < len(lines):
        rows, columns, end = _gathered(lines, at)
        if rows and _is_tabular(rows, columns):
            yield text, _cells(rows, columns)
            text = []
        else:
            text += lines[at:end]
        at = end
    yield text, []


def _gathered(lines: Sequence[Line], start: int) -> tuple[list[Row], list[list[float]], int]:
    """Rows that may be a table, from a line on, their columns, and the line after them: the next
    one where there are none."""
    rows: list[Row] = []
    ends: list[int] = []  # of each row, in lines
    columns: list[list[float]] = []  # left and right of each
    fullest, widest = 0, 0.0
    for at in range(start, len(lines)):
        line, parts = lines[at], [*(lines[at].cells or (lines[at],))]
        height, near = line.height or 1.0, rows[-4:]
        beside = [row for row in near if abs(row[0].bottom - line.bottom) < _SAME * height]
        drop = (min(row[0].bottom for row in near) - line.bottom) / height if near else 0
        opens = len(parts) > 1 or any(other.same_row for other in lines[at + 1 : at + 2])
        fits = len(parts) > 1 or any(
            one[0] - _SAME * height <= line.left and line.right < after[0]
            for one, after in pairwise([*columns, [math.inf]])
        )
        if line.is_field or (rows and not fits):
            break
        if beside:
            beside[0].extend(parts)
        elif (0 < drop <= min(_APART, widest or _APART)) if rows else opens:
            if rows and len(parts) > 1:
                widest = max(widest, _USUAL, _WIDER * drop)
            rows.append(parts)
            ends.append(at)
        else:
            break
        ends[-1] = at + 1
        row = (beside or rows)[-1]
        if len(row) > fullest:
            fullest, columns = len(row), sorted([part.left, part.right] for part in row)
        _widen(columns, parts)
    while rows and len(rows[-1]) == 1 and rows[-1][0].left < columns[0][1]:
        rows.pop()  # a line of text that begins where the table does
        ends.pop()
    for row in rows:
        _widen(columns, row)
    return rows, columns, ends[-1] if rows else start + 1


def _widen(columns: list[list[float]], parts: Row) -> None:
    """A column is as wide as all that stands in it alone."""
    for part in parts:
        over = [one for one in columns if part.left < one[1] and one[0] < part.right]
        if len(over) == 1:
            over[0][:] = min(over[0][0], part.left), max(over[0][1], part.right)


def _is_tabular(rows: Sequence[Row], columns: Sequence[Sequence[float]]) -> bool:
    """Cells below one another; no list of points, no code, no prose in two columns."""
    full = [sorted(row, key=lambda part: part.left) for row in rows if len(row) > 1]
    if len(full) < 2 or any(_CODE.search(part.text) for row in rows for part in row):  # noqa: PLR2004
        return False
    below = [_is_below(one, row) for row, after in pairwise(full) for one in after]
    labels = [row[0].text for row in full]
    is_list = median(map(len, labels)) <= _LONGEST_LABEL and all(map(_NAME.search, labels))
    return sum(below) >= _ALIGNED * len(below) and (is_list or len(columns) > 2)  # noqa: PLR2004


def _is_below(one: Line, row: Row) -> bool:
    """Left, right or middle below those of a part above."""
    near = _SAME * one.height
    return any(
        min(abs(one.left - other.left), abs(one.right - other.right)) < near
        or abs(one.left + one.right - other.left - other.right) < 2 * near
        for other in row
    )


def _fitting(row: Row, columns: Sequence[Sequence[float]]) -> Iterator[Line]:
    """The parts of a row; those that stand in several columns cut at their narrow gaps."""
    for part in row:
        within = sum(part.left < right and left < part.right for left, right in columns)
        yield from part.cells if within > 1 and part.cells else (part,)


def _cells(rows: Sequence[Row], columns: Sequence[Sequence[float]]) -> Cells:
    """A line that is closer than rows are, or has few cells and not the first, goes on in the cells
    of the row above."""
    drops = [
        one[0].bottom - other[0].bottom
        for one, other in pairwise(rows)
        if min(len(one), len(other)) > 1
    ]
    usual = median(drops) if drops else 0.0
    found: Cells = []
    before: Row = []
    for row in rows:
        cells: list[Row] = [[] for _ in columns]
        for part in sorted(_fitting(row, columns), key=lambda part: part.left):
            middle = (part.left + part.right) / 2
            near = [abs(part.left - one[0]) for one in columns]
            inside = [at for at, one in enumerate(columns) if one[0] <= middle <= one[1]]
            at = inside[0] if inside else near.index(min(near))
            cells[at].append(part)
        drop = before[0].bottom - row[0].bottom if before else 0.0
        few = len(row) < len(columns)
        lacks_first = not cells[0] and len(row) <= len(columns) // 2
        close = drop < _TIGHT * usual or (lacks_first and drop < _CLOSE * row[0].height)
        if found and few and close:
            found[-1] = [one + more for one, more in zip(found[-1], cells, strict=True)]
        else:
            found.append(cells)
        before = row
    return found
