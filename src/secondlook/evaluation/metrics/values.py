"""Named values of an analysis held against those that are right.

InfiAgent-DABench counts a value as right where it is the same string, or a number within 1e-6. Its
own script leaves unanswered questions out; here they count as wrong.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NEAR = 1e-6


def values_right(
    expected: Sequence[tuple[str, str]], values: Mapping[str, object]
) -> dict[str, bool]:
    """By name, whether the value is right. Of a name that comes twice the later one counts."""
    return {
        name: name in values and value_right(wanted, values[name])
        for name, wanted in dict(expected).items()
    }


def value_right(expected: str, value: object) -> bool:
    number, found = _number(expected), _number(value)
    if number is not None and found is not None:
        return abs(number - found) < _NEAR
    held = _structure(expected)
    if held is not None and not isinstance(value, str):
        return _same(held, value)
    return _said(value) == expected.strip()


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # what it cannot take raises
    except (TypeError, ValueError):
        return None


def _structure(expected: str) -> Any:
    """A list or mapping written as Python writes them; None where it is neither."""
    try:
        held = ast.literal_eval(expected.strip())
    except (ValueError, SyntaxError):
        return None
    return held if isinstance(held, list | tuple | dict) else None


def _same(expected: Any, value: Any) -> bool:
    if isinstance(expected, dict):
        return (
            isinstance(value, dict)
            and {str(key) for key in expected} == {str(key) for key in value}
            and all(
                _same(one, {str(key): held for key, held in value.items()}[str(name)])
                for name, one in expected.items()
            )
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(expected) == len(value)
            and all(_same(one, other) for one, other in zip(expected, value, strict=True))
        )
    return value_right(str(expected), value)


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_said, value))
    return str(value).strip()
