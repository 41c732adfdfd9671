"""Whether a text has a form that no honest sentence has: letters taken apart, words said over and
over, figures in place of letters, a code instead of words."""

from __future__ import annotations

import re

from secondlook.nodes.screening.plain import plain

_WORD = re.compile(r"[^\W_]+")
_REPEATED = re.compile(r"\b(\w{1,20}+)(?:\W++\1\b){4}", re.IGNORECASE)
_UNBROKEN = re.compile(r"(?<![\w/.:-])[A-Za-z0-9+=]{40,}(?![\w/.])")
_BITS = re.compile(
    r"(?:\b[01]{7,8}\b\W*){3}|(?:\\x[0-9a-f]{2}){4}|(?:[.-]{1,5} ){8}", re.IGNORECASE
)
_DISGUISED = 2
"""Words with figures in place of letters."""
_LONG = 12
_VARIETY = 0.34
"""Share of the words of a long text that differ from one another."""


def is_misshapen(text: str) -> bool:
    if _REPEATED.search(text) or _UNBROKEN.search(text) or _BITS.search(text):
        return True
    shown = plain(text)
    if shown.set_apart or shown.hidden or shown.invisible:
        return True
    words = [word.casefold() for word in _WORD.findall(text)]
    said_over = len(words) >= _LONG and len(set(words)) < _VARIETY * len(words)
    return said_over or _disguised(words, shown.text) >= _DISGUISED


def _disguised(words: list[str], read: str) -> int:
    """Words that are read in another spelling than they have."""
    known = set(_WORD.findall(read))
    mixed = (word for word in words if re.search(r"[a-z]\d+[a-z]", word))
    return sum(word not in known for word in mixed)
