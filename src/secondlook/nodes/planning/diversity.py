"""How unlike two wordings are, and how near: an alternative query must be both.

It shares few words with the queries before it, else it finds the same passages again, and stays
near the primary one in meaning, else it finds what nobody asked for. Names and numbers of the
question do not count as shared: every query has to keep them.

Embedders differ in what a cosine of 0.8 means: for the shipped one two texts that have nothing to
do with each other have it. So likeness is a cosine between that of unrelated lines, which is 0, and
that of the same text, which is 1. docs/planning.md says how the limits were chosen.
"""

from __future__ import annotations

import asyncio
import math
import re
from statistics import fmean
from typing import TYPE_CHECKING, Final, Literal

from secondlook.nodes.rewriting.drift import subject
from secondlook.nodes.rewriting.wording import Stems, content, normalised, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context

MOST_SHARED: Final = 0.5
"""Of the words of the shorter wording; more of them, and an alternative repeats."""
LEAST_LIKE: Final = 0.25
"""Likeness to the primary query below which an alternative is about something else."""
SAME_LIKE: Final = 0.8
SAME_SHARED: Final = 0.6
"""Likeness, and share of all their words, from which two questions ask the same."""
Fault = Literal["repeat", "drift"]

_UNRELATED: Final = (
    "The baker sells rye bread and cakes from six in the morning.",
    "Clean the filter of the washing machine once a month.",
    "The orchestra played a symphony by Brahms in the second half.",
    "Wolves hunt in packs and raise their young together.",
    "A comet is a lump of ice and dust that circles the sun.",
    "Mix the paint with water until it runs off the brush.",
    "Our team lost the final by three points after extra time.",
    "Install the printer driver and start the computer again.",
)
_ASKING = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_KIND: Final = {"whom": "who", "whose": "who", "which": "what"}


async def likeness(context: Context, text: str, others: Sequence[str]) -> list[float]:
    """How near in meaning each of the others is to the text; raises whatever an embedder raises."""
    if not others:
        return []
    pairs = [(text, other) for other in (*_UNRELATED, *others)]
    cosines = await asyncio.to_thread(context.shelf.similarity, pairs)
    unrelated = fmean(cosines[: len(_UNRELATED)])
    return [_between(unrelated, cosine) for cosine in cosines[len(_UNRELATED) :]]


def _between(unrelated: float, cosine: float) -> float:
    return (cosine - unrelated) / (1 - unrelated) if unrelated < 1 else math.nan


def shared(one: str, other: str, question: str, language: str) -> float:
    """Share of telling words that both have, of those of the wording that has fewer; 1 where one
    of them has none of its own."""
    named = Stems(stem for name in subject(question, language).names for stem in name.stems)
    mine, theirs = (
        {stem for stem in content(text, language) if stem not in named} for text in (one, other)
    )
    fewer, more = sorted((mine, theirs), key=len)
    kindred = Stems(more)
    return sum(stem in kindred for stem in fewer) / len(fewer) if fewer else 1.0


def fault_of(
    query: str, chosen: Sequence[str], like: float, *, question: str, language: str
) -> Fault | None:
    """What is wrong with an alternative to the queries that were chosen before it. `like` is its
    likeness to the first of them; nan where nobody can tell."""
    if any(shared(query, one, question, language) > MOST_SHARED for one in chosen):
        return "repeat"
    return "drift" if like < LEAST_LIKE else None


def asks_the_same(one: str, other: str, like: float, language: str) -> bool:
    """Whether two questions differ in no more than their wording. They do where they ask for
    another kind of thing or of another number: why and when, in 1904 and in 1953."""
    if _asked_for(one) != _asked_for(other) or numbers(one) != numbers(other):
        return False
    if normalised(one, language) == normalised(other, language):
        return True
    mine, theirs = content(one, language), content(other, language)
    alike = sum(stem in Stems(theirs) for stem in mine) / max(1, len(mine | theirs))
    return like >= SAME_LIKE and alike >= SAME_SHARED


def _asked_for(question: str) -> str:
    first = _ASKING.search(question)
    word = first[0].casefold() if first else ""
    return _KIND.get(word, word)
