"""What the reader's scores are worth: which span to answer with, how likely it is right, from which
probability on it may be given, and whether a search has found what answers. Coefficients and
thresholds are data of one reader, named in them: `calibration.json`, or a library's own file. For
another reader probabilities are None. docs/confidence.md has the figures."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from secondlook.errors import SecondlookError
from secondlook.files import write_whole
from secondlook.reading.logistic import Logistic
from secondlook.reading.risk import RiskTable

RISK_CONFIDENCE: Final = 0.99  # How sure it must be that `max_risk` is kept
BEST: Final = 5
CALIBRATION_FILE: Final = "calibration.json"
FORMAT: Final = 1
_ROW = re.compile(r"\[\s+(\S+),\s+(\d+),\s+(\d+)\s+\]")  # of the risk table: one line in the file
_AGAIN = "secondlook calibrate makes a new one"
_LOGIT = 20.0
"""Scores beyond it say no more than it; a model gone wrong must not run away with the sum."""
NOT_THERE: Final = -9.0
"""Relevance of a passage that is not there: what the fifth best typically has."""
_FAR_AHEAD = 6.0
_FIRST = 3
_CLEAR_LEAD = 3.0
_FOUND_BY = {
    (True, True): "both searches rank it high",
    (True, False): "it is found by meaning rather than by words",
    (False, True): "it is found by words rather than by meaning",
    (False, False): "neither search ranks it high",
}
_ANSWER = ("relevance", "margin", "answerable", "fusion")
_SECOND = (*_ANSWER, "together", "lead", "ahead")
_QUALITY = ("relevance", "lead", "fusion", "agreement")
_KNOWN = {"answer": _ANSWER, "second": _SECOND, "yes_no": _SECOND, "quality": _QUALITY}


class CalibrationError(SecondlookError):
    """A calibration cannot be used."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The scores of one passage: the reader's, as it gave them, and those of the searches."""

    relevance: float
    answerable: float
    span_score: float
    null_score: float
    score: float  # By which the candidates are ranked: searches and reader together
    fusion_score: float  # Of the searches alone; 1.0 for what is first in both
    dense_rank: int | None = None
    lexical_rank: int | None = None
    together: float | None = None
    """How far the passage says that the span answers the question; None until looked at twice."""
    lead: float | None = None  # Of a question for yes or no: how far "yes" lies above "no"
    ahead: float | None = None
    """How much more relevant than the best of the others; None until looked at twice."""

    @property
    def margin(self) -> float:
        """How far the best span lies above "no answer here"."""
        return self.span_score - self.null_score

    @property
    def ranked_high(self) -> tuple[bool, bool]:
        dense, lexical = self.dense_rank, self.lexical_rank
        return (dense is not None and dense <= BEST, lexical is not None and lexical <= BEST)

    @property
    def features(self) -> dict[str, float]:
        """What an answer is chosen by, and the probability that it is right is made from."""
        return {
            "relevance": _bounded(self.relevance),
            "margin": _bounded(self.margin),
            "answerable": _bounded(self.answerable),
            "fusion": self.fusion_score,
            "together": _bounded(self.together or 0.0),
            "lead": _bounded(abs(self.lead or 0.0)),
            "ahead": max(-_FAR_AHEAD, min(_FAR_AHEAD, self.ahead or 0.0)),
        }


def sound(candidates: Sequence[Candidate]) -> list[int]:
    return [
        at
        for at, one in enumerate(candidates[:BEST])
        # One score that is no number makes the sum none.
        if math.isfinite(one.relevance + one.answerable + one.margin + one.score + one.fusion_score)
    ]


