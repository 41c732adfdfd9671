"""Which form each column has, by the cells seen so far. Columns of one file are read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.reading.dates import iso_form, local_form, written_form
from secondlook.tables.reading.forms import BLANKS, OTHERWISE_MISSING, TEXT, Form
from secondlook.tables.reading.numbers import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Decimal,
    Decorated,
    decorated_number,
    dots_may_group,
    grouped_by_dots,
    is_code,
    plain_number,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_CODES = Form("text", note="{column}: digits with leading zeros were kept as text")


@dataclass(frozen=True, slots=True)
class _Column:
    cells: list[str]
    """Different ones, without blanks around them and without what means missing."""
    is_trimmed: bool
    has_gaps: bool
    found: Form | Decorated


def infer(columns: Sequence[Collection[str]], dates_only: Collection[int] = ()) -> list[Form]:
    """A form for each column that all its cells fit. `dates_only`: texts by declaration, in which
    nothing but dates is looked for. A column without cells is taken for numbers until one shows."""
    looked_at = [_look(cells, dates_only=at in dates_only) for at, cells in enumerate(columns)]
    decimal = _decimal_sign(looked_at)
    return [_decided(column, decimal) for column in looked_at]


def _look(cells: Collection[str], *, dates_only: bool) -> _Column:
    bare = {cell: cell.strip(BLANKS) for cell in cells}
    present = sorted({cell for cell in bare.values() if cell.lower() not in OTHERWISE_MISSING})
    return _Column(
        cells=present,
        is_trimmed=any(cell != stripped for cell, stripped in bare.items()),
        has_gaps=any(cell.lower() in OTHERWISE_MISSING for cell in bare.values()),
        found=_find(present, dates_only=dates_only) if present else _without(cells),
    )


def _without(cells: Collection[str]) -> Form:
    return TEXT if cells else INTEGER


def _find(cells: list[str], *, dates_only: bool) -> Form | Decorated:
    if dates_only:
        return iso_form(cells) or written_form(cells) or local_form(cells) or TEXT
    if all(BOOLEAN.fits(cell) for cell in cells):
        return BOOLEAN
    number = plain_number(cells)
    if number is not None:
        return number
    if is_code(cells):
        return _CODES if all(cell.isdigit() for cell in cells) else TEXT
    return (
        iso_form(cells)
        or written_form(cells)
        or local_form(cells)
        or decorated_number(cells)
        or TEXT
    )


def _decimal_sign(columns: Sequence[_Column]) -> Decimal:
    """A comma if a column is numbers only so, and none is with a point."""
    proofs = {one.found.proves for one in columns if isinstance(one.found, Decorated)}
    if "," not in proofs or "." in proofs:
        return "."
    points = any(
        one.found is NUMBER and any("." in cell for cell in one.cells)
        and not dots_may_group(one.cells)
        for one in columns
    )  # fmt: skip
    return "." if points else ","


def _decided(column: _Column, decimal: Decimal) -> Form:
    found = column.found
    if isinstance(found, Decorated):
        form = found.read(decimal)
    elif found is NUMBER and decimal == "," and dots_may_group(column.cells):
        form = grouped_by_dots(column.cells)
    else:
        form = found
    if not form.pattern:
        return form
    if column.has_gaps:
        return form.with_gaps()
    return form.trimmed() if column.is_trimmed else form
