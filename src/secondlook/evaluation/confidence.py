"""What becomes of a question: searched, read and answered as the workflow `linear` does it without
a language model, with the numbers that the probability is made from."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from langgraph.runtime import Runtime

from secondlook.errors import LibraryError, ModelError
from secondlook.evaluation import summary
from secondlook.evaluation.metrics import RIGHT_F1, f1
from secondlook.evaluation.records import Point
from secondlook.library.library import search_options
from secondlook.library.publish import refuse_change_in
from secondlook.nodes import ranking
from secondlook.nodes.context import Context
from secondlook.nodes.retrieve import found_by, rerank
from secondlook.reading.calibration import (
    CALIBRATION_FILE,
    RISK_CONFIDENCE,
    answer_features,
    load_calibration,
    save_calibration,
)
from secondlook.reading.logistic import Logistic, Outcome, cross_fitted, fit_logistic
from secondlook.reading.risk import risk_table
from secondlook.retrieval.index.port import Filter
from secondlook.roles.sentences import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from secondlook.evaluation.generated_questions import Asked, Place
    from secondlook.evaluation.statistics import Floats
    from secondlook.library.library import Library
    from secondlook.models.budget import Ledger
    from secondlook.models.calls import Asker
    from secondlook.nodes.state import Asked as Searched
    from secondlook.nodes.state import Found
    from secondlook.passage import Hit
    from secondlook.reading.calibration import Calibration
    from secondlook.reading.risk import RiskTable
    from secondlook.reading.support import Support
    from secondlook.retrieval.web.port import WebPassage

_MOST_SEARCHES = 50
"""Each leaves out what the one before brought in vain; a document of thousands of passages, all
of them nearer than any other, is not worth more."""


@dataclass(frozen=True, slots=True)
class Answered:
    asked: Asked
    outcome: Outcome
    before: float | None
    """The probability by the calibration that is in use; None without one."""


class _NoPages:
    """Nothing is read from the web here."""

    def put(self, passages: Sequence[WebPassage]) -> None: ...

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:  # noqa: ARG002
        return {}


class Answering:
    """Answers questions over one library with the calibration that is given."""

    def __init__(self, library: Library, calibration: Calibration) -> None:
        self.calibration = calibration
        settings = library.settings
        self._settings = settings.model_copy(
            update={"search": settings.search.model_copy(update={"rerank": True})}
        )
        self._context = Context(
            run="calibrate",
            created="",
            workflow="linear",
            question="",
            settings=self._settings,
            shelf=library.shelf(),
            # Searching and reading ask for none of these.
            models=cast("Asker", None),
            ledger=cast("Ledger", None),
            support=cast("Support", None),
            pages=_NoPages(),
        )

    async def answer(self, asked: Asked) -> Answered | None:
        """None where nothing was found to answer with, or where right and wrong cannot be told:
        the passage that a question was made from is left out, and the answer is there again."""
        found = await self._found(asked)
        read = [item for item in ranking.kept(found) if ranking.candidate(item) is not None]
        candidates = ranking.candidates(read)
        chosen = self.calibration.best_answer(candidates)
        if chosen is None:
            return None
        said = await self._said(read[chosen])
        near = f1(said, asked.answers) >= RIGHT_F1
        if near and asked.kind == "left out":
            return None
        outcome = Outcome(answer_features(candidates, chosen), right=near and asked.answerable)
        before = self.calibration.answer_probability(candidates, chosen)
        return Answered(asked, outcome, before)

    async def _found(self, asked: Asked) -> list[Found]:
        hits = self._hits(asked.question, asked.left_out)
        state: Searched = {
            "question": asked.question,
            "queries": [asked.question],
            "scope": {"documents": None, "labels": []},
            "found": [found_by(hit) for hit in hits],
        }
        update = await rerank(state, Runtime(context=self._context))
        for warning in update["warnings"]:
            raise ModelError(
                f"the passages could not be read: {warning['message']}",
                hint="secondlook doctor says what is installed and missing",
            )
        return update["found"]

    def _hits(self, question: str, left_out: Sequence[Place]) -> list[Hit]:
        """What both searches find beside what is left out."""
        options = search_options(self._settings.search, k=self._settings.answer.k)
        excluded: set[str] = set()
        for _ in range(_MOST_SEARCHES):
            hits = self._context.shelf.find(question, options, Filter(excluded=frozenset(excluded)))
            unwanted = {
                one.id
                for one in (hit.passage for hit in hits)
                if any(place.holds(one.document, one.start, one.end) for place in left_out)
            }
            if not unwanted:
                return hits
            excluded |= unwanted
        return []

    async def _said(self, item: Found) -> str:
        held = await ranking.texts(self._context, [item["id"]])
        text = held[item["id"]].text
        start, end = whole_numbers(text, item["span_start"] or 0, item["span_end"] or 0)
        return " ".join(text[start:end].split())


# The probability fitted anew, and judged on documents that the fit has not seen.

Method = Literal["rescaled", "refitted"]
FOLDS = 5
CONFIDENCE = 0.99
"""With which promises are made unless told otherwise."""
_LOGIT = "logit"


@dataclass(frozen=True, slots=True)
class Fit:
    """One way to make the probability anew."""

    method: Method
    answer: Logistic
    out_of_fold: tuple[float, ...]
    """Of each question by a fit without its document."""
    scale: Logistic | None = None
    """Of a rescaled one: what was done to the shipped logit."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The calibration that came of it, and what it is worth beside the shipped one."""

    method: Method
    calibration: Calibration
    before: Judgement | None
    """None where the reader has no calibration so far."""
    after: Judgement
    better: bool


