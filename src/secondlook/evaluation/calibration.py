"""`secondlook calibrate`: the probability that an answer is right, fitted to a person's own
questions and judged on documents that the fit has not seen (docs/confidence.md)."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from langgraph.runtime import Runtime

from secondlook.engine.secondlook import LoopThread
from secondlook.errors import LibraryError, ModelError, UsageError
from secondlook.evaluation import summary
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.datasets.own import QUESTIONS, questions_of, read_sheet
from secondlook.evaluation.library import EvaluatedLibrary, cache_folder
from secondlook.evaluation.metrics import RIGHT_F1, f1, is_right_shown
from secondlook.evaluation.runner import Progress
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.library.library import Library, search_options
from secondlook.library.publish import refuse_change
from secondlook.library.stores import chosen_library
from secondlook.nodes import ranking
from secondlook.nodes.context import Context
from secondlook.nodes.extract import looked_twice, sentence_at, span, words
from secondlook.nodes.retrieve import found_by, rerank
from secondlook.reading.calibration import (
    CALIBRATION_FILE,
    RISK_CONFIDENCE,
    Calibration,
    load_calibration,
    save_calibration,
)
from secondlook.reading.logistic import Logistic, Outcome, cross_fitted, fit_logistic
from secondlook.reading.risk import RiskTable, risk_table
from secondlook.reading.support import load_support
from secondlook.retrieval.index.port import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.evaluation.records import Case, Problem
    from secondlook.models.budget import Ledger
    from secondlook.models.calls import Asker
    from secondlook.nodes.state import Asked
    from secondlook.retrieval.web.port import WebPassage
    from secondlook.settings.sections import Settings

MOST = 400
FEWEST = 60  # questions below which two numbers cannot be told, let alone promised anything by
FEWEST_ANSWERED = 50
FEWEST_OF_EACH = 10  # right and wrong answers that there must be to tell them apart
FOLDS = 5
BINS = 10
RISKS = (0.05, 0.10, 0.20, 0.30)
_LOGIT = "logit"

Method = Literal["rescaled", "refitted"]
Thresholds = dict[float, float | None]  # by highest risk; None: nothing can be promised


@dataclass(frozen=True, slots=True)
class Answered:
    group: str  # questions of one group are judged by a fit that saw none of them
    outcome: Outcome
    before: float | None  # the probability by the calibration that is in use; None without one


@dataclass(frozen=True, slots=True)
class Promise:
    max_risk: float
    coverage: float
    risk: float | None  # share of wrong ones among the answered; None where none is answered


@dataclass(frozen=True, slots=True)
class Judgement:
    questions: int
    right: float
    ece: float  # mean gap between probability and share right, in ten bins of equal size
    brier: float
    auroc: float
    promises: tuple[Promise, ...]
    reliability: tuple[tuple[float, float, int], ...]
    """Of each bin: mean probability, share right, how many."""


def as_data(judgement: Judgement | None) -> Any:
    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [rounded(one) for one in value]
        return round(value, 4) if isinstance(value, float) else value

    return None if judgement is None else rounded(asdict(judgement))


@dataclass(frozen=True, slots=True)
class Fitted:
    method: Method
    calibration: Calibration
    before: Judgement | None  # None where the reader has no calibration so far
    after: Judgement
    better: bool


def calibrate(
    library: str | Path | None,
    questions: str | Path,
    *,
    most: int = MOST,
    seed: int = 0,
    dry_run: bool = False,
    force: bool = False,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Fit the probability that an answer is right to a library (None: the configured one).
    `questions` names a sheet with answers, or its folder. The fit is stored where it is better on
    documents it has not seen, or with `force`; `dry_run` stores nothing. Ctrl-C changes nothing;
    the next call goes on. What comes back is in docs/json.md: all figures are of questions that
    the fit which gave their probability has not seen."""
    if most < FEWEST:
        raise UsageError(f"{most!r} questions are too few", hint=f"give {FEWEST} or more")
    chosen, path = chosen_library(library, settings)
    sheet = Path(questions).expanduser().absolute()
    sheet = sheet / QUESTIONS if sheet.is_dir() else sheet
    cases, notes = _cases(sheet, most=most, seed=seed)
    with (
        closing(Memory(cache_folder() / MEMORY_FILE)) as memory,
        closing(EvaluatedLibrary.open(path, create=False, settings=chosen)) as opened,
        closing(LoopThread()) as loop,
    ):
        opened.memory = memory
        shipped = load_calibration(opened.reader().name)
        answering = Answering(opened, shipped, sheet)
        answered: list[Answered] = []
        for done, case in enumerate(cases):
            if progress is not None:
                progress(Progress(done=done, total=len(cases), configuration="asking"))
            if (found := loop.run(answering.answer(case))) is not None:
                answered.append(found)
    _check(answered, sheet.name)
    fitted = fit(answered, shipped)
    told: dict[str, Any] = {
        "library": str(path),
        "reader": shipped.reader,
        "source": sheet.name,
        "asked": {"own": len(cases)},
        "answered": len(answered),
        "method": fitted.method,
        "before": as_data(fitted.before),
        "after": as_data(fitted.after),
        "better": fitted.better,
        "stored": None,
        "answer": asdict(fitted.calibration.second or fitted.calibration.answer),
        "notes": notes,
    }
    if not dry_run and (fitted.better or force):
        with _changed(path) as file:
            save_calibration(
                file,
                fitted.calibration,
                made=datetime.now(UTC).date().isoformat(),
                by="secondlook calibrate",
                data={"questions": sheet.name}
                | {name: told[name] for name in ("asked", "answered", "method")},
                reliability={name: told[name] for name in ("before", "after")},
            )
        told["stored"] = str(file)
    if not dry_run and not fitted.better:
        kept = "stored all the same" if force else "not stored: the calibration in use stays"
        worse = "the new fit is no better than the shipped one on documents it has not seen"
        notes.append(f"{worse}; {kept}")
    return told


