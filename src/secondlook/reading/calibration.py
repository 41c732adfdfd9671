"""What the reader's scores are worth: which span to answer with, how likely it is right, and
whether a search has found what answers.

The coefficients and thresholds lie in `calibration.json`, made by `benchmarks/calibrate.py` for
one reader. Of another reader's scores nothing is known: probabilities are then None, and who asks
decides without them. docs/confidence.md says what was measured, and on what.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEST = 5
"""Only so many of the best passages are looked at, however many are given."""
_LOGIT = 20.0
"""Scores beyond it say no more than it; a model gone wrong must not run away with the sum."""
_ABSENT = -9.0
"""Relevance of a passage that is not there: what the fifth best typically has."""
_CLEAR_LEAD = 3.0
_FIRST = 3


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

    @property
    def margin(self) -> float:
        """How far the best span lies above "no answer here"."""
        return self.span_score - self.null_score


@dataclass(frozen=True, slots=True)
class Logistic:
    """A probability from named features."""

    bias: float
    weights: Mapping[str, float]

    def logit(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def probability(self, features: Mapping[str, float]) -> float:
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.logit(features)))))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known about the scores of one reader. Candidates are given best first."""

    reader: str
    label: Literal["calibrated", "uncalibrated"]
    choice: Mapping[str, float]
    """How much each feature of an answer counts when one is chosen; none, and the first is."""
    answer: Logistic
    quality: Logistic
    min_answer: float
    """An answer less likely to be right than this is withheld."""
    min_quality: float
    """A search less likely than this to have found what answers is worth another one."""
    min_web_quality: float
    """And below this the library looks empty-handed."""

    def best_answer(self, candidates: Sequence[Candidate]) -> int | None:
        """Index of the passage whose span to answer with; None when there is none.

        An order needs no probabilities, so this holds for any reader. Ties go to the better ranked.
        """
        return choose(candidates, self.choice)

    def answer_probability(self, candidates: Sequence[Candidate], chosen: int) -> float | None:
        """How likely the span of the chosen passage is a right answer."""
        if self.label == "uncalibrated" or not _finite(candidates[chosen]):
            return None
        return self.answer.probability(answer_features(candidates[chosen]))

    def retrieval_quality(self, candidates: Sequence[Candidate]) -> float | None:
        """How likely a passage that answers is among the first five; 0 when nothing was found."""
        if self.label == "uncalibrated":
            return None
        if not _sound(candidates):
            return 0.0
        return self.quality.probability(quality_features(candidates))

    def reasons(self, candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
        """What speaks for or against an answer from the chosen passage, in a few words each."""
        return (
            *_about_passage(candidates[chosen]),
            *_about_rivals(candidates, chosen),
            _about_searches(candidates[chosen]),
            *_about_calibration(self),
        )


def load_calibration(reader: str) -> Calibration:
    """The calibration of the reader with this name; for any other one labelled "uncalibrated",
    with the same thresholds and no probabilities to hold against them."""
    made = _made()
    return Calibration(
        reader=reader,
        label="calibrated" if reader == made["reader"] else "uncalibrated",
        choice=made["choice"],
        answer=_logistic(made["answer"]),
        quality=_logistic(made["quality"]),
        min_answer=made["thresholds"]["answer"],
        min_quality=made["thresholds"]["quality"],
        min_web_quality=made["thresholds"]["web_quality"],
    )


def choose(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> int | None:
    """The place, among the best five, of the highest weighted sum of features."""

    def worth(at: int) -> float:
        features = answer_features(candidates[at])
        return sum(weight * features[name] for name, weight in weights.items())

    return max(_sound(candidates), key=lambda at: (worth(at), -at), default=None)


def answer_features(one: Candidate) -> dict[str, float]:
    """What an answer is chosen by, and the probability that it is right is made from."""
    return {
        "relevance": _bounded(one.relevance),
        "answerable": _bounded(one.answerable),
        "margin": _bounded(one.margin),
        "score": one.score,
    }


def quality_features(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What the probability of having found what answers is made from."""
    best = [candidates[at] for at in _sound(candidates)]
    relevance = sorted((_bounded(one.relevance) for one in best), reverse=True)
    third = relevance[_FIRST - 1] if len(relevance) >= _FIRST else _ABSENT
    return {
        "relevance": relevance[0],
        "lead": max(0.0, relevance[0] - third),
        "fusion": best[0].fusion_score,
        "agreement": sum(_in_both(one) for one in best) / BEST,
    }


def _sound(candidates: Sequence[Candidate]) -> list[int]:
    """Places of those among the best whose scores are numbers."""
    return [at for at, one in enumerate(candidates[:BEST]) if _finite(one)]


def _finite(one: Candidate) -> bool:
    scores = (one.relevance, one.answerable, one.margin, one.score, one.fusion_score)
    return all(math.isfinite(score) for score in scores)


def _bounded(logit: float) -> float:
    return max(-_LOGIT, min(_LOGIT, logit))


def _in_both(one: Candidate) -> bool:
    ranks = (one.dense_rank, one.lexical_rank)
    return all(rank is not None and rank <= BEST for rank in ranks)


def _about_passage(one: Candidate) -> tuple[str, str]:
    relevant = "reads as relevant" if one.relevance > 0 else "does not read as relevant"
    found = "seems to hold an answer" if one.margin > 0 else "may hold no answer"
    return f"the passage {relevant} ({one.relevance:.1f})", f"it {found} ({one.margin:+.1f})"


def _about_rivals(candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
    """Nothing where the passage itself is beside the point, or the only one."""
    own = candidates[chosen].relevance
    rivals = [candidates[at].relevance for at in _sound(candidates) if at != chosen]
    if not rivals or own <= 0:
        return ()
    if own - max(rivals) >= _CLEAR_LEAD:
        return (f"no other passage comes near it ({max(rivals):.1f})",)
    return (f"another passage is about as relevant ({max(rivals):.1f})",)


def _about_searches(one: Candidate) -> str:
    if _in_both(one):
        return "both searches rank it high"
    if one.dense_rank is not None and one.dense_rank <= BEST:
        return "it is found by meaning rather than by words"
    if one.lexical_rank is not None and one.lexical_rank <= BEST:
        return "it is found by words rather than by meaning"
    return "neither search ranks it high"


def _about_calibration(calibration: Calibration) -> tuple[str, ...]:
    if calibration.label == "calibrated":
        return ()
    return (f"no probability: the reader {calibration.reader!r} has not been calibrated",)


def _logistic(made: Mapping[str, Any]) -> Logistic:
    return Logistic(bias=made["bias"], weights=made["weights"])


@lru_cache(maxsize=1)
def _made() -> dict[str, Any]:
    text = files("secondlook.reading").joinpath("calibration.json").read_text("utf-8")
    made: dict[str, Any] = json.loads(text)
    return made
