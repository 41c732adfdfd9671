"""CSV and its kin. DuckDB reads what is well formed by itself; what it refuses (rows of uneven
length, mixed line ends, stray quotes, other encodings) is first written anew, row by row."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.errors import LimitExceeded, NoText
from secondlook.tables.reading.converting import Cells
from secondlook.tables.reading.dialects import LONGEST_LINE, Dialect, detect, is_blank
from secondlook.tables.reading.encodings import SAMPLE_BYTES, encoding_of
from secondlook.tables.reading.headers import named, notes_of, numbered
from secondlook.tables.reading.parts import Part, csv_relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Report = Callable[[float], None]

_LOST = "\ufffd"
_EMPTY = ("",)
"""What DuckDB takes for missing: it compares every cell with each of a list, we only few."""
_REPORTED_ROWS = 10_000
_SHARE_OF_COPYING = 0.7


def delimited_part(path: Path, stage: Path, *, suffix: str, report: Report) -> Part:
    encoding = encoding_of(path)
    sample, is_whole = _sample(path, encoding)
    if not sample.strip():
        raise NoText("the file is empty")
    dialect = detect(sample, is_whole=is_whole, prefers="\t" if suffix in {".tsv", ".tab"} else "")
    names, notes = _names(dialect)
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes.append(f"the file is not UTF-8: it was read as {encoding}")

    def rewritten() -> Part:
        target = stage / "cells.csv"
        met = _rewrite(path, target, encoding, dialect, report=report)
        relation = csv_relation(target, len(names), missing=_EMPTY, longest=met.longest)
        return Part(relation, _cells(names), notes=[*notes, *met.said()])

    if encoding.startswith("utf-8") and _is_plain(dialect, sample):
        relation = csv_relation(
            path,
            len(names),
            delimiter=dialect.delimiter,
            quote=dialect.quote,
            escape=dialect.escape or dialect.quote,
            skip=0 if dialect.header is None else 1,
            missing=_EMPTY,
        )
        return Part(relation, _cells(names), notes=notes, otherwise=rewritten)
    return rewritten()


def _cells(names: list[str]) -> list[Cells]:
    return [Cells(name, f"c{at}", has_marks=True) for at, name in enumerate(names)]


def _sample(path: Path, encoding: str) -> tuple[str, bool]:
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        sample = stream.read(SAMPLE_BYTES)
        return sample, not stream.read(1)


def _is_plain(dialect: Dialect, sample: str) -> bool:
    """Whether DuckDB would skip and part exactly as we do."""
    starts = sample[:1] not in {"\n", "\r", ""} and dialect.skipped == 0
    header = dialect.header or ()
    in_one_line = not any("\n" in cell or "\r" in cell for cell in header)
    return dialect.width > 1 and dialect.delimiter != " " and starts and in_one_line


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
