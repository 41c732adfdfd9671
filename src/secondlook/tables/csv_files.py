"""CSV and its kin. DuckDB reads what is well formed by itself; what it refuses (rows of uneven
length, mixed line ends, stray quotes, other encodings) is first written anew, row by row."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.errors import LimitExceeded, NoText, Unsupported
from secondlook.retrieval.parse.source import is_text
from secondlook.tables.cells import BLANKS
from secondlook.tables.column_types import (
    Cells,
    Part,
    csv_relation,
    is_header,
    named,
    notes_of,
    numbered,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

if TYPE_CHECKING:
    Report = Callable[[float], None]

_LOST = "\ufffd"
_EMPTY = ("",)
"""What DuckDB takes for missing: it compares every cell with each of a list, we only few."""
_REPORTED_ROWS = 10_000
_SHARE_OF_COPYING = 0.7


def delimited_part(path: Path, stage: Path, *, suffix: str, report: Report) -> Part:
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        sample = stream.read(SAMPLE_BYTES)
        is_whole = not stream.read(1)
    if not sample.strip():
        raise NoText("the file is empty")
    dialect = detect(sample, is_whole=is_whole, prefers="\t" if suffix in {".tsv", ".tab"} else "")
    names, notes = _names(dialect)
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes.append(f"the file is not UTF-8: it was read as {encoding}")

    cells = [Cells(name, f"c{at}", has_marks=True) for at, name in enumerate(names)]

    def rewritten() -> Part:
        target = stage / "cells.csv"
        met = _rewrite(path, target, encoding, dialect, report=report)
        relation = csv_relation(target, len(names), missing=_EMPTY, longest=met.longest)
        return Part(relation, cells, notes=[*notes, *met.said()])

    # Whether DuckDB would skip and part exactly as we do.
    starts = sample[:1] not in {"\n", "\r", ""} and dialect.skipped == 0
    in_one_line = not any("\n" in cell or "\r" in cell for cell in dialect.header or ())
    parted = dialect.width > 1 and dialect.delimiter != " "
    if encoding.startswith("utf-8") and starts and in_one_line and parted:
        relation = csv_relation(
            path,
            len(names),
            delimiter=dialect.delimiter,
            quote=dialect.quote,
            escape=dialect.escape or dialect.quote,
            skip=0 if dialect.header is None else 1,
            missing=_EMPTY,
        )
        return Part(relation, cells, notes=notes, otherwise=rewritten)
    return rewritten()


def _names(dialect: Dialect) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    if dialect.skipped:
        notes.append(f"{_rows(dialect.skipped)} above the header left out")
    if dialect.header is None:
        notes.append("no header was found: columns are numbered")
        return numbered(dialect.width), notes
    # Rows with more cells than names begin with the unnamed ones, as R writes its row names.
    cells = ["" for _ in range(dialect.width - len(dialect.header))] + list(dialect.header)
    names = named(cells)
    return names, notes + notes_of(cells, names)


def _rewrite(path: Path, target: Path, encoding: str, dialect: Dialect, *, report: Report) -> _Met:
    """As CSV that DuckDB reads without question; gives back what was met on the way."""
    met = _copy_rows(path, target, encoding, dialect, report=report)
    if met.is_unbalanced and dialect.quote:
        plain = replace(dialect, quote="", escape="")
        met = _copy_rows(path, target, encoding, plain, report=report)
        met.is_unbalanced = True
    return met


@dataclass(slots=True)
class _Met:
    short: int = 0
    long: int = 0
    lost: int = 0
    longest: int = 0
    """Bytes of the longest row, at most."""
    is_unbalanced: bool = False

    def said(self) -> list[str]:
        said = []
        if self.is_unbalanced:
            said.append("its quotes do not pair up: they were read as ordinary characters")
        if self.short:
            said.append(f"{_rows(self.short)} had fewer cells than columns: the rest is missing")
        if self.long:
            said.append(f"{_rows(self.long)} had more cells than columns: the rest was left out")
        if self.lost:
            said.append(f"{self.lost:,} line(s) held characters that could not be decoded")
        return said


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _copy_rows(
    path: Path, target: Path, encoding: str, dialect: Dialect, *, report: Report
) -> _Met:
    met = _Met()
    width, size = dialect.width, path.stat().st_size
    begin = dialect.skipped + (dialect.header is not None)
    with (
        path.open(encoding=encoding, errors="replace", newline="") as source,
        target.open("w", encoding="utf-8", newline="") as sink,
    ):
        writer = csv.writer(sink, lineterminator="\n", quoting=csv.QUOTE_ALL)
        try:
            filled = (row for row in dialect.rows(_lines(source, met)) if not is_blank(row))
            for number, row in enumerate(filled):
                if number >= begin:
                    writer.writerow(_fitted(row, width, met))
                if number % _REPORTED_ROWS == 0:
                    read = os.lseek(source.fileno(), 0, os.SEEK_CUR)
                    report(_SHARE_OF_COPYING * read / size)
        except csv.Error as error:
            if not dialect.quote:
                raise LimitExceeded(f"it is no readable table: {error}") from error
            met.is_unbalanced = True
    return met


def _fitted(row: list[str], width: int, met: _Met) -> list[str]:
    met.longest = max(met.longest, 4 * sum(map(len, row)) + 4 * len(row))
    if len(row) == width:
        return row
    if len(row) < width:
        met.short += 1
        # A quote that nothing closes swallows the rest of the file into one cell.
        met.is_unbalanced |= any(cell.count("\n") > 1 for cell in row[-1:])
        return row + [""] * (width - len(row))
    met.long += any(row[width:])
    return row[:width]


def _lines(stream: object, met: _Met) -> Iterator[str]:
    """Lines of bounded length: a file without line ends must not be held whole."""
    readline = stream.readline  # type: ignore[attr-defined]
    while line := readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise LimitExceeded(
                f"it has a line of more than {LONGEST_LINE:,} characters",
                hint="a table has one row a line; is it one?",
            )
        met.lost += _LOST in line
        yield line.replace("\x00", "")


# How a delimited text is written: what parts its cells, what quotes them, where its rows begin.

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
        rows = _dialects_rows(dialect, sample, is_whole=is_whole)
        score = _score(dialect, rows)
        if score is not None and (best is None or (*score, -order) > best[0]):
            best = ((*score, -order), dialect, rows)
    if best is None:
        dialect = Dialect(prefers or ",", _only_quote(sample))
        best = ((), dialect, _dialects_rows(dialect, sample, is_whole=is_whole))
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


def _dialects_rows(dialect: Dialect, sample: str, *, is_whole: bool) -> list[list[str]]:
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
        return next((at for at, row in enumerate(rows) if not row[0].startswith("#")), 0)
    for number, row in enumerate(rows[:50]):
        filled = sum(bool(cell.strip(BLANKS)) for cell in row)
        is_remark = len(row) < width and row[0].lstrip().startswith("#")
        is_hint = row[0].lower().startswith("sep=")  # Excel's own, for itself
        if is_remark or is_hint:
            continue
        if len(row) >= max(2, width - 1) or filled > max(1, width // 2):
            return number
    return 0


# In which encoding a text file is written; whether it is text at all.

SAMPLE_BYTES = 256 << 10
_BLOCK = 4 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's mark, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LEGACY = (
    "cp1252", "cp932", "gb18030", "big5", "euc_jp", "cp949", "koi8_r",
    "cp1251", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256",
)  # fmt: skip
_HIGH_LINE = re.compile(rb"[^\n\r]{0,200}[\x80-\xff][^\n\r]{0,200}")


def encoding_of(path: Path) -> str:
    """By its mark, by what its bytes allow, else by likelihood. Raises Unsupported for binaries."""
    with path.open("rb") as stream:
        sample = stream.read(SAMPLE_BYTES)
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    if not is_text(sample):
        raise Unsupported("it holds binary data, not a table", hint="save it as CSV or Parquet")
    return _wide(sample) or _narrow(path)


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    if b"\x00" not in sample:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 5 < len(sample):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _narrow(path: Path) -> str:
    # Some of what is no ASCII, where the file is no UTF-8; nothing where it is.
    decoder = codecs.getincrementaldecoder("utf-8")()
    gathered: list[bytes] = []
    with path.open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                # Told many times faster than it is decoded, and most tables hold little else.
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            stream.seek(0)
            while (block := stream.read(_BLOCK)) and sum(map(len, gathered)) < SAMPLE_BYTES:
                gathered.extend(_HIGH_LINE.findall(block))
    odd_ones = b"\n".join(gathered)[:SAMPLE_BYTES]
    if not odd_ones:
        return "utf-8"
    if not re.search(rb"[\x80-\xff]{3,}", odd_ones):
        return "cp1252"  # single accents in Latin words: detectors confuse these
    import charset_normalizer

    best = charset_normalizer.from_bytes(odd_ones, cp_isolation=list(_LEGACY)).best()
    return best.encoding if best is not None else "cp1252"
