"""Whether two runs of the same code came to the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Frame, Outcome, Plain

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SMALLEST = 1e-12
_MOST_PAIRED = 1_000
"""Items of a list that are paired one by one where their order differs."""
_MOST_DECIMALS = 6
"""A number with more was not rounded by the code."""
_DEEPEST = 14


def same(one: Outcome, other: Outcome, *, tolerance: float, ties: bool) -> bool | None:
    """In any order of rows; None where it cannot be told. `ties`: numbers that were rounded may
    differ by one in their last place."""
    compare = _Compare(tolerance, ties=ties)
    if (one.frame is None) != (other.frame is None) or one.frames.keys() != other.frames.keys():
        return False
    found = [compare.plain(one.result, other.result)]
    pairs = [(one.frames[name], other.frames[name]) for name in one.frames]
    pairs += [(one.frame, other.frame)] if one.frame and other.frame else []
    verdicts = [*found, *(compare.frames(first, second) for first, second in pairs)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


class _Compare:
    def __init__(self, tolerance: float, *, ties: bool) -> None:
        self._tolerance = tolerance
        self._ties = ties

    def frames(self, one: Frame, other: Frame) -> bool | None:
        if one.columns != other.columns or one.total_rows != other.total_rows:
            return False
        if one.total_rows > len(one.rows):
            return None  # other rows may have come back
        return self._lists(_without_labels(one), _without_labels(other), 0)

    def plain(self, one: Plain, other: Plain, depth: int = 0) -> bool:
        if depth > _DEEPEST:
            return True
        if isinstance(one, list) and isinstance(other, list):
            return self._lists(one, other, depth + 1)
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(
                self.plain(one[key], other[key], depth + 1) for key in one
            )
        if isinstance(one, str) and isinstance(other, str):
            return one == other or self._texts(one, other)
        if _is_number(one) and _is_number(other):
            return self._numbers(float(one), float(other))  # type: ignore[arg-type]
        return type(one) is type(other) and one == other

    def _numbers(self, one: float, other: float) -> bool:
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if math.isclose(one, other, rel_tol=self._tolerance, abs_tol=_SMALLEST):
            return True
        decimals = max(decimals_of(one), decimals_of(other))
        rounded = 0 < decimals <= _MOST_DECIMALS
        return self._ties and rounded and abs(one - other) <= 1.01 * 10.0**-decimals

    def _texts(self, one: str, other: str) -> bool:
        """The same words around numbers that are the same."""
        if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
            return False
        pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
        return all(self._numbers(float(first), float(second)) for first, second in pairs)

    def _lists(self, one: Sequence[Plain], other: Sequence[Plain], depth: int) -> bool:
        if len(one) != len(other):
            return False
        if all(self.plain(a, b, depth + 1) for a, b in zip(one, other, strict=True)):
            return True
        return self._in_any_order(one, other, depth)

    def _in_any_order(self, one: Sequence[Plain], other: Sequence[Plain], depth: int) -> bool:
        if Counter(map(repr, one)) == Counter(map(repr, other)):
            return True
        if len(one) > _MOST_PAIRED:
            return False
        left = sorted(other, key=_sort_key)
        for item in sorted(one, key=_sort_key):
            at = next((at for at, its in enumerate(left) if self.plain(item, its, depth + 1)), None)
            if at is None:
                return False
            del left[at]
        return True


def decimals_of(value: float) -> int:
    """Digits after the point, as it is written shortest."""
    shown = repr(float(value))
    if "e" in shown:
        return 0 if float(value).is_integer() else _MOST_DECIMALS + 1
    return 0 if shown.endswith(".0") else len(shown.partition(".")[2])


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sort_key(value: Plain) -> str:
    """Near enough alike for nearly equal numbers to come to lie side by side."""
    if isinstance(value, list):
        return "|".join(map(_sort_key, value))
    return f"{float(value):.5g}" if _is_number(value) else str(value)  # type: ignore[arg-type]


def _without_labels(frame: Frame) -> list[Plain]:
    """Rows without their numbers in the table, which another order changes."""
    numbered = {
        at
        for at, name in enumerate(frame.columns)
        if name == "index" and all(isinstance(row[at], int) for row in frame.rows)
    }
    return [[cell for at, cell in enumerate(row) if at not in numbered] for row in frame.rows]
