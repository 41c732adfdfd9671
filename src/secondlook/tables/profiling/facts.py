"""What the passes over a table find out about its columns, and what is counted or estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.profiling.source import COLUMNS_AT_ONCE

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.tables.profiling.source import Source
    from secondlook.tables.table import ColumnType

EXACT_CELLS = 4_000_000
"""Up to so many cells distinct values are counted, not estimated."""
LISTED_ROWS = 10_000
"""Up to so many rows distinct values of many columns are counted at once."""
QUANTILE_VALUES = 2_000_000
"""So many values are held at once to find quantiles: 16 MB."""
PROBED_ROWS = 5_000
"""So many rows show whether something is worth counting in all of them."""
COUNTED_VALUES = 1_000_000
"""So many values are held at once to see whether any of them repeats."""
SKETCH_ERROR = 0.15
"""DuckDB's sketch of distinct values was within 10 % wherever it was tried."""
KEY_TYPES: frozenset[ColumnType] = frozenset({"integer", "text", "date", "datetime"})
"""A measured number may be different in every row and still names none."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one column."""

    type: ColumnType
    rows: int
    stored: int = 0
    """Values that are not NULL."""
    present: int = 0
    """Of them, those that can be computed with: not NaN, not infinite."""
    infinite: int = 0
    distinct: int = 0
    exact: bool = False
    minimum: Scalar = None
    maximum: Scalar = None
    mean: float | None = None
    std: float | None = None
    quantiles: tuple[float, ...] = ()
    counts: tuple[tuple[str, int], ...] | None = None
    """Every value with its count, the most frequent first; None where there are too many."""
    unique: bool = False
    """No value was seen twice."""
    probed_numbers: int = 0
    """Texts that are numbers, among the rows that were probed."""
    probed_blanks: tuple[str, ...] = ()
    """Texts that may stand for a missing value, among the rows that were probed."""
    numbers: int | None = None
    """Texts that are numbers, where that was worth counting."""
    not_a_number: str | None = None
    far: int = 0
    future: int = 0
    placeholders: tuple[tuple[str, int], ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        return self.rows - self.present - self.infinite

    @property
    def may_be_key(self) -> bool:
        enough = 1 if self.exact else 1 - SKETCH_ERROR
        whole = self.stored == self.rows > 1
        return self.type in KEY_TYPES and whole and self.distinct >= self.rows * enough

    @property
    def key(self) -> bool:
        return self.may_be_key and (self.unique or self.exact)


@dataclass(frozen=True, slots=True)
class Passed:
    """What is known of a table."""

    columns: tuple[Facts, ...]
    duplicates: int = 0
    """Rows that repeat an earlier one."""
    estimated: bool = False
    """Whether their number comes from a part of the rows."""


def counts_exactly(source: Source) -> bool:
    return source.rows * len(source.types) <= EXACT_CELLS


def counts_by_lists(source: Source) -> bool:
    return counts_exactly(source) and source.rows <= LISTED_ROWS


def sample_share(source: Source) -> int:
    """Every how-many-th row quantiles are taken from."""
    numeric = min(len(source.places("integer", "number")), COLUMNS_AT_ONCE)
    return max(1, math.ceil(source.rows * numeric / QUANTILE_VALUES))


def probe_share(source: Source) -> int:
    return max(1, math.ceil(source.rows / PROBED_ROWS))


def buckets(rows: int) -> int:
    """Into how many parts values are dealt by their hash, so that one of them fits in memory."""
    return max(1, math.ceil(rows / COUNTED_VALUES))
