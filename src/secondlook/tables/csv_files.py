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
from itertools import islice
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
    notes = [f"{_rows(dialect.skipped)} above the header left out"] if dialect.skipped else []
    if dialect.header is None:
        notes.append("no header was found: columns are numbered")
        names = numbered(dialect.width)
    else:
        # Rows with more cells than names begin with the unnamed ones, as R writes its row names.
        header = [""] * (dialect.width - len(dialect.header)) + list(dialect.header)
        names = named(header)
        notes += notes_of(header, names)
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes.append(f"the file is not UTF-8: it was read as {encoding}")

    cells = [Cells(name, f"c{at}", has_marks=True) for at, name in enumerate(names)]

    def rewritten() -> Part:
        target = stage / "cells.csv"
        met = _copy_rows(path, target, encoding, dialect, report=report)
        if met.is_unbalanced and dialect.quote:
            plain = replace(dialect, quote="", escape="")
            met = _copy_rows(path, target, encoding, plain, report=report)
            met.is_unbalanced = True
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


@dataclass(slots=True)
class _Met:
    short: int = 0
    long: int = 0
    lost: int = 0
    longest: int = 0  # Bytes of the longest row, at most
    is_unbalanced: bool = False

    def said(self) -> list[str]:
        said = {
            "its quotes do not pair up: they were read as ordinary characters": self.is_unbalanced,
            f"{_rows(self.short)} had fewer cells than columns: the rest is missing": self.short,
            f"{_rows(self.long)} had more cells than columns: the rest was left out": self.long,
            f"{self.lost:,} line(s) held characters that could not be decoded": self.lost,
        }
        return [one for one, was_met in said.items() if was_met]


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
                    met.longest = max(met.longest, 4 * sum(map(len, row)) + 4 * len(row))
                    met.long += any(row[width:])
                    if len(row) < width:
                        met.short += 1
                        # A quote that nothing closes swallows the rest of the file into one cell.
                        met.is_unbalanced |= any(cell.count("\n") > 1 for cell in row[-1:])
                    writer.writerow((row + [""] * (width - len(row)))[:width])
                if number % _REPORTED_ROWS == 0:
                    read = os.lseek(source.fileno(), 0, os.SEEK_CUR)
                    report(_SHARE_OF_COPYING * read / size)
        except csv.Error as error:
            if not dialect.quote:
                raise LimitExceeded(f"it is no readable table: {error}") from error
            met.is_unbalanced = True
    return met


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
_STEADY = 0.9  # Share of the rows that have as many cells as most
_LOOKED_AT = 400
LONGEST_LINE = 16 << 20
_QUOTED_ALONE = re.compile(r"'[^']*'")
_NUMBER = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    delimiter: str  # " " stands for any number of blanks
    quote: str = '"'  # "" where quotes mean nothing
    escape: str = ""  # "" where a quote within quotes is doubled
    width: int = 1
    skipped: int = 0  # Filled rows before the header, or before the first row where there is none
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
        if self.delimiter != " ":
            return rows
        return map(_stripped, rows)


def _stripped(row: list[str]) -> list[str]:
    """Blanks at the ends of a line part nothing."""
    while row and not row[-1]:
        row = row[:-1]
    return row[1:] if row and not row[0] else row


def is_blank(row: list[str]) -> bool:
    """As pandas skips them: nothing but blanks on the line."""
    return not row or (len(row) == 1 and not row[0].strip(BLANKS))


def detect(sample: str, *, is_whole: bool, prefers: str = "") -> Dialect:
    """`prefers`: the delimiter that the file's name promises."""
    order = sorted(_DELIMITERS, key=lambda one: one != prefers)
    quote = _only_quote(sample)
    likely = [Dialect(delimiter, quote) for delimiter in order if delimiter in sample]
    if '\\"' in sample:
        likely += [replace(one, escape="\\") for one in likely]
    if " " in sample:
        likely.append(Dialect(" ", quote))
    best = Dialect(prefers or ",", quote)
    best_score: tuple[float, ...] = ()
    for one in likely:
        score = _score(one, _filled_rows(one, sample, is_whole=is_whole))
        if score is not None and score > best_score:
            best, best_score = one, score
    filled = _filled_rows(best, sample, is_whole=is_whole)
    if not filled:
        return best
    width = _usual_width(filled)
    skipped = _preamble(filled, width)
    first, body = filled[skipped], filled[skipped + 1 :]
    header = tuple(first) if is_header(first, body[:100]) else None
    return replace(best, width=max(width, len(first)), skipped=skipped, header=header)


def _only_quote(sample: str) -> str:
    """Single quotes, where nothing else is quoted and cells stand in them."""
    if '"' in sample:
        return '"'
    first_lines = sample.splitlines()[:50]
    quoted = sum(len(_QUOTED_ALONE.findall(line)) for line in first_lines)
    begun = sum(line.startswith("'") for line in first_lines)
    return "'" if first_lines and begun * 2 >= len(first_lines) and quoted >= begun else '"'


def _filled_rows(dialect: Dialect, sample: str, *, is_whole: bool) -> list[list[str]]:
    """Of the first ones; the last may be cut where the sample is not the whole file."""
    rows: list[list[str]] = []
    may_be_cut = not is_whole
    try:
        rows.extend(islice(dialect.rows(io.StringIO(sample, newline="")), _LOOKED_AT + 1))
        may_be_cut &= 1 < len(rows) <= _LOOKED_AT
    except csv.Error:
        may_be_cut = False
    return [row for row in (rows[:-1] if may_be_cut else rows) if not is_blank(row)]


def _score(dialect: Dialect, filled: list[list[str]]) -> tuple[float, ...] | None:
    """Higher is better; None where it does not part the text into columns."""
    if not filled or (width := _usual_width(filled)) < 2:  # noqa: PLR2004
        return None
    steady = sum(len(row) == width for row in filled) / len(filled)
    if dialect.delimiter in " :":
        # They stand in ordinary cells too: only numbers in regular columns count.
        cells = [cell for row in filled[1:] for cell in row]
        numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells)
        if min(width, len(filled)) < 3 or steady < 1 or numbers * 2 < len(cells):  # noqa: PLR2004
            return None
    begins_well = abs(len(filled[0]) - width) <= 1 and len(filled[0]) > 1
    return (float(steady >= _STEADY), float(begins_well), round(steady, 2), 1 - len(dialect.escape))


def _usual_width(rows: list[list[str]]) -> int:
    """As many cells as most rows have. Rows of one cell count half: remarks look so."""
    counts = Counter(len(row) for row in rows)
    return max(counts, key=lambda width: (counts[width] * (1 + (width > 1)), width))


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
    marked = next((encoding for mark, encoding in _MARKS if sample.startswith(mark)), None)
    if marked is not None:
        return marked
    if not is_text(sample):
        raise Unsupported("it holds binary data, not a table", hint="save it as CSV or Parquet")
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) and max(even, odd) * 5 >= len(sample):
        # UTF-16 without a mark: every other byte of Latin text is zero.
        return "utf-16-be" if even > odd else "utf-16-le"
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
