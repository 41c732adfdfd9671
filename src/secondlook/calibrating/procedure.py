"""The whole of a calibration: questions, answers, a fit, what it is worth, and where it is kept."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.app.loop import LoopThread
from secondlook.calibrating.answering import Answering
from secondlook.calibrating.fitting import fit
from secondlook.calibrating.report import CalibrationReport
from secondlook.calibrating.sources import from_library, from_path
from secondlook.calibrating.storing import store
from secondlook.errors import UsageError
from secondlook.evaluation.evaluating import MEMORY_FILE
from secondlook.evaluation.indexing import EvaluatedLibrary, cache_folder
from secondlook.evaluation.remembering import Memory
from secondlook.evaluation.running import Progress
from secondlook.library import Library
from secondlook.library.opening import chosen_library
from secondlook.reading.calibration import load_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.calibrating.answering import Answered
    from secondlook.calibrating.asked import Asked
    from secondlook.calibrating.fitting import Fitted
    from secondlook.calibrating.sources import Source
    from secondlook.settings import Settings

    Listener = Callable[[Progress], None]

MOST = 400
FEWEST = 60
"""Questions below which two numbers cannot be told, let alone promised anything by."""
FEWEST_ANSWERED = 50
"""Answers that must come of them."""
FEWEST_OF_EACH = 10
"""Right and wrong answers that there must be to tell them apart."""


def calibrate(
    library: str | Path | Library | None = None,
    questions: str | Path | None = None,
    *,
    most: int = MOST,
    seed: int = 0,
    split: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    settings: Settings | None = None,
    progress: Listener | None = None,
) -> CalibrationReport:
    """Fit the probability that an answer is right to a library (default: the configured one).

    `questions` names a sheet of questions with their answers, or any set that `secondlook eval`
    reads; without it questions are made from the library's own documents. The fit is stored with
    the library where it is better than the shipped calibration on documents that it has not seen,
    or where `force` says so; `dry_run` stores nothing. Ctrl-C changes nothing, and the next call
    goes on with what was read.
    """
    if most < FEWEST:
        raise UsageError(f"{most!r} questions are too few", hint=f"give {FEWEST} or more")
    listen = progress or (lambda _: None)
    with (
        closing(Memory(cache_folder() / MEMORY_FILE)) as memory,
        closing(_opened(library, settings, memory)) as opened,
    ):
        source = _source(opened, questions, memory, most=most, seed=seed, split=split, tell=listen)
        with closing(source.library):
            return _calibrated(opened, source, listen, store_it=not dry_run, force=force)


def _opened(
    library: str | Path | Library | None, settings: Settings | None, memory: Memory
) -> EvaluatedLibrary:
    if isinstance(library, Library):
        path, chosen = library.path, settings or library.settings
    else:
        chosen, path = chosen_library(library, settings)
    opened = EvaluatedLibrary.open(path, create=False, settings=chosen)
    opened.memory = memory
    return opened


def _source(
    library: EvaluatedLibrary,
    questions: str | Path | None,
    memory: Memory,
    *,
    most: int,
    seed: int,
    split: str | None,
    tell: Listener,
) -> Source:
    if questions is None:
        source = from_library(library, most=most, seed=seed)
        where = "its documents hold too few plain English sentences"
    else:
        path = Path(questions)
        source = from_path(path, library, memory, most=most, seed=seed, split=split, progress=tell)
        where = "write more of them, or leave them out to have questions made from the documents"
    if len(source.asked) < FEWEST:
        raise _too_few(source.name, len(source.asked), where)
    return source


def _calibrated(
    library: EvaluatedLibrary, source: Source, tell: Listener, *, store_it: bool, force: bool
) -> CalibrationReport:
    shipped = load_calibration(library.reader().name)
    answered = _answered(source.asked, Answering(source.library, shipped), tell)
    _check(answered, source.name)
    fitted = fit(
        answered,
        shipped,
        promising=all(one.kind == "own" for one in source.asked),
        confidence=library.settings.answer.risk_confidence,
    )
    asked = Counter[str](one.kind for one in source.asked)
    stored = None
    if store_it and (fitted.better or force):
        data = {"questions": source.name, "asked": dict(asked), "answered": len(answered)}
        stored = str(store(library.path, fitted, {**data, "method": fitted.method}))
    return CalibrationReport(
        library=str(library.path),
        reader=shipped.reader,
        source=source.name,
        asked=dict(asked),
        answered=len(answered),
        method=fitted.method,
        before=fitted.before,
        after=fitted.after,
        better=fitted.better,
        stored=stored,
        calibration=fitted.calibration,
        notes=(*source.notes, *_refused(fitted, store_it=store_it, force=force)),
    )


def _answered(asked: Sequence[Asked], answering: Answering, tell: Listener) -> list[Answered]:
    found = []
    with closing(LoopThread()) as loop:
        for done, one in enumerate(asked):
            tell(Progress(done=done, total=len(asked), configuration="asking"))
            answered = loop.run(answering.answer(one))
            if answered is not None:
                found.append(answered)
    return found


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


def _too_few(name: str, number: int, hint: str) -> UsageError:
    return UsageError(f"{name}: {number} questions can be used, and {FEWEST} are needed", hint=hint)


def _refused(fitted: Fitted, *, store_it: bool, force: bool) -> list[str]:
    if fitted.better or not store_it:
        return []
    kept = "stored all the same" if force else "not stored: the calibration in use stays"
    return [f"the new fit is no better than the shipped one on documents it has not seen; {kept}"]