def _cases(path: Path, *, most: int, seed: int) -> tuple[Sequence[Case], list[str]]:
    problems: list[Problem] = []
    rows, notes = read_sheet(path, problems)
    # A document is only what questions are dealt into folds by: any name will do.
    cases = questions_of(
        path.name, rows, problems, gold=lambda names, _: {"|".join(names): 1} if names else {}
    )
    usable = [case for case in cases if case.scored or case.wrong or not case.answerable]
    drawn = sample(usable, limit=most, seed=seed)
    if len(drawn) < FEWEST:
        raise UsageError(
            f"{path.name}: {len(drawn)} questions can be used, and {FEWEST} are needed",
            hint="fill the column `answer`; where there is none, write no in `answerable`",
        )
    if problems:
        line = f", line {problems[0].line}" if problems[0].line else ""
        more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        first = f"{problems[0].file}{line}: {problems[0].reason}"
        notes.append(f"not all could be used: {first}{more}")
    if all(case.answerable for case in drawn):
        notes.append(
            "every question has an answer in the documents: the probability will be too high for "
            "questions that have none (write no in a column `answerable`)"
        )
    return drawn, notes


def _check(answered: Sequence[Answered], name: str) -> None:
    if len(answered) < FEWEST_ANSWERED:
        raise UsageError(
            f"{name}: only {len(answered)} questions were answered, and {FEWEST_ANSWERED} are "
            "needed",
            hint="for the others nothing was found, or the reader marks no answers",
        )
    right = sum(one.outcome.right for one in answered)
    if min(right, len(answered) - right) < FEWEST_OF_EACH:
        raise UsageError(
            f"of {len(answered)} answers {right} are right: too few of one kind to tell what makes "
            "an answer right",
            hint="give questions of both kinds, also some that the documents do not answer",
        )


# Questions answered as the workflow `linear` does it without a language model, with the numbers
# that the probability is made from.


class _NoPages:
    def put(self, passages: Sequence[WebPassage]) -> None: ...

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:  # noqa: ARG002
        return {}