def quality_features(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What the probability of having found what answers is made from."""
    best = [candidates[at] for at in sound(candidates)]
    relevance = sorted((_bounded(one.relevance) for one in best), reverse=True)
    third = relevance[_FIRST - 1] if len(relevance) >= _FIRST else NOT_THERE
    return {
        "relevance": relevance[0],
        "lead": max(0.0, relevance[0] - third),
        "fusion": best[0].fusion_score,
        "agreement": sum(all(one.ranked_high) for one in best) / BEST,
    }


def _bounded(logit: float) -> float:
    return max(-_LOGIT, min(_LOGIT, logit))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known about the scores of one reader. Candidates are given best first."""

    reader: str
    label: Literal["calibrated", "uncalibrated"]
    choice: Mapping[str, float]
    """How much each feature of an answer counts when one is chosen; none, and the first is."""
    answer: Logistic  # Of a first look
    quality: Logistic
    min_answer: float  # An answer less likely to be right than this is withheld
    min_quality: float
    """A search less likely than this to have found what answers is worth another one."""
    min_web_quality: float  # And below this the library looks empty-handed
    min_about: float = 0.0  # A passage whose relevance is above it is about the question
    second: Logistic | None = None
    """Of question and answer looked at together; None, and a second look counts for nothing."""
    yes_no: Logistic | None = None  # The same where the answer is yes or no
    min_sure: float = 1.0  # An answer less likely to be right than this is called likely
    min_seal: float = _LOGIT
    """How far question and answer must be carried together to be called verified."""
    risk: RiskTable | None = None
    """How often answers were wrong above each probability; None where nobody has counted."""
    source: Literal["shipped", "library"] = "shipped"
    warning: str | None = None  # Why the library's own calibration is not the one used

    def best_answer(self, candidates: Sequence[Candidate]) -> int | None:
        """Index of the passage whose span to answer with; None when there is none. Of those that
        were looked at twice the one most likely right. An order needs no probabilities, so this
        holds for any reader. Ties go to the better ranked."""
        known = sound(candidates)
        twice = [at for at in known if self._second(candidates[at]) is not None]
        best: tuple[float, int] | None = None
        for at in twice or known:
            features, model = candidates[at].features, self._second(candidates[at])
            worth = sum(weight * features[name] for name, weight in self.choice.items())
            worth = worth if model is None else model.logit(features)
            if best is None or worth > best[0]:
                best = worth, at
        return best[1] if best else None

    def _second(self, one: Candidate) -> Logistic | None:
        """What tells how likely a span is right that was looked at twice."""
        if one.together is None:
            return None
        return self.second if one.lead is None else self.yes_no

    def answer_probability(self, candidates: Sequence[Candidate], chosen: int) -> float | None:
        """How likely the span of the chosen passage is a right answer."""
        if self.label == "uncalibrated" or not sound(candidates[chosen : chosen + 1]):
            return None
        model = self._second(candidates[chosen]) or self.answer
        return model.probability(candidates[chosen].features)

    def is_sealed(self, one: Candidate, probability: float | None) -> bool:
        """Whether the passage carries question and answer together, and the answer is sure."""
        sure = probability is not None and probability >= self.min_sure
        return sure and one.together is not None and one.together >= self.min_seal

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
        one = candidates[chosen]
        relevant = "reads as relevant" if one.relevance > 0 else "does not read as relevant"
        found = "seems to hold an answer" if one.margin > 0 else "may hold no answer"
        said = [f"the passage {relevant} ({one.relevance:.1f})", f"it {found} ({one.margin:+.1f})"]
        rivals = [candidates[at].relevance for at in sound(candidates) if at != chosen]
        if rivals and one.relevance > 0:
            clear = one.relevance - max(rivals) >= _CLEAR_LEAD
            what = (
                "no other passage comes near it"
                if clear
                else "another passage is about as relevant"
            )
            said.append(f"{what} ({max(rivals):.1f})")
        said.append(_FOUND_BY[one.ranked_high])
        if self.label == "uncalibrated":
            said.append(f"no probability: the reader {self.reader!r} has not been calibrated")
        return tuple(said)


def load_calibration(reader: str, own: Path | None = None) -> Calibration:
    """The calibration of the reader with this name: the one in the file `own` where that is there
    and belongs to it, else the shipped one. For any other reader it is labelled "uncalibrated",
    with the same thresholds and no probabilities to hold against them."""
    made = _shipped()
    known = made.reader == reader
    shipped = replace(made, reader=reader, label="calibrated" if known else "uncalibrated")
    if own is None or not own.exists():
        return shipped
    try:
        return replace(_read_once(own, own.stat().st_mtime_ns, reader), source="library")
    except CalibrationError as refused:
        return replace(shipped, warning=f"{refused.message}: not used; run secondlook calibrate")


def read_calibration(file: Path, *, reader: str | None = None) -> Calibration:
    """The calibration in a file. With a `reader`, one that belongs to another is refused."""
    try:
        found = _parsed(json.loads(file.read_text("utf-8")))
    except OSError as error:
        raise CalibrationError(f"{str(file)!r} cannot be read: {error}", hint=_AGAIN) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CalibrationError(
            f"{str(file)!r} is no calibration that this version knows: {error!r}", hint=_AGAIN
        ) from error
    if reader is not None and found.reader != reader:
        raise CalibrationError(
            f"the library's calibration belongs to reader {found.reader}, not {reader}", hint=_AGAIN
        )
    return found


@lru_cache(maxsize=8)
def _read_once(file: Path, changed: int, reader: str) -> Calibration:  # noqa: ARG001 - of the key
    return read_calibration(file, reader=reader)


@lru_cache(maxsize=1)
def _shipped() -> Calibration:
    file = files("secondlook.reading").joinpath("calibration.json")
    return _parsed(json.loads(file.read_text("utf-8")))


def save_calibration(file: Path, calibration: Calibration, **about: Any) -> None:
    """Write it, whole or not at all; `about` as in `calibration_data`."""
    text = json.dumps(calibration_data(calibration, **about), indent=2, allow_nan=False)
    text = _ROW.sub(r"[\1, \2, \3]", text)
    write_whole(file, f"{text}\n".encode())


def calibration_data(
    calibration: Calibration,
    *,
    made: str,
    by: str,
    data: Mapping[str, Any],
    reliability: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a file holds. `made` is the day, `by` the command, `data` what it was made from,
    `reliability` what the probabilities were worth before and after."""
    models = {
        name: {"bias": one.bias, "weights": dict(one.weights)}
        for name in ("answer", "quality", "second", "yes_no")
        if (one := getattr(calibration, name)) is not None
    }
    return {
        "format": FORMAT,
        "reader": calibration.reader,
        "made": made,
        "by": by,
        "data": dict(data),
        "choice": dict(calibration.choice),
        **models,
        "thresholds": {
            "answer": calibration.min_answer,
            "quality": calibration.min_quality,
            "web_quality": calibration.min_web_quality,
            "about": calibration.min_about,
            "sure": calibration.min_sure,
            "seal": calibration.min_seal,
        },
        **({} if calibration.risk is None else {"risk": calibration.risk.as_data()}),
        **({} if reliability is None else {"reliability": dict(reliability)}),
    }


def _parsed(made: Mapping[str, Any]) -> Calibration:
    if made.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is {made['format']!r}, not {FORMAT}")
    choice, thresholds = made["choice"], {"about": 0.0, "sure": 1.0, "seal": _LOGIT}
    thresholds |= made["thresholds"]
    models = {name: made[name] for name in ("answer", "quality")}
    models |= {name: made[name] for name in ("second", "yes_no") if name in made}
    weighed: list[tuple[Mapping[str, float], tuple[str, ...]]] = [
        (choice, _ANSWER),
        *((one["weights"], _KNOWN[name]) for name, one in models.items()),
    ]
    for weights, known in weighed:
        if unknown := [name for name in weights if name not in known]:
            raise ValueError(f"it weighs {unknown[0]!r}, which is no feature")
    for value in (
        *(one["bias"] for one in models.values()),
        *thresholds.values(),
        *(value for weights, _ in weighed for value in weights.values()),
    ):
        if isinstance(value, bool) or not math.isfinite(value):
            raise TypeError(f"{value!r} is no number")
    risk = made.get("risk")
    logistics = {name: Logistic(**one) for name, one in models.items()}
    return Calibration(
        reader=str(made["reader"]),
        label="calibrated",
        choice=choice,
        answer=logistics["answer"],
        quality=logistics["quality"],
        second=logistics.get("second"),
        yes_no=logistics.get("yes_no"),
        min_answer=thresholds["answer"],
        min_quality=thresholds["quality"],
        min_web_quality=thresholds["web_quality"],
        min_about=thresholds["about"],
        min_sure=thresholds["sure"],
        min_seal=thresholds["seal"],
        risk=None if risk is None else RiskTable.of_data(risk),
    )
