"""What the reader's scores are worth: which span to answer with, how likely it is right, from
which probability on it may be given, and whether a search has found what answers.

The coefficients and thresholds are data that belong to one reader, named in them. They are shipped
in `calibration.json`; a library may hold its own. Of another reader's scores nothing is known:
probabilities are then None, and who asks decides without them. docs/confidence.md says what was
measured, and on what.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from secondlook.errors import SecondlookError
from secondlook.reading.logistic import Logistic
from secondlook.reading.risk import RiskTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What is known about the scores of one reader.

RISK_CONFIDENCE = 0.99
"""How sure it must be that `max_risk` is kept."""


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
    min_about: float = 0.0
    """A passage whose relevance is above it is about the question."""
    risk: RiskTable | None = None
    """How often answers were wrong above each probability; None where nobody has counted."""
    source: Literal["shipped", "library"] = "shipped"
    warning: str | None = None
    """Why the library's own calibration is not the one used."""

    def best_answer(self, candidates: Sequence[Candidate]) -> int | None:
        """Index of the passage whose span to answer with; None when there is none.

        An order needs no probabilities, so this holds for any reader. Ties go to the better ranked.
        """
        return choose(candidates, self.choice)

    def answer_probability(self, candidates: Sequence[Candidate], chosen: int) -> float | None:
        """How likely the span of the chosen passage is a right answer."""
        if self.label == "uncalibrated" or not candidates[chosen].is_finite:
            return None
        return self.answer.probability(answer_features(candidates, chosen))

    def retrieval_quality(self, candidates: Sequence[Candidate]) -> float | None:
        """How likely a passage that answers is among the first five; 0 when nothing was found."""
        if self.label == "uncalibrated":
            return None
        if not sound(candidates):
            return 0.0
        return self.quality.probability(quality_features(candidates))

    def risk_threshold(
        self, max_risk: float, *, confidence: float = RISK_CONFIDENCE
    ) -> float | None:
        """The probability from which on answers are wrong at most so often, which is true with
        this confidence; None where nothing can be promised."""
        if self.label == "uncalibrated" or self.risk is None:
            return None
        return self.risk.threshold(max_risk, confidence=confidence)

    def reasons(self, candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
        """What speaks for or against an answer from the chosen passage, in a few words each."""
        said = explained(candidates, chosen)
        if self.label == "calibrated":
            return said
        return (*said, f"no probability: the reader {self.reader!r} has not been calibrated")


# The scores of passages, and the features of an answer or a search that are made from them.

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


# What speaks for or against an answer, in a few words each.

_CLEAR_LEAD = 3.0


def explained(candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
    """About an answer from the chosen passage."""
    one = candidates[chosen]
    relevant = "reads as relevant" if one.relevance > 0 else "does not read as relevant"
    found = "seems to hold an answer" if one.margin > 0 else "may hold no answer"
    return (
        *(f"the passage {relevant} ({one.relevance:.1f})", f"it {found} ({one.margin:+.1f})"),
        *_about_rivals(candidates, chosen),
        _about_searches(candidates[chosen]),
    )


def _about_rivals(candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
    """Nothing where the passage itself is beside the point, or the only one."""
    own = candidates[chosen].relevance
    rivals = [candidates[at].relevance for at in sound(candidates) if at != chosen]
    if not rivals or own <= 0:
        return ()
    if own - max(rivals) >= _CLEAR_LEAD:
        return (f"no other passage comes near it ({max(rivals):.1f})",)
    return (f"another passage is about as relevant ({max(rivals):.1f})",)


def _about_searches(one: Candidate) -> str:
    if one.in_both:
        return "both searches rank it high"
    if one.dense_rank is not None and one.dense_rank <= BEST:
        return "it is found by meaning rather than by words"
    if one.lexical_rank is not None and one.lexical_rank <= BEST:
        return "it is found by words rather than by meaning"
    return "neither search ranks it high"


# Calibrations as files: the one that is shipped, and those that libraries hold.

FORMAT = 1
CALIBRATION_FILE = "calibration.json"
"""Its name in a library."""
_AGAIN = "secondlook calibrate makes a new one"
_NOTHING = Candidate(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class CalibrationError(SecondlookError):
    """A calibration cannot be used."""


class CalibrationMismatch(CalibrationError):
    """It was made for another reader."""


def load_calibration(reader: str, own: Path | None = None) -> Calibration:
    """The calibration of the reader with this name: the one in the file `own` where that is there
    and belongs to it, else the shipped one. For any other reader it is labelled "uncalibrated",
    with the same thresholds and no probabilities to hold against them."""
    calibration = _shipped()
    label: Literal["calibrated", "uncalibrated"] = (
        "calibrated" if calibration.reader == reader else "uncalibrated"
    )
    shipped = replace(calibration, reader=reader, label=label)
    if own is None:
        return shipped
    try:
        changed = own.stat().st_mtime_ns
    except OSError:
        return shipped
    try:
        return replace(_read_once(own, changed, reader), source="library")
    except CalibrationError as refused:
        return replace(shipped, warning=f"{refused.message}: not used; run secondlook calibrate")


def read_calibration(file: Path, *, reader: str | None = None) -> Calibration:
    """The calibration in a file. With a `reader`, one that belongs to another is refused."""
    try:
        made = json.loads(file.read_text("utf-8"))
        found = _calibration(made)
    except OSError as error:
        raise CalibrationError(f"{str(file)!r} cannot be read: {error}", hint=_AGAIN) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CalibrationError(
            f"{str(file)!r} is no calibration that this version knows: {error!r}", hint=_AGAIN
        ) from error
    if reader is not None and found.reader != reader:
        raise CalibrationMismatch(
            f"the library's calibration belongs to reader {found.reader}, not {reader}",
            hint=_AGAIN,
        )
    return found


def save_calibration(
    file: Path,
    calibration: Calibration,
    *,
    made: str,
    by: str,
    data: Mapping[str, Any],
    reliability: Mapping[str, Any] | None = None,
) -> None:
    """Write it, whole or not at all. `made` is the day, `by` the command, `data` what it was made
    from, `reliability` what the probabilities were worth before and after."""
    content = calibration_data(calibration, made=made, by=by, data=data, reliability=reliability)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def calibration_data(
    calibration: Calibration,
    *,
    made: str,
    by: str,
    data: Mapping[str, Any],
    reliability: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a file holds."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "reader": calibration.reader,
        "made": made,
        "by": by,
        "data": dict(data),
        "choice": dict(calibration.choice),
        "answer": _logistic_data(calibration.answer),
        "quality": _logistic_data(calibration.quality),
        "thresholds": {
            "answer": calibration.min_answer,
            "quality": calibration.min_quality,
            "web_quality": calibration.min_web_quality,
            "about": calibration.min_about,
        },
    }
    if calibration.risk is not None:
        content["risk"] = calibration.risk.as_data()
    if reliability is not None:
        content["reliability"] = dict(reliability)
    return content


def _logistic_data(model: Logistic) -> dict[str, Any]:
    return {"bias": model.bias, "weights": dict(model.weights)}


def _calibration(made: Mapping[str, Any]) -> Calibration:
    if made.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is {made['format']!r}, not {FORMAT}")
    known = answer_features([_NOTHING], 0)
    thresholds = made["thresholds"]
    risk = made.get("risk")
    return Calibration(
        reader=str(made["reader"]),
        label="calibrated",
        choice=_weights(made["choice"], known),
        answer=_logistic(made["answer"], known),
        quality=_logistic(made["quality"], quality_features([_NOTHING])),
        min_answer=_number(thresholds["answer"]),
        min_quality=_number(thresholds["quality"]),
        min_web_quality=_number(thresholds["web_quality"]),
        min_about=_number(thresholds.get("about", 0.0)),
        risk=None if risk is None else RiskTable.of_data(risk),
    )


def _logistic(made: Mapping[str, Any], known: Mapping[str, float]) -> Logistic:
    return Logistic(bias=_number(made["bias"]), weights=_weights(made["weights"], known))


def _weights(made: Mapping[str, Any], known: Mapping[str, float]) -> dict[str, float]:
    if unknown := [name for name in made if name not in known]:
        raise ValueError(f"it weighs {unknown[0]!r}, which is no feature")
    return {name: _number(weight) for name, weight in made.items()}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    return float(value)


@lru_cache(maxsize=8)
def _read_once(file: Path, changed: int, reader: str) -> Calibration:  # noqa: ARG001 - of the key
    return read_calibration(file, reader=reader)


@lru_cache(maxsize=1)
def _shipped() -> Calibration:
    text = files("secondlook.reading").joinpath("calibration.json").read_text("utf-8")
    return _calibration(json.loads(text))
