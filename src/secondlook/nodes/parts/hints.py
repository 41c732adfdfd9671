"""Whether a question may need several facts though no form tells them: worth asking a model."""

from __future__ import annotations

import re
from typing import Final

from secondlook.nodes.follow_up import names
from secondlook.nodes.parts.wording import LONGEST, clean, options

_TWO_NAMES: Final = 2
_COMPARING = re.compile(
    r"\b(?:in common|do(?:es)? .+ share|the same|differ(?:ence|ent)?|than|together|combined|"
    r"in total|more|fewer|both|older|younger|earlier|later|between)\b",
    re.IGNORECASE,
)
_CHOOSING = re.compile(
    r"(?:which|who|what|is|was|did|does)\b.*[,:;] (?P<options>[^,]+ or [^,]+)", re.IGNORECASE
)
_DESCRIBING = re.compile(
    r"\b(?:the|an?) (?:[\w'-]+ ){1,5}?(?:that|which|who|whose|where|in which) .*"
    r"|\b(?:the|an?) [\w' -]+? (?:founded|directed|written|produced|created|composed|owned|"
    r"starring|featuring|featured|based) (?:by |on |in )?.*",
    re.IGNORECASE,
)
_ONLY_NAMED = re.compile(
    r"(?:what|who|which)(?: (?:is|was|are|were)| \w+){0,3}?(?: the)? "
    r"(?:names?|person|people|one|ones)\b",
    re.IGNORECASE,
)
_YEARS = re.compile(
    r"\bhow many (?:years|days|months)\b.*\b(?:after|before|between|until)\b", re.IGNORECASE
)


def needs_more(question: str) -> bool:
    """A cheap signal, right more often than not; a plain question has none."""
    text = clean(question)
    if not text or len(text) > LONGEST:
        return False
    known = list(names(text[:1].lower() + text[1:]))
    if _YEARS.search(text) and known:
        return True
    if (found := _CHOOSING.fullmatch(text)) and options(found["options"]):
        return True
    if sum(1 + name.count(" and ") for name in known) >= _TWO_NAMES and _COMPARING.search(text):
        return True
    return _describes(text)


def _describes(text: str) -> bool:
    """Something is asked about a thing that is only described, by a name of another."""
    if _ONLY_NAMED.match(text):
        return False
    found = _DESCRIBING.search(text, len("Who is the "))
    return found is not None and any(True for _ in names(found[0][4:]))
