"""Whether a claim is said word for word: then nobody needs to be asked whether it is supported."""

from __future__ import annotations

import re

_BREAK = "\ue000"
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_SAME = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
_BEFORE = (
    rf"(?:^|{_BREAK} ?|[!?][\"')\]]{{0,3}} |(?:[a-z]{{4}}|\d\d)[\"')\]]{{0,3}}\.[\"')\]]{{0,3}} )"
)
"""Where a sentence begins. A full stop behind a short word may be an abbreviation's; then it is no
beginning, for what stands before it may turn the sense: "it is not true that Dr. Smith left"."""
_AFTER = rf"(?=$| ?{_BREAK}|[\"')\]]{{0,3}} )"
_ENDS = ".!?"


def is_verbatim(claim: str, evidence: str) -> bool:
    """Whether the claim is a run of whole sentences of the evidence, or all of a quote of it.

    Half a sentence does not count: what was left out may be the "not".
    """
    words = claim.translate(_SAME).split()
    if not words:
        return False
    text = _PARAGRAPH.sub(f" {_BREAK} ", evidence.translate(_SAME))
    said = rf"(?: {_BREAK})? ".join(map(re.escape, words))
    ended = said if words[-1].rstrip("\"')]")[-1:] in _ENDS else _without_stop(said)
    return re.search(_BEFORE + ended + _AFTER, " ".join(text.split())) is not None


def _without_stop(said: str) -> str:
    """A claim without a full stop must end where the sentence or the paragraph does."""
    return rf"{said}(?:[.!?](?![^\s\"')\]])|(?=$| ?{_BREAK}))"