class Answering:
    def __init__(self, library: Library, calibration: Calibration, sheet: Path) -> None:
        self.calibration = calibration
        settings = library.settings
        self._settings = settings.model_copy(
            update={"search": settings.search.model_copy(update={"rerank": True})}
        )
        # The sheet itself, where it was added with the folder: it would answer every question.
        documents = {one.id: one.paths for one in library.documents()}
        others = {id_ for id_, paths in documents.items() if str(sheet) not in paths}
        self.where = Filter(frozenset(others) if len(others) < len(documents) else None)
        self._context = Context(
            run="calibrate",
            created="",
            workflow="linear",
            question="",
            settings=self._settings,
            shelf=library.shelf(),
            # Searching and reading ask for neither of these.
            models=cast("Asker", None),
            ledger=cast("Ledger", None),
            support=load_support(settings.models.servers.support),
            pages=_NoPages(),
        )

    async def answer(self, case: Case) -> Answered | None:
        """None where nothing was found to answer with."""
        options = search_options(self._settings.search, k=self._settings.answer.k)
        hits = self._context.shelf.find(case.question, options, self.where)
        state: Asked = {
            "question": case.question,
            "queries": [case.question],
            "scope": {"documents": None, "labels": []},
            "found": [found_by(hit) for hit in hits],
        }
        update = await rerank(state, Runtime(context=self._context))
        for warning in update["warnings"]:
            raise ModelError(
                f"the passages could not be read: {warning['message']}",
                hint="secondlook doctor says what is installed and missing",
            )
        kept = ranking.kept(update["found"])
        read = [item for item in kept if ranking.candidate(item) is not None]
        held = await ranking.texts(self._context, [item["id"] for item in read])
        candidates = await looked_twice(self._context, case.question, read, held)
        chosen = self.calibration.best_answer(candidates)
        if chosen is None:
            return None
        lead, passage = candidates[chosen].lead, held[read[chosen]["id"]]
        said, shown = words(read[chosen], passage), sentence_at(passage, *span(read[chosen]))
        said = said if lead is None else "yes" if lead > 0 else "no"
        if case.wrong and not case.answers and f1(said, case.wrong) < RIGHT_F1:
            return None  # another answer than the one that was called wrong
        right = is_right_shown(said, shown["text"] if lead is None else "", case.answers)
        return Answered(
            next(iter(case.gold), case.id),
            Outcome(candidates[chosen].features, case.answerable and right),
            self.calibration.answer_probability(candidates, chosen),
        )


# The probability fitted anew, and judged on documents that the fit has not seen.


def fit(answered: Sequence[Answered], shipped: Calibration) -> Fitted:
    right = [one.outcome.right for one in answered]
    groups = [one.group for one in answered]
    method, answer, said = min(
        _ways([one.outcome for one in answered], shipped, groups),
        key=lambda way: sum((one - true) ** 2 for one, true in zip(way[2], right, strict=True)),
    )
    # For each question the thresholds that the documents of the other folds promise.
    fold_of = {group: at % FOLDS for at, group in enumerate(dict.fromkeys(groups))}
    folds = [fold_of[group] for group in groups]
    by_fold = {}
    for fold in set(folds):
        others = [at for at, one in enumerate(folds) if one != fold] or range(len(folds))
        table = risk_table([said[at] for at in others], [right[at] for at in others])
        by_fold[fold] = _thresholds(table)
    after = judge(said, right, [by_fold[fold] for fold in folds])
    known = [one.before for one in answered if one.before is not None]
    before = None
    if len(known) == len(answered):
        before = judge(known, right, [_thresholds(shipped.risk)] * len(known))
    calibration = replace(
        shipped,
        label="calibrated",
        answer=answer if shipped.second is None else shipped.answer,
        second=shipped.second and answer,
        risk=risk_table(said, right),
        source="library",
        warning=None,
    )
    # Without a calibration so far the fit must be better than always saying the share right.
    bar = before.brier if before else after.right * (1 - after.right)
    return Fitted(method, calibration, before, after, better=after.brier < bar)


