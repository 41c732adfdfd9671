"""Holes of a part: what the parts before it came to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

HOLE: Final = re.compile(r"\{(\d+)\}")
_ENDS = " .,;:"


def filled(part: str, shorts: Sequence[str]) -> str:
    """The part with what the parts before it came to."""
    return HOLE.sub(lambda hole: shorts[int(hole[1]) - 1].strip(_ENDS), part)


def value_parts(parts: Sequence[str]) -> list[int]:
    """Which parts give the values to compute with: those that no later part needs."""
    needed = {int(number) - 1 for part in parts for number in HOLE.findall(part)}
    return [at for at in range(len(parts)) if at not in needed]
