"""The single values of a result, with their names."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.sandbox.port import Frame, Outcome, Plain

Scalar: TypeAlias = "bool | int | float | str | None"

_DEEPEST = 6
_MOST = 5_000
"""Values that are looked at; a result of more is a table, not an answer."""
_STATISTICS: Final = frozenset(
    {"count", "mean", "std", "min", "max", "25%", "50%", "75%", "median", "sum", "var", "n"}
)
"""What a row is called in a summary, as of `describe()`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+%?|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    """Empty where the result is just a value."""
    value: Scalar

    @property
    def number(self) -> float | None:
        """Also where it is missing: NaN; None where it is no number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        try:
            return float(self.value)
        except OverflowError:
            return math.inf


def named_values(outcome: Outcome) -> list[Named]:
    """Every value of the result, at most as many as are worth looking at."""
    found: list[Named] = []
    for value in _all(outcome):
        found.append(value)
        if len(found) >= _MOST:
            break
    return found


def _all(outcome: Outcome) -> Iterator[Named]:
    if outcome.frame is not None:
        yield from of_frame(outcome.frame)
    elif outcome.has_result:
        yield from _of_plain("", outcome.result, 0)
    for name, frame in outcome.frames.items():
        yield from of_frame(frame, prefix=name)


def of_frame(frame: Frame, *, prefix: str = "") -> Iterator[Named]:
    """Cells under the names of their columns; those of a summary under its rows' names too."""
    for row in frame.rows:
        head = row[0] if row and isinstance(row[0], str) else ""
        of_row = head if head.casefold() in _STATISTICS else ""
        for column, cell in zip(frame.columns, row, strict=False):
            name = " ".join(filter(None, (prefix, of_row, column)))
            yield from _of_plain(name, cell, 0)


def _of_plain(name: str, value: Plain, depth: int) -> Iterator[Named]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _of_plain(f"{name} {key}".strip(), inner, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _of_plain(name, inner, depth + 1)
    elif isinstance(value, dict | list):
        yield Named(name, None)
    else:
        yield Named(name, value)


def words_of(name: str) -> list[str]:
    """`meanFare_class1` is mean, fare, class, 1."""
    return [word.casefold() for word in _WORD.findall(name[:300])]


def shown(value: float) -> str:
    """For people."""
    if math.isnan(value) or math.isinf(value) or not float(value).is_integer():
        return f"{value:.6g}"
    return f"{value:.0f}" if abs(value) < 1e15 else f"{value:.6g}"  # noqa: PLR2004
