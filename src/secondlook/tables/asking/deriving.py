"""New columns that a question describes: a difference, a sum, a ratio of others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.tables.asking.options import sentences
from secondlook.tables.query import Term
from secondlook.tables.resolving.words import atoms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Arithmetic
    from secondlook.tables.resolving.port import Mention

NEW = re.compile(
    r"\b(?:new|additional|derived) (?:column|feature|variable|attribute|field)\b"
    r"|\b(?:create|add|generate|derive|define)\w*\b[^.\n]{0,30}\b(?:column|feature|variable)\b",
    re.IGNORECASE,
)
NAMED = re.compile(
    r"\b(?:called|named|as|:)?\s*[\"'\u201c`]([^\"'\u201c\u201d`\n]{2,60})[\"'\u201d`]",
    re.IGNORECASE,
)
CUES: tuple[tuple[Arithmetic, str, bool], ...] = (
    ("-", r"\bsubtract\w*\b", True),
    ("-", r"\bdifferences?\b", False),
    ("/", r"\b(?:ratio|divid\w*|quotient)\b", False),
    ("*", r"\b(?:product of|multipl\w*)\b", False),
    (
        "+",
        r"\b(?:sum(?:s|med|ming)? (?:of|up)?|add(?:ing|ed)?(?: up)?|plus|total of|combin\w*)",
        False,
    ),
)
"""Operator, what says it, and whether the order is reversed: subtract A from B is B - A."""
_AROUND = r"[\s\"'\u201c\u201d`()]*(?:columns?)?\s*"
_SIGN = r"[-+*/\u2212\u00d7]|multiplied by|times|divided by|plus|minus|added to"
FORMULA = re.compile(rf"^{_AROUND}({_SIGN})\s*(?:the )?{_AROUND}$", re.IGNORECASE)
SPELT: dict[str, Arithmetic] = {
    "+": "+",
    "-": "-",
    "*": "*",
    "/": "/",
    "multiplied by": "*",
    "times": "*",
    "\u00d7": "*",
    "divided by": "/",
    "plus": "+",
    "added to": "+",
    "minus": "-",
    "\u2212": "-",
}


@dataclass(frozen=True, slots=True)
class Derived:
    name: str
    term: Term
    spans: tuple[tuple[int, int], ...]
    """What of the text says it."""
    columns: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        return frozenset(atom.text for atom in atoms(self.name))


def derived_in(text: str, mentions: Sequence[Mention]) -> Derived | None:
    """The first new column of the text; None where there is none or it is not understood."""
    start = NEW.search(text)
    if start is None:
        return None
    name, term = _name(text, start.start(), mentions), None
    spans = [match.span() for match in NEW.finditer(text)]
    for span in sentences(text):
        if span[1] <= start.start():
            continue
        within = [one for one in mentions if span[0] <= one.start < span[1]]
        found = _formula(text, within) or _described(text, span, within)
        if found is not None:
            spans += [(one.end, two.start) for one, two in pairwise(within)]
            spans += [(one.start(), one.end()) for one in _cues(text, span)]
            spans += [match.span() for match in NAMED.finditer(text, *span)]
            term = term or found
    if term is None:
        return None
    columns = (term.column, *(one for one in (term.other,) if isinstance(one, str)))
    columns += tuple(one for _, one in term.rest if isinstance(one, str))
    return Derived(name, term, tuple(spans), columns)


def _cues(text: str, span: tuple[int, int]) -> list[re.Match[str]]:
    patterns = [re.compile(pattern, re.IGNORECASE) for _, pattern, _ in CUES]
    return [match for one in patterns for match in one.finditer(text, *span)]


def _name(text: str, start: int, mentions: Sequence[Mention]) -> str:
    columns = {one.resolved.column for one in mentions if one.resolved.how == "exact"}
    for match in NAMED.finditer(text, start):
        if match[1] not in columns:
            return match[1]
    return "new column"


def _formula(text: str, mentions: Sequence[Mention]) -> Term | None:
    """`A - B`, spelt out."""
    for one, other in pairwise(mentions):
        sign = FORMULA.match(text[one.end : other.start])
        if sign is not None:
            operator = SPELT[sign[1].lower()]
            return Term(column=one.resolved.column, operator=operator, other=other.resolved.column)
    return None


def _described(text: str, span: tuple[int, int], mentions: Sequence[Mention]) -> Term | None:
    for operator, pattern, reverse in CUES:
        for cue in re.compile(pattern, re.IGNORECASE).finditer(text, *span):
            columns = _after(mentions, cue.end())
            if len(columns) < 2:  # noqa: PLR2004
                continue
            if operator == "+":
                first, second, *rest = columns
                more: tuple[tuple[Arithmetic, str], ...] = tuple(("+", one) for one in rest)
                return Term(column=first, operator="+", other=second, rest=more)
            first, second = columns[:2]
            if reverse:
                first, second = second, first
            return Term(column=first, operator=operator, other=second)
    return None


def _after(mentions: Sequence[Mention], at: int) -> list[str]:
    named = (one.resolved.column for one in mentions if one.start >= at)
    return list(dict.fromkeys(named))