def fit(
    answered: Sequence[Answered],
    shipped: Calibration,
    *,
    promising: bool = True,
    confidence: float = CONFIDENCE,
) -> Fitted:
    """`confidence` is the one with which promises are made where they are judged.

    Made questions are too easy to promise anything by. Without `promising` the probability is
    rescaled at most, and the shipped table of risks goes with it: answers that it let through
    before are let through as before.
    """
    right = [one.outcome.right for one in answered]
    groups = [one.asked.group for one in answered]
    tried = ways(answered, shipped, groups)
    best = min(tried, key=lambda way: _brier(way.out_of_fold, right)) if promising else tried[0]
    risk = risk_table(best.out_of_fold, right) if promising else _carried(shipped, best.scale)
    thresholds = (
        _crossed(best.out_of_fold, right, groups, confidence)
        if promising
        else [_thresholds(risk, confidence)] * len(right)
    )
    after = judge(best.out_of_fold, right, thresholds)
    said = [one.before for one in answered if one.before is not None]
    before = None
    if len(said) == len(answered):
        before = judge(said, right, [_thresholds(shipped.risk, confidence)] * len(said))
    calibration = replace(
        shipped,
        label="calibrated",
        answer=best.answer,
        risk=risk,
        source="library",
        warning=None,
    )
    # Without a calibration so far the fit must be better than always saying the share right.
    bar = before.brier if before else after.right * (1 - after.right)
    return Fitted(best.method, calibration, before, after, better=after.brier < bar)


def ways(answered: Sequence[Answered], shipped: Calibration, groups: Sequence[str]) -> list[Fit]:
    """Every way to make it, each with what it says about documents that it has not seen."""
    outcomes = [one.outcome for one in answered]
    names = tuple(shipped.answer.weights)
    refitted = Fit(
        "refitted",
        fit_logistic(outcomes, names),
        tuple(cross_fitted(outcomes, names, groups=groups, folds=FOLDS)),
    )
    if shipped.label == "uncalibrated":
        return [refitted]
    logits = [Outcome({_LOGIT: shipped.answer.logit(one.features)}, one.right) for one in outcomes]
    scale = fit_logistic(logits, [_LOGIT])
    # The scaling of a logit, written as weights of the features themselves.
    by, own = scale.weights[_LOGIT], shipped.answer
    weights = {name: by * weight for name, weight in own.weights.items()}
    composed = Logistic(scale.bias + by * own.bias, weights)
    rescaled = Fit(
        "rescaled",
        composed,
        tuple(cross_fitted(logits, [_LOGIT], groups=groups, folds=FOLDS)),
        scale,
    )
    return [rescaled, refitted]


