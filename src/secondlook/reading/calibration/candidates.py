"""The scores of passages, and the features of an answer or a search that are made from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEST = 5
"""Only so many of the best passages are looked at, however many are given."""
_LOGIT = 20.0
"""Scores beyond it say no more than it; a model gone wrong must not run away with the sum."""
_ABSENT = -9.0
"""Relevance of a passage that is not there: what the fifth best typically has."""
_FIRST = 3
_MOST_WINDOWS = 16


@dataclass(frozen=True, slots=True)
class Candidate:
    """The scores of one passage: the reader's, as it gave them, and those of the searches."""

    relevance: float
    answerable: float
    span_score: float
    null_score: float
    score: float
    """By which the candidates are ranked: searches and reader together."""
    fusion_score: float
    """Of the searches alone; 1.0 for what is first in both."""
    dense_rank: int | None = None
    lexical_rank: int | None = None
    windows: int = 1
    """Over how many windows the reader read the passage."""

    @property
    def margin(self) -> float:
        """How far the best span lies above "no answer here"."""
        return self.span_score - self.null_score

    @property
    def is_finite(self) -> bool:
        scores = (self.relevance, self.answerable, self.margin, self.score, self.fusion_score)
        return all(math.isfinite(score) for score in scores)

    @property
    def in_both(self) -> bool:
        """Whether both searches rank it high."""
        ranks = (self.dense_rank, self.lexical_rank)
        return all(rank is not None and rank <= BEST for rank in ranks)


def choose(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> int | None:
    """The place, among the best five, of the highest weighted sum of features."""

    def worth(at: int) -> float:
        features = answer_features(candidates, at)
        return sum(weight * features[name] for name, weight in weights.items())

    return max(sound(candidates), key=lambda at: (worth(at), -at), default=None)


def answer_features(candidates: Sequence[Candidate], chosen: int) -> dict[str, float]:
    """What an answer is chosen by, and the probability that it is right is made from.

    All that may count; which of them do is said by the names of the weights in a calibration.
    """
    one = candidates[chosen]
    best = [candidates[at] for at in sound(candidates)] or [one]
    relevance = _relevance(best)
    return {
        "relevance": _bounded(one.relevance),
        "answerable": _bounded(one.answerable),
        "margin": _bounded(one.margin),
        # Below "no answer here" a point of margin counts otherwise than above it.
        "shortfall": min(0.0, _bounded(one.margin)),
        "score": one.score,
        "fusion": one.fusion_score,
        "windows": math.log2(max(1, min(one.windows, _MOST_WINDOWS))),
        "in_both": float(one.in_both),
        "best_relevance": relevance[0],
        "best_answerable": max(_bounded(other.answerable) for other in best),
        "lead": _lead(relevance),
        "agreement": _agreement(best),
    }


def quality_features(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What the probability of having found what answers is made from."""
    best = [candidates[at] for at in sound(candidates)]
    relevance = _relevance(best)
    return {
        "relevance": relevance[0],
        "answerable": max(_bounded(one.answerable) for one in best),
        "margin": max(_bounded(one.margin) for one in best),
        "lead": _lead(relevance),
        "fusion": best[0].fusion_score,
        "agreement": _agreement(best),
    }


def sound(candidates: Sequence[Candidate]) -> list[int]:
    """Places of those among the best whose scores are numbers."""
    return [at for at, one in enumerate(candidates[:BEST]) if one.is_finite]


def _relevance(best: Sequence[Candidate]) -> list[float]:
    """Highest first."""
    return sorted((_bounded(one.relevance) for one in best), reverse=True)


def _lead(relevance: Sequence[float]) -> float:
    """Of the most relevant passage over the third."""
    third = relevance[_FIRST - 1] if len(relevance) >= _FIRST else _ABSENT
    return max(0.0, relevance[0] - third)


def _agreement(best: Sequence[Candidate]) -> float:
    return sum(one.in_both for one in best) / BEST


def _bounded(logit: float) -> float:
    return max(-_LOGIT, min(_LOGIT, logit))
