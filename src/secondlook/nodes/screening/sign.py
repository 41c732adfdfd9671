"""What a sign is: a pattern, what it is worth, and how it is told.

A sign's worth is roughly how sure it alone makes one that the text is an attack. In a passage it is
worth less where documents use the same words for people, and more where only a model has use for
them. The worths were set by hand, on the tuning half of what `benchmarks/screening_cases.py` holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OVERRIDE = "sets earlier instructions aside"
TASK = "gives a new task"
ROLE = "gives the model another role"
LIMITS = "lifts the model's limits"
EXTRACTION = "asks for hidden instructions or secrets"
COERCION = "commands or threatens the model"
SCRIPT = "dictates what to say"
TURN = "imitates the turns of a conversation"
SPEAKS = "speaks to a model"
SHAPING = "tells how the answer must be"
CODE = "has code put into the answer"


@dataclass(frozen=True, slots=True)
class Sign:
    reason: str
    """Signs with the same reason say the same thing: only the strongest counts."""
    question: float
    passage: float
    pattern: re.Pattern[str]
    cues: tuple[str, ...]
    """A text with none of them cannot match: looking for these is many times faster."""
    is_order: bool
    """Worth less where it is part of a statement instead of an order."""


def sign(
    reason: str, worth: tuple[float, float], cues: str, pattern: str, *, is_order: bool = False
) -> Sign:
    return Sign(reason, *worth, re.compile(pattern), tuple(cues.split("|")), is_order)
