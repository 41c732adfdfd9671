"""Whether words are used or only spoken of, and whether they are an order or a report."""

from __future__ import annotations

import re
from typing import Literal

Stance = Literal["direct", "joined", "loose"]
"""An order of its own; one joined to another clause by "and"; or part of a statement."""

_STARTS = re.compile(
    r"(?:^|[.!?:;,\n>()\[\]{}\"'*|/=#-]|<!)\s*(?:(?:please|now|then|but|just|so|also|first|instead"
    r"|kindly|stop|ok|okay|actually|however|finally|simply|always|never|bitte|nun|jetzt)\W\s*)*$"
)
_ADDRESSED = re.compile(
    r"\b(?:you (?:must|should|have to|need to|will|shall|are to|are required to|to|now)"
    r"|(?:can|could|would|will) you(?: please| kindly| also| at least)?"
    r"|please|must now|you must now|let'?s|now|instead)\s+$"
)
_JOINED = re.compile(r"\b(?:and|then|but|or|also)\s+$")
_NEGATED = re.compile(r"\b(?:don'?t|do not|never|not|cannot|can'?t)\s+$")
_BEFORE = 48

_QUOTED = re.compile(r"(?<!\w)([\"'])(?=\S)([^\"\n]{3,160}?)(?<=\S)\1(?!\w)")
_SPOKEN_OF = re.compile(
    r"\b(?:means?|meaning|meant|phrases?|sentences?|terms?|wording|words|expressions?|strings?"
    r"|injections?|jailbreaks?|attacks?|attackers?|examples?|called|known as|quoted?|titled?"
    r"|detect\w*|filter\w*|classif\w*|block\w*|contain\w*|such as|like|define\w*|definition"
    r"|origin|refers?|instruct(?:s|ed)|tells?|told|said|says?|orders|ordered|asks?|asked|wrote|writes?|written|read|reads"
    r"|held|ruled|argued?|according|paper|papers|stud(?:y|ies)|song|book|film|novel|lyrics?)\b"
)


def stance(text: str, start: int) -> Stance:
    """How the words that begin at `start` of a plain text stand in their sentence."""
    before = text[max(0, start - _BEFORE) : start]
    if _NEGATED.search(before):
        return "loose"
    if _STARTS.search(before) or _ADDRESSED.search(before):
        return "direct"
    return "joined" if _JOINED.search(before) else "loose"


def mentions(text: str) -> list[tuple[int, int]]:
    """Short quotations in sentences that speak of them. A long one may be a whole document."""
    found = []
    for quoted in _QUOTED.finditer(text):
        first, last = _sentence(text, *quoted.span())
        around = text[first : quoted.start()] + " " + text[quoted.end() : last]
        if _SPOKEN_OF.search(around):
            found.append(quoted.span(2))
    return found


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    first = max((text.rfind(mark, 0, start) for mark in ".!?\n"), default=-1) + 1
    ends = [at for mark in ".!?\n" if (at := text.find(mark, end)) >= 0]
    return first, min(ends, default=len(text))
