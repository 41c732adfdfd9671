"""The kinds of questions that are read without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.asking import charts, gaps, leading, rows, statistics

if TYPE_CHECKING:
    from secondlook.tables.asking.port import Family

FAMILIES: tuple[Family, ...] = (
    charts.read,
    statistics.read,
    leading.read,
    gaps.read,
    rows.read,
)
