"""Values that stand for a missing one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from secondlook.answer import Scalar

PLACEHOLDER_TEXTS: tuple[str, ...] = (
    *("?", "??", "???", "-", "--", "---", ".", "..", "*", "xxx"),
    *("na", "n/a", "#n/a", "n.a.", "n. a.", "nan", "nil", "none", "null", "keine angabe", "k.a."),
    *("not available", "not applicable", "not specified", "no data", "no answer"),
    *("missing", "unknown", "undefined", "unspecified", "unbekannt", "inconnu", "tbd", "tba"),
    *("-99", "-999", "-9999", "0000-00-00"),
)
PLACEHOLDER_NUMBERS = frozenset(
    float(sign + digit * length) for sign in "-+" for digit in "89" for length in range(2, 10)
)
"""-99, 999, -9999, 88888 and their like."""


def suspects(minimum: Scalar, maximum: Scalar) -> list[tuple[Literal["low", "high"], float]]:
    """Ends of a column that may be placeholders. How far they lie from the other values, and how
    often they occur, must be counted."""
    ends: tuple[tuple[Literal["low", "high"], Scalar], ...] = (("low", minimum), ("high", maximum))
    return [
        (end, value)
        for end, value in ends
        if isinstance(value, int | float) and float(value) in PLACEHOLDER_NUMBERS
    ]
