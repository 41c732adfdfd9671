"""What models write where a verdict, a letter or a few words are wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from secondlook.answer import Met

_LONGEST = 600
_UNMET: Final = re.compile(r"\b(?:not[ _-]*met|unmet|no|false|fails?|does not fit)\b")
_MET: Final = re.compile(r"\b(?:met|yes|true|holds|fits)\b")
_UNKNOWN: Final = re.compile(r"\b(?:unknown|unclear|not (?:stated|known|clear))\b")
_LEADING = re.compile(
    r"\W*(?:(?:the )?(?:correct )?(?:answer|option|choice)(?: is)?\W*)?([a-z])(?:[).:\]]|\W*$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_COPIED: Final = 0.5
"""Share of words from which on an option was copied."""
_CAPITAL = re.compile(r"\b([A-Z])\b")


def met_of(value: Any) -> Met:
    """`Met`, `not_met`, `no`, `true`; unknown is what cannot be read."""
    said = str(value).strip().casefold().replace("_", " ")
    if _UNKNOWN.search(said):
        return "unknown"
    if _UNMET.search(said):
        return "not met"
    return "met" if _MET.search(said) else "unknown"


def letter_of(value: Any, letters: Collection[str]) -> str | None:
    """`C`, `(c)`, `Option C`, `C. No, if ...`, `It is C`; None where it names none of the letters,
    or several."""
    said = str(value).strip()
    known = {one.upper(): one for one in letters}
    if leading := _LEADING.match(said):
        return known.get(leading[1].upper())
    named = {known[letter] for letter in _CAPITAL.findall(said) if letter in known}
    return named.pop() if len(named) == 1 else None


def option_of(said: str, options: Mapping[str, str]) -> str | None:
    """The letter of the option that is named, or whose words are copied; None where none is, or
    several."""
    if _LEADING.match(said):
        return letter_of(said, options)
    likes = {letter: shared_words(said, text) for letter, text in options.items()}
    best = max(likes.values(), default=0.0)
    alike = [letter for letter, like in likes.items() if like == best]
    if best >= _COPIED and len(alike) == 1:
        return alike[0]
    return letter_of(said, options)


def shared_words(one: str, other: str) -> float:
    """How far two texts have the same words, from 0 to 1 (F1)."""
    first, second = set(_WORD.findall(one.casefold())), set(_WORD.findall(other.casefold()))
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def said_of(value: Any) -> str:
    """A line of text, whatever stands there."""
    return " ".join(str(value).split())[:_LONGEST] if isinstance(value, str | int | float) else ""
