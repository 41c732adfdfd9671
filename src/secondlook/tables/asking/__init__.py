"""Questions over tables in plain words, read without a model."""

from __future__ import annotations

from secondlook.tables.asking.answering import queries, values_of
from secondlook.tables.asking.keeping import reading_data, reading_from
from secondlook.tables.asking.port import AskedTable, Reading, Wanted
from secondlook.tables.asking.understanding import Understanding, understand
from secondlook.tables.asking.wanted import wanted_of

__all__ = [
    "AskedTable",
    "Reading",
    "Understanding",
    "Wanted",
    "queries",
    "reading_data",
    "reading_from",
    "understand",
    "values_of",
    "wanted_of",
]
