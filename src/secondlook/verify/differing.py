"""Where two values of an analysis differ: what was recorded, and what comes out again."""

from __future__ import annotations

import math
from typing import Any, Final

from secondlook.verify.report import shown

_RELATIVE: Final = 1e-9
"""Sums of the same numbers in another order differ less."""
_ABSOLUTE: Final = 1e-12
_DEEPEST = 40


def difference(recorded: Any, again: Any, *, at: str = "", depth: int = 0) -> str | None:
    """`'North': 5.2 was recorded, 6.1 comes out`; None where they are the same."""
    if depth > _DEEPEST:
        return f"{_place(at)}it is nested too deep to be compared"
    if isinstance(recorded, dict) and isinstance(again, dict):
        return _of_mappings(recorded, again, at, depth)
    if isinstance(recorded, list | tuple) and isinstance(again, list | tuple):
        return _of_lists(recorded, again, at, depth)
    if _is_number(recorded) and _is_number(again):
        same = math.isclose(recorded, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    else:
        same = type(recorded) is type(again) and recorded == again
    return None if same else f"{_place(at)}{_said(recorded)} was recorded, {_said(again)} comes out"


def _of_mappings(
    recorded: dict[str, Any], again: dict[str, Any], at: str, depth: int
) -> str | None:
    if more := [key for key in recorded if key not in again]:
        return f"{_place(at)}{shown(more[0])} was recorded, and does not come out"
    if less := [key for key in again if key not in recorded]:
        return f"{_place(at)}{shown(less[0])} comes out, and was not recorded"
    found = (
        difference(recorded[key], again[key], at=_within(at, key), depth=depth + 1)
        for key in recorded
    )
    return next((one for one in found if one), None)


def _of_lists(recorded: Any, again: Any, at: str, depth: int) -> str | None:
    if len(recorded) != len(again):
        return f"{_place(at)}{len(recorded)} were recorded, {len(again)} come out"
    pairs = enumerate(zip(recorded, again, strict=True), 1)
    found = (
        difference(one, other, at=_within(at, str(number)), depth=depth + 1)
        for number, (one, other) in pairs
    )
    return next((one for one in found if one), None)


def _within(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _place(at: str) -> str:
    return f"{shown(at)}: " if at else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    return shown(value) if isinstance(value, str) else shown(repr(value)).strip("'\"")
