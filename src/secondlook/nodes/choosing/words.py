"""What models write where a verdict, a letter or a few words are wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from secondlook.answer import Met

_LONGEST = 600
_UNMET: Final = re.compile(r"\b(?:not[ _-]*met|unmet|no|false|fails?|does not fit)\b")
_MET: Final = re.compile(r"\b(?:met|yes|true|holds|fits)\b")
_UNKNOWN: Final = re.compile(r"\b(?:unknown|unclear|not (?:stated|known|clear))\b")
_LEADING = re.compile(
    r"\W*(?:(?:the )?(?:correct )?(?:answer|option|choice)(?: is)?\W*)?([a-z])(?:[).:\]]|\W*$)",
    re.IGNORECASE,
)
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


def said_of(value: Any) -> str:
    """A line of text, whatever stands there."""
    return " ".join(str(value).split())[:_LONGEST] if isinstance(value, str | int | float) else ""
