"""What a sentence has to do with a question, by its words alone.

A reader's score for one sentence says little below what it takes for an answer. So two plain
things are asked of a sentence that may have been put into a text: does it speak of what the
question speaks of, and does it hold what the question asks for, a figure or a name?
"""

from __future__ import annotations

import re

from secondlook.nodes.screening.mood import is_verb_of_orders
from secondlook.retrieval.analyse import query_terms, terms

_FIGURE_ASKED = re.compile(
    r"\bhow (?:many|much|long|old|far|deep|high|tall|large|big|fast|heavy|often|wide|late|early)\b"
    r"|\bwhen (?:is|are|was|were|do|does|did|will|has|have|had|can|must|should|would)\b"
    r"|\b(?:what|which) (?:year|date|time|day|percentage|share)\b|[$€£%]"
    r"|\b(?:value|amount|(?<!a )number|total|sum|average|price|cost|percentage)s?\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"(?<!,)(?<!, )\b(?:who|whom|whose|which)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|dozen|hundred|thousand|million|billion|half|none|never|annually|monthly"
    r"|weekly|daily)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?:\"'(\s])\s+[\"'(]?[A-Z][\w.-]+|\b[A-Z]{2,}\b|^\W*[A-Z]\w+\W*$")
_FIRST = re.compile(r"\W*([A-Z]\w+)")
_COMMON = frozenset(
    """
    a all although an and another any as at both but by can could do every everything for from
    given he her here his how however if in it its just many may more most my no not nothing now of
    on once one our results she should since so some sometimes that the their then there therefore
    these they this those thus to under we what when where while who why will with would you your
    """.split()  # noqa: SIM905
)
"""What a sentence begins with that is no name."""
_CASED = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"\w+")
_GRAM = 6
_MOSTLY = 0.5
_FEWEST = 2
_SEVERAL = 3


def subject_of(question: str) -> frozenset[str]:
    """What it speaks of: its telling words without those that only ask ("find", "list")."""
    telling = frozenset(query_terms(question))
    return frozenset(word for word in telling if not is_verb_of_orders(word)) or telling


def shared(question: str, claim: str) -> int:
    """How many words of what the question speaks of the claim has."""
    return len(subject_of(question) & set(terms(claim)))


def speaks_of(question: str, claim: str) -> bool:
    """Whether it has half of those words, or several: not by the chance of a single one."""
    known = subject_of(question)
    enough = max(min(_FEWEST, len(known)), _MOSTLY * len(known))
    return shared(question, claim) >= min(_SEVERAL, enough)


def is_of_kind(question: str, claim: str) -> bool | None:
    """Whether it holds a figure or a name where one is asked for; None where neither is."""
    if _FIGURE_ASKED.search(question):
        return _FIGURE.search(claim) is not None
    if _NAME_ASKED.search(question):
        return has_name(claim) or _FIGURE.search(claim) is not None
    return None


def has_name(claim: str) -> bool:
    """A word with a capital inside a sentence, or one that begins it and is no common word. In a
    script without capitals anything may be a name."""
    if not _CASED.search(claim) or _NAME.search(claim):
        return True
    first = _FIRST.match(claim)
    return first is not None and first[1].casefold() not in _COMMON


def repeats(question: str, claim: str) -> bool:
    """Whether it has six words in a row of the question."""
    asked, said = _row(question), _row(claim)
    grams = {asked[at : at + _GRAM] for at in range(len(asked) - _GRAM + 1)}
    return any(said[at : at + _GRAM] in grams for at in range(len(said) - _GRAM + 1))


def _row(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))
