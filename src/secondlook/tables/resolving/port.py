"""Which column or value a word of a question means: data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import ResolvedHow
    from secondlook.tables.query import Computed, Query
    from secondlook.tables.table import Table, TableProfile

Embed: TypeAlias = "Callable[[Sequence[str]], list[list[float]]]"
"""Texts to vectors of length one."""
MOST_VALUES = 5000
"""Distinct values of one column that are looked at."""


@dataclass(frozen=True, slots=True)
class AskedTable:
    table: Table
    profile: TableProfile
    values: Callable[[str], Sequence[str]]
    """Distinct values of a text column as stored, at most `MOST_VALUES`; read when called."""
    compute: Callable[[Query], Computed] | None = None
    """Where it is given, a reading that finds nothing can be dropped."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A column, and how sure it is that it was meant."""

    asked: str
    table: str
    """Id of the table."""
    column: str
    score: float
    how: ResolvedHow


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of a text name a column."""

    start: int
    end: int
    resolved: Resolved


@dataclass(frozen=True, slots=True)
class ValueMention:
    """Characters [start, end) of a text name a value of a column."""

    start: int
    end: int
    table: str
    """Id of the table."""
    column: str
    value: str
    """As stored."""
    score: float
