"""Columns by meaning: vectors of their names and of their most frequent values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.tables.resolving.port import Embed
    from secondlook.tables.table import ColumnProfile

NOTHING_IN_COMMON = 0.76
"""Cosine of texts that have nothing to do with each other, for the embedder that is shipped
(`benchmarks/analyst_grammar.py --set meaning` measures it)."""
SURE = 0.9
"""What the same meaning is worth at most: less than the same letters."""
MOST_TOP = 5


class Meaning:
    """Vectors of the columns, made once."""

    def __init__(self, columns: list[ColumnProfile], embed: Embed) -> None:
        self._embed = embed
        self._columns = columns
        self._vectors: list[list[float]] | None = None

    def scores(self, phrase: str) -> list[float]:
        """0 to `SURE` per column, in their order."""
        if self._vectors is None:
            self._vectors = self._embed([described(one) for one in self._columns])
        (vector,) = self._embed([phrase])
        return [_score(vector, other) for other in self._vectors]


def described(column: ColumnProfile) -> str:
    top = ", ".join(one.value for one in column.top[:MOST_TOP])
    name = column.name.replace("_", " ")
    return f"{name}: {top}" if top and column.type == "text" else name


def _score(one: list[float], other: list[float]) -> float:
    cosine = sum(a * b for a, b in zip(one, other, strict=True))
    return SURE * min(1.0, max(0.0, (cosine - NOTHING_IN_COMMON) / (1 - NOTHING_IN_COMMON)))
