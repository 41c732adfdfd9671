"""Which option of a multiple-choice question an answer names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from secondlook.evaluation.metrics.words import shared, stands_in, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAST_F1: Final = 0.5
# Such as B or (b) or B.
_ALONE = re.compile(r"[\W_]*(?P<letter>[^\W_]{1,2})[\W_]*\Z")
# Such as B) Paris or (B) Paris or **B**: Paris
_LEADING = re.compile(
    r"\s*(?:\((?P<in_brackets>[^\W_]{1,2})\)|\*{0,2}(?P<letter>[^\W_]{1,2})\*{0,2}[).:,\]])"
)
# Such as Answer: B or The correct answer is B because; a small letter there may be an article.
_NAMED = re.compile(
    r"\s*(?:the )?(?:(?:correct|right|best|final) )?(?:answer|option|choice) ?(?:is|:)? ?"
    r"(?:option )?[(*]{0,3}(?P<letter>(?-i:[A-Z0-9]))\b",
    re.IGNORECASE,
)


def chosen(choices: Mapping[str, str], said: str) -> str | None:
    """The letter of the option, or None where it cannot be told: the letter alone, the option's
    own text, a letter that leads, the one option that stands in it, or that shares most words."""
    return (
        letter_alone(choices, said)
        or _of_its_text(choices, said)
        or _leading(choices, said)
        or _only_one_named(choices, said)
        or _of_shared_words(choices, said)
    )


def letter_alone(choices: Mapping[str, str], said: str) -> str | None:
    """The letter, where the answer is nothing else."""
    found = _ALONE.match(said)
    return _letter(choices, found["letter"]) if found else None


def _of_its_text(choices: Mapping[str, str], said: str) -> str | None:
    words = tokens(said)
    same = [letter for letter, text in choices.items() if words and tokens(text) == words]
    return same[0] if len(same) == 1 else None


def _leading(choices: Mapping[str, str], said: str) -> str | None:
    if found := _NAMED.match(said):
        return _letter(choices, found["letter"])
    found = _LEADING.match(said)
    return _letter(choices, found["in_brackets"] or found["letter"]) if found else None


def _only_one_named(choices: Mapping[str, str], said: str) -> str | None:
    words = tokens(said)
    held = [
        letter
        for letter, text in choices.items()
        if (option := tokens(text)) and stands_in(option, words)
    ]
    return held[0] if len(held) == 1 else None


def _letter(choices: Mapping[str, str], written: str) -> str | None:
    return next((letter for letter in choices if letter.casefold() == written.casefold()), None)


def _of_shared_words(choices: Mapping[str, str], said: str) -> str | None:
    words = tokens(said)
    shares = {letter: shared(words, tokens(text)) for letter, text in choices.items() if words}
    most = max(shares.values(), default=0.0)
    best = [letter for letter, share in shares.items() if share == most]
    return best[0] if most > _LEAST_F1 and len(best) == 1 else None