def _ways(
    outcomes: Sequence[Outcome], shipped: Calibration, groups: Sequence[str]
) -> list[tuple[Method, Logistic, Sequence[float]]]:
    """Each way to fit it: the fit, and what it says about documents that it has not seen."""
    own = shipped.second or shipped.answer
    names = tuple(own.weights)
    unseen = cross_fitted(outcomes, names, groups=groups, folds=FOLDS)
    ways: list[tuple[Method, Logistic, Sequence[float]]] = [
        ("refitted", fit_logistic(outcomes, names), unseen)
    ]
    if shipped.label == "uncalibrated":
        return ways
    logits = [Outcome({_LOGIT: own.logit(one.features)}, one.right) for one in outcomes]
    scale = fit_logistic(logits, [_LOGIT])
    # The scaling of a logit, written as weights of the features themselves.
    by = scale.weights[_LOGIT]
    weights = {name: by * weight for name, weight in own.weights.items()}
    composed = Logistic(scale.bias + by * own.bias, weights)
    unseen = cross_fitted(logits, [_LOGIT], groups=groups, folds=FOLDS)
    return [("rescaled", composed, unseen), *ways]


def _thresholds(table: RiskTable | None) -> Thresholds:
    return {
        risk: None if table is None else table.threshold(risk, confidence=RISK_CONFIDENCE)
        for risk in RISKS
    }


def judge(
    probabilities: Sequence[float], right: Sequence[bool], thresholds: Sequence[Thresholds]
) -> Judgement:
    """`thresholds` are those that hold for each question: made from others than itself."""
    said, true = np.asarray(probabilities, float), np.asarray(right, float)
    # Bins of equally many questions, from the least probable to the most.
    order = np.argsort(said, kind="stable")
    bins = tuple(
        (float(said[part].mean()), float(true[part].mean()), int(part.size))
        for part in np.array_split(order, BINS)
        if part.size
    )
    promises = []
    for risk in RISKS:
        needed = np.asarray([np.inf if (at := one[risk]) is None else at for one in thresholds])
        answered = said >= needed
        wrong = float(1 - true[answered].mean()) if answered.any() else None
        promises.append(Promise(risk, float(answered.mean()), wrong))
    return Judgement(
        questions=len(said),
        right=float(true.mean()),
        ece=sum(abs(x - y) * n for x, y, n in bins) / len(said),
        brier=float(((said - true) ** 2).mean()),
        auroc=float(summary.auroc(said, true)(np.ones((1, len(said))))[0]),
        promises=tuple(promises),
        reliability=bins,
    )


# A library's own calibration on disk: stored, shown, taken away.


@contextmanager
def _changed(library: Path) -> Iterator[Path]:
    refuse_change(library)
    file = library / CALIBRATION_FILE
    try:
        yield file
    except OSError as error:
        raise LibraryError(
            f"{str(file)!r} cannot be written: {error.strerror or error}",
            hint="check that the disk has room and that you may write there; nothing stored is "
            "lost",
        ) from error


def remove(library: Path) -> bool:
    """Go back to the shipped calibration; whether there was another one."""
    with _changed(library) as file:
        there = file.exists()
        file.unlink(missing_ok=True)
    return there


def in_use(library: Library) -> dict[str, Any]:
    """Whose it is, what the library's own was made from, and why that is not used if it is not."""
    file = library.path / CALIBRATION_FILE
    reader = library.reader().name
    used = load_calibration(reader, file)
    try:  # one that cannot be read is told of by `load_calibration`
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        held = {}
    held = held if isinstance(held, dict) else {}
    return {
        "source": used.source if used.label == "calibrated" else "none",
        "reader": reader,
        "file": str(file) if file.exists() else None,
        "made": held.get("made"),
        "data": held.get("data") or {},
        "warning": used.warning,
        "thresholds": {f"{risk:.2f}": used.risk_threshold(risk) for risk in RISKS},
    }
