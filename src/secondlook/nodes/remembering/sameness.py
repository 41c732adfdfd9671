"""Whether two questions that read alike ask the same.

Vectors cannot tell: "with a warrant" and "without a warrant" are all but the same to them. So two
questions are the same only where their vectors are alike, and every word of the one is accounted
for in the other: names and numbers as they are, other words by stem or by a list of words that
mean the same, and who does what to whom. What nobody accounts for is a difference. That misses
some rewordings, which costs a research; to take a question for its opposite would cost the truth.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes.remembering.asking import (
    NOT,
    PASSIVE,
    Form,
    form_of,
    names_of,
    rewritten,
    stems_of,
)
from secondlook.nodes.remembering.wording import MARKERS, MODALS
from secondlook.retrieval.analyse import language_name

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection

    from secondlook.settings import Settings

_MOST_SHOWN = 4
_ENGLISH = "english"


@dataclass(frozen=True, slots=True)
class Verdict:
    same: bool
    why: str


def same_question(one: str, other: str, similarity: float, settings: Settings) -> Verdict:
    """`similarity` is the cosine of the two questions' vectors."""
    limit = settings.research.memory_similarity
    if not similarity >= limit:
        return Verdict(same=False, why=f"similarity {similarity:.3f} is below {limit:.3f}")
    if _plain(one) == _plain(other):
        return Verdict(same=True, why="the same words")
    if language_name(settings.library.language) != _ENGLISH:
        return Verdict(same=False, why="other words, and only English ones are compared")
    return compared(one, other)


def compared(one: str, other: str) -> Verdict:
    """Two English questions, by their words alone."""
    texts = rewritten(one), rewritten(other)
    names = names_of(texts[0]) | names_of(texts[1])
    known = stems_of(texts[0]), stems_of(texts[1])
    verdict = Verdict(same=False, why="")
    for owning in ("near", "far"):
        forms = (
            form_of(texts[0], names, known[1], owning),
            form_of(texts[1], names, known[0], owning),
        )
        verdict = _held_against(*forms, names)
        if verdict.same:
            return verdict
    return verdict


def _held_against(one: Form, other: Form, names: Collection[str]) -> Verdict:
    if one.tense and other.tense and one.tense.isdisjoint(other.tense):
        return Verdict(same=False, why="one asks about now, the other about the past")
    left, right = one.words(), other.words()
    if left != right:
        return Verdict(same=False, why=_difference(left - right, right - left, names))
    if one.parts != other.parts:
        return Verdict(same=False, why="the same words in another order: who does what may differ")
    return Verdict(same=True, why="the same in other words")


def _difference(left: Counter[str], right: Counter[str], names: Collection[str]) -> str:
    changed = set(left) | set(right)
    shown = f"{_listed(left)} against {_listed(right)}"
    if any(word[:1].isdigit() for word in changed):
        return f"other numbers: {shown}"
    if NOT in changed or "without" in changed:
        return f"one denies what the other does not: {shown}"
    if changed & set(names):
        return f"other names: {shown}"
    if changed & set(MODALS.values()):
        return f"what may be, must be or is: {shown}"
    if changed & {*MARKERS.values(), PASSIVE}:
        return f"put together in another way: {shown}"
    return f"other words: {shown}"


def _listed(words: Counter[str]) -> str:
    shown = [repr(word) for word in sorted(words) if word][:_MOST_SHOWN]
    return ", ".join(shown) or "nothing"


def _plain(question: str) -> str:
    """Without what no question depends on: capitals at its start, white space, its last sign."""
    text = " ".join(unicodedata.normalize("NFKC", question).split()).rstrip(" ?.!")
    return text[:1].casefold() + text[1:]
