"""How far a phrase names a column, by its letters and words alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from secondlook.tables.resolving.words import atoms, content, squeezed

if TYPE_CHECKING:
    from secondlook.answer import ResolvedHow

CASE, STEMS, SHORT, PARTS, LETTERS = 0.98, 0.93, 0.85, 0.9, 0.9
"""What a likeness is worth: up to case and signs, up to endings, an abbreviation, words shared,
letters shared."""
NEARLY = 0.8
GENERIC = frozenset({"pct", "num", "total", "avg", "amt", "value", "rate", "level", "column"})
FEWEST_LETTERS = 0.8
"""Of the letters must agree, in their order, before a name counts as misspelt."""
SHORTEST_PREFIX = 3
LEAST_LEFT = 2
UNIT = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])\s*$")
"""`Price (USD)`, `Weight [kg]`: a unit is no part of what a column is called."""
WITHOUT_UNIT = 0.99
"""What leaving it out keeps of a likeness: a column of just that name comes first."""


@dataclass(frozen=True, slots=True)
class Name:
    """A column's name, taken apart once."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    squeezed: str
    bare: Name | None = None
    """Without its unit, where it has one."""

    @classmethod
    def of(cls, text: str) -> Name:
        words = [atom.text for atom in atoms(text)]
        return cls(text, tuple(words), tuple(content(words) or words), squeezed(text))

    def with_bare(self) -> Name:
        """That may be called without its unit."""
        bare = UNIT.sub("", self.text)
        return replace(self, bare=Name.of(bare)) if bare and bare != self.text else self


def likeness(phrase: Name, column: Name, *, whole: bool = False) -> tuple[float, ResolvedHow]:
    """`whole`: words that only one of them has make them different."""
    found = _likeness(phrase, column, whole=whole)
    if column.bare is None:
        return found
    score, how = _likeness(phrase, column.bare, whole=whole)
    return max(found, (WITHOUT_UNIT * score, "case" if how == "exact" else how))


def _likeness(phrase: Name, column: Name, *, whole: bool) -> tuple[float, ResolvedHow]:
    if phrase.text == column.text:
        return 1.0, "exact"
    if phrase.squeezed and phrase.squeezed == column.squeezed:
        return CASE, "case"
    if phrase.stems and sorted(phrase.stems) == sorted(column.stems):
        return STEMS, "fuzzy"
    parts = 0.0 if whole else _parts(phrase, column)
    found = (_abbreviated(phrase, column), _but_for_generic(phrase, column), parts)
    return max(*found, _letters(phrase, column)), "fuzzy"


def _but_for_generic(phrase: Name, column: Name) -> float:
    """`discount` for `discount_pct`: words such as these tell no columns apart."""
    left = [one for one in column.stems if one not in GENERIC]
    return NEARLY if left and left != list(column.stems) and left == list(phrase.stems) else 0.0


def is_short_for(short: str, long: str) -> bool:
    """`temp` for `temperature`."""
    return (
        len(short) >= SHORTEST_PREFIX
        and len(long) >= len(short) + LEAST_LEFT
        and long.startswith(short)
    )


def same_word(one: str, other: str) -> bool:
    return one == other or is_short_for(one, other) or is_short_for(other, one)


def _abbreviated(phrase: Name, column: Name) -> float:
    """Each word short for the other's, initials, or an initial and the last word (`pclass`)."""
    if len(phrase.stems) == len(column.stems) and all(
        same_word(one, other) for one, other in zip(phrase.stems, column.stems, strict=True)
    ):
        return SHORT
    words = phrase.stems
    if len(words) > 1:
        initials = "".join(word[0] for word in words)
        if initials == column.squeezed and len(initials) >= SHORTEST_PREFIX:
            return SHORT
        if initials[:-1] + words[-1] == column.squeezed:
            return SHORT
    return 0.0


def _parts(phrase: Name, column: Name) -> float:
    """By the words that both have: all of one of them must be among the other's."""
    if not phrase.stems or not column.stems:
        return 0.0
    in_column = sum(any(same_word(a, b) for b in phrase.stems) for a in column.stems)
    in_phrase = sum(any(same_word(a, b) for b in column.stems) for a in phrase.stems)
    shares = in_column / len(column.stems), in_phrase / len(phrase.stems)
    return PARTS * (0.6 * max(shares) + 0.4 * min(shares)) * min(1.0, sum(shares))


def _letters(phrase: Name, column: Name) -> float:
    one, other = phrase.squeezed, column.squeezed
    if min(len(one), len(other)) < SHORTEST_PREFIX + 1 or abs(len(one) - len(other)) > len(one) / 3:
        return 0.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < FEWEST_LETTERS or matcher.quick_ratio() < FEWEST_LETTERS:
        return 0.0
    ratio = matcher.ratio()
    return LETTERS * ratio if ratio >= FEWEST_LETTERS else 0.0
