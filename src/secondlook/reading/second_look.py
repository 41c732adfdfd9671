"""The second look at an answer: does the passage say that this is the answer to this question? A
span may be a date of the right kind and yet the one beside the right one. So question and answer
are judged together, by the reader's head for support. A question for yes or no is judged with both.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from secondlook.reading.calibration import NOT_THERE, Candidate, sound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Judge = Callable[[Sequence[tuple[str, str]]], "list[float] | None"]
    """How far texts support claims; None where nobody was trained to tell."""

LOOKED_TWICE: Final = 3  # Of the candidates, those whose spans have the highest margins
_YES_OR_NO = re.compile(
    r"(?:[^?]*,\s+)?\W*(?:is|are|am|was|were|do|does|did|can|could|may|might|must|shall|should|will"
    r"|would|has|have|had)(?:n['\u2019]?t)?\s+(?!.*\bor\b)"
    # A request in the form of a question.
    r"(?!you\s+(?:please\s+)?(?:tell|give|show|explain|list|find|know|remind|summari[sz]e)\b)",
    re.IGNORECASE | re.DOTALL,
)


def is_yes_or_no(question: str) -> bool:
    """By its form. "Is it red or blue?" asks for something else."""
    return _YES_OR_NO.match(question) is not None


def look_twice(
    judge: Judge, question: str, candidates: Sequence[Candidate], said: Sequence[tuple[str, str]]
) -> list[Candidate]:
    """The candidates, those with the highest margins judged; `said` has the words of each one's
    span, and its passage with what stands above it."""
    best = sorted(sound(candidates), key=lambda at: -candidates[at].margin)[:LOOKED_TWICE]
    choice = is_yes_or_no(question)
    pairs = [
        (f"{question} {answer}", said[at][1])
        for at in best
        for answer in (("yes", "no") if choice else (said[at][0],))
    ]
    logits = judge(pairs) if pairs else None
    if logits is None:
        return list(candidates)
    made = list(candidates)
    for place, at in enumerate(best):
        if choice:
            yes, no = logits[2 * place : 2 * place + 2]
            made[at] = replace(made[at], together=max(yes, no), lead=yes - no)
        else:
            made[at] = replace(made[at], together=logits[place])
        made[at] = replace(made[at], ahead=ahead_of(candidates, at))
    return made


def ahead_of(candidates: Sequence[Candidate], at: int) -> float:
    others = [candidates[other].relevance for other in sound(candidates) if other != at]
    return candidates[at].relevance - max(others, default=NOT_THERE)