def _carried(shipped: Calibration, scale: Logistic | None) -> RiskTable | None:
    """The shipped table with its thresholds where the rescaled probability has them."""
    if shipped.risk is None or scale is None or scale.weights[_LOGIT] <= 0:
        return None

    def moved(threshold: float) -> float:
        if not 0 < threshold < 1:
            return threshold
        # Rounded down, so that what lay at the threshold is still let through.
        to = scale.probability({_LOGIT: math.log(threshold / (1 - threshold))})
        return math.floor(to * 10**6) / 10**6

    rows = tuple(replace(row, threshold=moved(row.threshold)) for row in shipped.risk.rows)
    return replace(shipped.risk, rows=rows)


def _thresholds(table: RiskTable | None, confidence: float) -> Thresholds:
    return {
        risk: None if table is None else table.threshold(risk, confidence=confidence)
        for risk in RISKS
    }


def _crossed(
    said: Sequence[float], right: Sequence[bool], groups: Sequence[str], confidence: float
) -> list[Thresholds]:
    """For each question the thresholds that the documents of the other folds promise."""
    fold_of = {group: at % FOLDS for at, group in enumerate(dict.fromkeys(groups))}
    folds = [fold_of[group] for group in groups]
    by_fold = {}
    for fold in set(folds):
        others = [at for at, one in enumerate(folds) if one != fold] or range(len(folds))
        table = risk_table([said[at] for at in others], [right[at] for at in others])
        by_fold[fold] = _thresholds(table, confidence)
    return [by_fold[fold] for fold in folds]


def _brier(said: Sequence[float], right: Sequence[bool]) -> float:
    return sum((one - true) ** 2 for one, true in zip(said, right, strict=True)) / len(said)


# What a probability is worth on questions that it was not made from.

BINS = 10
RISKS = (0.05, 0.10, 0.20, 0.30)
Thresholds = dict[float, float | None]
"""By highest risk: the lowest probability that is answered; None: nothing can be promised."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a highest risk comes to: how many are answered, and how many of those are wrong."""

    max_risk: float
    coverage: float
    """Share of the questions that are answered."""
    risk: float | None
    """Share of wrong ones among them; None where none is answered."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well probabilities fit what came true."""

    questions: int
    right: float
    """Share of right answers among all."""
    ece: float
    """Mean gap between probability and share right, over ten bins of equally many questions."""
    brier: float
    """Mean square of the gap between each probability and 1 (right) or 0 (wrong)."""
    auroc: float
    promises: tuple[Promise, ...]
    reliability: tuple[Point, ...]
    """Of each bin: mean probability (x), share right (y) and how many (n)."""


def judge(
    probabilities: Sequence[float], right: Sequence[bool], thresholds: Sequence[Thresholds]
) -> Judgement:
    """`thresholds` are those that hold for each question: made from others than itself."""
    said, true = np.asarray(probabilities, float), np.asarray(right, float)
    # Bins of equally many questions, from the least probable to the most.
    order = np.argsort(said, kind="stable")
    bins = tuple(
        Point(x=float(said[part].mean()), y=float(true[part].mean()), n=int(part.size))
        for part in np.array_split(order, BINS)
        if part.size
    )
    return Judgement(
        questions=len(said),
        right=float(true.mean()),
        ece=sum(abs(point.x - point.y) * point.n for point in bins) / len(said),
        brier=float(((said - true) ** 2).mean()),
        auroc=float(summary.auroc(said, true)(np.ones((1, len(said))))[0]),
        promises=tuple(_promise(risk, said, true, thresholds) for risk in RISKS),
        reliability=bins,
    )


