"""How a delimited text is written: what parts its cells, what quotes them, where its rows begin."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.reading.forms import BLANKS
from secondlook.tables.reading.headers import is_header

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DELIMITERS = (",", ";", "\t", "|", "^", "~", "\x1f", "\x01", ":")
_STEADY = 0.9
"""Share of the rows that have as many cells as most."""
_LOOKED_AT = 400
LONGEST_LINE = 16 << 20
_QUOTED_ALONE = re.compile(r"'[^']*'")
_NUMBER = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    delimiter: str
    """" " stands for any number of blanks."""
    quote: str = '"'
    """"" where quotes mean nothing."""
    escape: str = ""
    """"" where a quote within quotes is doubled."""
    width: int = 1
    skipped: int = 0
    """Filled rows before the header, or before the first row where there is none."""
    header: tuple[str, ...] | None = None

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        csv.field_size_limit(LONGEST_LINE)
        rows = csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            doublequote=not self.escape,
            escapechar=self.escape or None,
            skipinitialspace=self.delimiter == " ",
        )
        return map(_stripped, rows) if self.delimiter == " " else rows


def is_blank(row: list[str]) -> bool:
    """As pandas skips them: nothing but blanks on the line."""
    return not row or (len(row) == 1 and not row[0].strip(BLANKS))


def detect(sample: str, *, is_whole: bool, prefers: str = "") -> Dialect:
    """`prefers`: the delimiter that the file's name promises."""
    best: tuple[tuple[float, ...], Dialect, list[list[str]]] | None = None
    for order, dialect in enumerate(_candidates(sample, prefers)):
        rows = _rows(dialect, sample, is_whole=is_whole)
        score = _score(dialect, rows)
        if score is not None and (best is None or (*score, -order) > best[0]):
            best = ((*score, -order), dialect, rows)
    if best is None:
        dialect = Dialect(prefers or ",", _only_quote(sample))
        best = ((), dialect, _rows(dialect, sample, is_whole=is_whole))
    return _with_header(best[1], best[2])


def _candidates(sample: str, prefers: str) -> list[Dialect]:
    order = sorted(_DELIMITERS, key=lambda one: one != prefers)
    quote = _only_quote(sample)
    plain = [Dialect(delimiter, quote) for delimiter in order if delimiter in sample]
    if '\\"' in sample:
        plain += [replace(one, escape="\\") for one in plain]
    if " " in sample:
        plain.append(Dialect(" ", quote))
    return plain


def _only_quote(sample: str) -> str:
    """Single quotes, where nothing else is quoted and cells stand in them."""
    if '"' in sample:
        return '"'
    first_lines = sample.splitlines()[:50]
    quoted = sum(len(_QUOTED_ALONE.findall(line)) for line in first_lines)
    begun = sum(line.startswith("'") for line in first_lines)
    return "'" if first_lines and begun * 2 >= len(first_lines) and quoted >= begun else '"'


def _rows(dialect: Dialect, sample: str, *, is_whole: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in dialect.rows(io.StringIO(sample, newline="")):
            rows.append(row)
            if len(rows) > _LOOKED_AT:
                return rows
    except csv.Error:
        return rows
    return rows if is_whole or len(rows) < 2 else rows[:-1]  # noqa: PLR2004 - the last may be cut


def _stripped(row: list[str]) -> list[str]:
    """Blanks at the ends of a line part nothing."""
    while row and not row[-1]:
        row = row[:-1]
    return row[1:] if row and not row[0] else row


def _score(dialect: Dialect, rows: list[list[str]]) -> tuple[float, ...] | None:
    """Higher is better; None where it does not part the text into columns."""
    filled = [row for row in rows if not is_blank(row)]
    if not filled:
        return None
    width = _usual_width(filled)
    steady = sum(len(row) == width for row in filled) / len(filled)
    if width < 2 or (dialect.delimiter in " :" and not _surely(filled, width, steady)):  # noqa: PLR2004
        return None
    begins_well = abs(len(filled[0]) - width) <= 1 and len(filled[0]) > 1
    return (float(steady >= _STEADY), float(begins_well), round(steady, 2), 1 - len(dialect.escape))


def _usual_width(rows: list[list[str]]) -> int:
    """As many cells as most rows have. Rows of one cell count half: remarks look so."""
    counts = Counter(len(row) for row in rows)
    return max(counts, key=lambda width: (counts[width] * (1 + (width > 1)), width))


def _surely(rows: list[list[str]], width: int, steady: float) -> bool:
    """Blanks and colons stand in ordinary cells too: only numbers in regular columns count."""
    if width < 3 or len(rows) < 3 or steady < 1:  # noqa: PLR2004
        return False
    cells = [cell for row in rows[1:] for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) * 2 >= len(cells)


def _with_header(dialect: Dialect, rows: list[list[str]]) -> Dialect:
    filled = [row for row in rows if not is_blank(row)]
    if not filled:
        return dialect
    width = _usual_width(filled)
    skipped = _preamble(filled, width)
    first, body = filled[skipped], filled[skipped + 1 :]
    width = max(width, len(first))
    header = tuple(first) if is_header(first, body[:100]) else None
    return replace(dialect, width=width, skipped=skipped, header=header)


def _preamble(rows: list[list[str]], width: int) -> int:
    """How many rows at the top are titles or comments: too few cells to be a header."""
    if width < 2:  # noqa: PLR2004
        return _comments(rows)
    for number, row in enumerate(rows[:50]):
        filled = sum(bool(cell.strip(BLANKS)) for cell in row)
        is_remark = len(row) < width and row[0].lstrip().startswith("#")
        is_hint = row[0].lower().startswith("sep=")  # Excel's own, for itself
        if is_remark or is_hint:
            continue
        if len(row) >= max(2, width - 1) or filled > max(1, width // 2):
            return number
    return 0


def _comments(rows: list[list[str]]) -> int:
    for number, row in enumerate(rows):
        if not row[0].startswith("#"):
            return number
    return 0
