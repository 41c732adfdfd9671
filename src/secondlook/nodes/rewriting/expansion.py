"""A query by code, without a model: the question's own words and the terms that set the best
passages apart (a relevance model, as in RM3: Lavrenko and Croft 2001; Abdul-Jaleel et al. 2004).

A term counts by its share of each passage, by the passage's weight, by how near the words of the
question it stands, and by how few of all the passages found have it. Names count more, for they
find what the first search was about.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.nodes.rewriting.wording import (
    Stems,
    is_telling,
    most_words,
    normalised,
    word_count,
)
from secondlook.retrieval.analyse import terms
from secondlook.retrieval.sentences import sentence_starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MOST_TERMS = 4
_NAME_BONUS = 1.5
_SHORTEST = 3
"""Letters of a term."""
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")  # noqa: RUF001


@dataclass(slots=True)
class _Term:
    weight: float = 0.0
    forms: Counter[str] = field(default_factory=Counter)
    """As it is written, how often."""
    capitals: int = 0
    """Times that it has one inside a sentence."""

    @property
    def is_name(self) -> bool:
        return 2 * self.capitals > self.forms.total()

    @property
    def form(self) -> str:
        """The commonest, in small letters where it is no name."""
        best = min(self.forms, key=lambda form: (-self.forms[form], form))
        return best if self.is_name else best.lower()


def expanded(
    question: str,
    passages: Sequence[str],
    weights: Sequence[float],
    *,
    earlier: Sequence[str] = (),
    others: Sequence[str] = (),
    most: int = MOST_TERMS,
    language: str = "english",
) -> str | None:
    """The question's words and at most `most` terms of the passages; None where nothing is new.

    `weights` say how much each passage counts, `earlier` are queries that were searched with (none
    of their terms comes again), and `others` passages that were found too: they tell which terms
    are common.
    """
    own = question.strip().rstrip(" ?!.")
    room = min(most, most_words(question) - word_count(own))
    used = Stems(stem for one in (question, *earlier) for stem in terms(one, language))
    found = _weighed(question, passages, weights, language)
    rarity = _rarity([*passages, *others], language)
    ranked = sorted(
        (stem for stem in found if stem not in used),
        key=lambda stem: (-_worth(found[stem], rarity[stem]), stem),
    )
    query = " ".join([own, *(found[stem].form for stem in _unlike(ranked, room))]).strip()
    tried = {normalised(one, language) for one in (question, *earlier)}
    return None if normalised(query, language) in tried else query


def _worth(term: _Term, rarity: float) -> float:
    return term.weight * rarity * (_NAME_BONUS if term.is_name else 1.0)


def _unlike(ranked: Sequence[str], most: int) -> list[str]:
    """The first ones, without those that say the same as a better one."""
    chosen: list[str] = []
    for stem in ranked:
        if len(chosen) >= most:
            break
        if stem not in Stems(chosen):
            chosen.append(stem)
    return chosen


def _weighed(
    question: str, passages: Sequence[str], weights: Sequence[float], language: str
) -> dict[str, _Term]:
    asked = set(terms(question, language))
    found: defaultdict[str, _Term] = defaultdict(_Term)
    whole = math.fsum(weights) or 1.0
    for passage, weight in zip(passages, weights, strict=True):
        sentences = [list(_words(sentence, language)) for sentence in _sentences(passage)]
        length = max(1, sum(map(len, sentences)))
        for words in sentences:
            shared = len(asked.intersection(stem for stem, _, _ in words))
            for stem, form, capital in words:
                if is_telling(stem, language) and len(stem) >= _SHORTEST:
                    found[stem].weight += weight / whole * (1 + shared) / length
                    found[stem].forms[form] += 1
                    found[stem].capitals += capital
    return found


def _rarity(passages: Collection[str], language: str) -> dict[str, float]:
    """How few of the passages have a term: 0 for one that stands in all of several."""
    having = Counter(stem for passage in passages for stem in set(terms(passage, language)))
    count = len(passages)
    return defaultdict(
        lambda: math.log(1 + count),
        {stem: math.log((1 + count) / number) for stem, number in having.items()},
    )


def _sentences(passage: str) -> Iterator[str]:
    bounds = [0, *sentence_starts(passage), len(passage)]
    return (passage[start:end] for start, end in itertools.pairwise(bounds))


def _words(sentence: str, language: str) -> Iterator[tuple[str, str, bool]]:
    """Stem, word as written, and whether it has a capital that no sentence gave it."""
    begun = False
    for word in _WORD.findall(sentence):
        stems = terms(word, language)
        if len(stems) == 1:
            yield stems[0], re.sub(r"['’]s\Z", "", word), begun and word[0].isupper()  # noqa: RUF001
        begun = True