def _promise(risk: float, said: Floats, true: Floats, thresholds: Sequence[Thresholds]) -> Promise:
    needed = np.asarray([np.inf if (at := one[risk]) is None else at for one in thresholds])
    answered = said >= needed
    many = int(answered.sum())
    return Promise(
        max_risk=risk,
        coverage=many / len(said),
        risk=float(1 - true[answered].mean()) if many else None,
    )


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """All figures are of questions that the fit which gave their probability has not seen."""

    library: str
    reader: str
    source: str
    """Where the questions come from."""
    asked: Mapping[str, int]
    """How many questions, by kind: `own`, `made`, `swapped`, `left out`."""
    answered: int
    """Those of which right and wrong could be told."""
    method: Method
    before: Judgement | None
    """By the shipped calibration; None where the reader has none."""
    after: Judgement
    better: bool
    """Whether the Brier score is lower than before."""
    stored: str | None
    """The file that holds it now; None where it was not stored."""
    calibration: Calibration
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Plain values, as `--json` prints them."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        calibration = told.pop("calibration")
        return told | {
            "asked": dict(self.asked),
            "before": judgement_data(self.before) if self.before else None,
            "after": judgement_data(self.after),
            "answer": {
                "bias": calibration.answer.bias,
                "weights": dict(calibration.answer.weights),
            },
            "notes": list(self.notes),
        }


def judgement_data(judgement: Judgement) -> dict[str, Any]:
    def rounded(value: Any) -> Any:
        return round(value, 4) if isinstance(value, float) else value

    told = {one.name: rounded(getattr(judgement, one.name)) for one in fields(judgement)}
    told["promises"] = [
        {name: rounded(value) for name, value in asdict(promise).items()}
        for promise in judgement.promises
    ]
    told["reliability"] = [
        [rounded(point.x), rounded(point.y), point.n] for point in judgement.reliability
    ]
    return told


# A library's own calibration on disk: stored, shown, taken away.

COMMAND = "secondlook calibrate"
MAKE_ROOM = "check that the disk has room and that you may write there; nothing stored is lost"


@dataclass(frozen=True, slots=True)
class InUse:
    """The calibration that answers over a library are judged by."""

    source: Literal["shipped", "library", "none"]
    reader: str
    file: str | None
    """The library's own, whether or not it is used."""
    made: str | None
    data: dict[str, Any]
    """What the library's own was made from."""
    warning: str | None
    """Why the library's own is not used."""
    thresholds: dict[float, float | None]
    """By highest risk: the probability from which on an answer is given; None: never."""


def store(library: Path, fitted: Fitted, data: dict[str, Any]) -> Path:
    refuse_change_in(library)
    file = library / CALIBRATION_FILE
    before = judgement_data(fitted.before) if fitted.before else None
    try:
        save_calibration(
            file,
            fitted.calibration,
            made=datetime.now(UTC).date().isoformat(),
            by=COMMAND,
            data=data,
            reliability={"before": before, "after": judgement_data(fitted.after)},
        )
    except OSError as error:
        raise _not_writable(file, error) from error
    return file


def remove(library: Path) -> bool:
    """Go back to the shipped calibration; whether there was another one."""
    refuse_change_in(library)
    file = library / CALIBRATION_FILE
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_writable(file, error) from error
    return True


def in_use(library: Library) -> InUse:
    file = library.path / CALIBRATION_FILE
    reader = library.reader().name
    used = load_calibration(reader, file)
    confidence = RISK_CONFIDENCE
    try:  # one that cannot be read is told of by `load_calibration`
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        held = {}
    held = held if isinstance(held, dict) else {}
    return InUse(
        source=used.source if used.label == "calibrated" else "none",
        reader=reader,
        file=str(file) if file.exists() else None,
        made=held.get("made"),
        data=held.get("data") or {},
        warning=used.warning,
        thresholds={risk: used.risk_threshold(risk, confidence=confidence) for risk in RISKS},
    )


def _not_writable(file: Path, error: OSError) -> LibraryError:
    return LibraryError(
        f"{str(file)!r} cannot be written: {error.strerror or error}", hint=MAKE_ROOM
    )
