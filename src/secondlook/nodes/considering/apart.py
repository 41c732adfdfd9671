"""A sentence that asks two things, taken apart into questions of their own. English only."""

from __future__ import annotations

import re
from typing import Final

MOST_PARTS: Final = 4
LONGEST: Final = 1000
"""Characters. What is longer tells a story, and is asked as a whole."""
_WH: Final = "what|which|who|whom|whose|when|where|why|how"
_DO: Final = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should"
_ORDER: Final = "show|plot|draw|chart|list|give|compute|calculate|count|tell|name|find|sum"
_BEFORE: Final = "in|at|on|by|for|to|of|from|with|under"
_ASKS = re.compile(
    rf"\W*(?:(?:please|also|and|then)\s+)*(?:(?:{_BEFORE})\s+)?(?:{_WH}|{_DO}|{_ORDER})\b",
    re.IGNORECASE,
)
_JOINT = re.compile(
    rf"\s*(?:[,;]\s*(?:(?:and|but|plus)\b)?|\b(?:and|but|plus|as well as)\b)\s*(?:also\s+)?"
    rf"(?=(?:(?:{_BEFORE})\s+)?(?:{_WH}|show|plot|draw|list|give|compute|calculate|count)\b)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[?!.;])\s+(?=\S)")
_SHARED = re.compile(
    r"(?P<head>\W*(?:what|which)\s+(?:is|are|was|were)|\W*(?:tell me|give me|show me|compare))\s+"
    r"(?P<one>.+?)\s*,?\s+(?:and|with|to)\s+(?P<other>(?:the|our|its|an?|total|average|mean)\s.+)",
    re.IGNORECASE,
)
_ASKED_AS: Final = {"tell me": "what is", "give me": "what is", "show me": "what is"}
_FEWEST_WORDS: Final = 2


def apart(question: str) -> tuple[str, ...]:
    """The questions that it asks, in its order; one alone where it asks one, or nobody can tell."""
    text = " ".join(question.split())
    if len(text) > LONGEST:
        return (text,)
    pieces = [piece for sentence in _ENDS.split(text) for piece in _JOINT.split(sentence)]
    parts = [_whole(piece) for piece in pieces if piece.strip(" ,;.?!")]
    if not 1 < len(parts) <= MOST_PARTS or not all(map(_is_question, parts)):
        return (text,)
    return tuple(parts)


def shared_head(question: str) -> tuple[str, ...]:
    """`What is the target and the total of sales` as the two questions it is short for. Whoever
    uses it looks whether each of them makes sense: `the law of supply and the demand` is one."""
    text = " ".join(question.split())
    found = _SHARED.fullmatch(text.rstrip("?.! ")) if len(text) <= LONGEST else None
    if found is None:
        return (text,)
    head = found["head"].strip()
    asked = _ASKED_AS.get(head.casefold(), "what is" if head.casefold() == "compare" else head)
    return tuple(_whole(f"{asked} {found[name]}") for name in ("one", "other"))


def _is_question(part: str) -> bool:
    return _ASKS.match(part) is not None and len(part.split()) > _FEWEST_WORDS


def _whole(piece: str) -> str:
    """A piece as one writes a question."""
    bare = piece.strip(" ,;.?!")
    return f"{bare[:1].upper()}{bare[1:]}?"
