"""Whether a question asks for a meaning or for a measure, by its words."""

from __future__ import annotations

import re

from secondlook.nodes.concepts.glossary import entries_in, entry_for

_CONCEPT = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:"
    r"what(?:'s|\u2019s| is| are| does| do)?\s+(?:is\s+|are\s+)?(?:meant by\s+|an?\s+)"
    r"|what\s+(?:does|do)\s+.{1,60}?\s+mean\b"
    r"|(?:explain|define|describe)\s+(?:what\s+|how\s+|why\s+|the (?:term|concept|idea|notion|"
    r"difference|meaning)|an?\s+)"
    r"|explain\s+\w+(?:\s+\w+)?\W*$"
    r"|what(?:'s|\u2019s| is) the (?:meaning|definition|purpose|point)\b"
    r"|(?:how|why|when)\s+(?:does|do|is|are|should|would)\s+.{0,40}?\b(?:work|used|useful|use|"
    r"matter|interpreted?)\b"
    r")",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^\W*what(?:'s|\u2019s| is| are)\s+(?P<term>[a-z][\w -]{2,40}?)\W*$", re.IGNORECASE
)
_DIFFERENCE = re.compile(r"\bdifference between\b", re.IGNORECASE)
_TERM = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:what(?:'s|\u2019s| is| are| does| do)?|explain|"
    r"define|describe)\s+(?:what\s+|is\s+|are\s+|meant by\s+|the (?:term|concept|idea|notion|"
    r"meaning|definition) (?:of\s+)?|an?\s+|the\s+)*(?P<term>.+?)(?:\s+means?)?"
    r"(?:\s+(?:is|are))?\W*$",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\b(?:average|mean of|the mean \w+|mean \w+ (?:of|by|for|per|in|at|over)|median|total|"
    r"sum of|count|how many|how much|number of|"
    r"percentage of|share of|proportion of|top \d+|highest|lowest|largest|smallest|most|least|"
    r"maximum|minimum|correlation between|distribution of|trend|outliers|missing values|"
    r"calculate|compute|plot|show|list|per|for each|group(?:ed)? by|compare|forecast|predict|"
    r"find|determine|test whether|check (?:if|whether))\b",
    re.IGNORECASE,
)


def asks_for_concept(question: str) -> bool:
    """It is worded as one asks what something means."""
    one_line = " ".join(question.split())
    if _CONCEPT.match(one_line):
        return True
    if _DIFFERENCE.search(one_line):
        return len(entries_in(one_line)) > 1
    bare = _BARE.match(one_line)
    return bare is not None and entry_for(bare["term"]) is not None


def asks_for_data(question: str) -> bool:
    """It asks for a measure of something."""
    return _DATA.search(question) is not None


def term_of(question: str) -> str:
    """What is asked about: the p-value of "What is a p-value?"."""
    found = _TERM.match(" ".join(question.split()))
    return (found["term"] if found else question).strip(" ?.!\"'")
