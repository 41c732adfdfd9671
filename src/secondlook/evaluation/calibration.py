"""What the reader's scores are worth on a person's own documents: `secondlook calibrate`
(docs/confidence.md)."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.engine.secondlook import LoopThread
from secondlook.errors import UsageError
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.confidence import Answering, CalibrationReport, fit, store
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.datasets.own import QUESTIONS, questions_of, read_sheet
from secondlook.evaluation.generated_questions import Asked, Place, made_questions
from secondlook.evaluation.library import EvaluatedLibrary, cache_folder
from secondlook.evaluation.runner import Progress
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.library.library import Library
from secondlook.library.stores import chosen_library
from secondlook.reading.calibration import RISK_CONFIDENCE, load_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.evaluation.confidence import Answered
    from secondlook.evaluation.records import Problem
    from secondlook.settings.sections import Settings

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
    dry_run: bool = False,
    force: bool = False,
    settings: Settings | None = None,
    progress: Listener | None = None,
) -> CalibrationReport:
    """Fit the probability that an answer is right to a library (default: the configured one).

    `questions` names a sheet of questions with their answers, or the folder that holds one;
    without it questions are made from the library's own documents. The fit is stored with
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
        source = _source(opened, questions, most=most, seed=seed)
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


def _calibrated(
    library: EvaluatedLibrary, source: Source, tell: Listener, *, store_it: bool, force: bool
) -> CalibrationReport:
    shipped = load_calibration(library.reader().name)
    answering = Answering(library, shipped)
    answered: list[Answered] = []
    with closing(LoopThread()) as loop:
        for done, one in enumerate(source.asked):
            tell(Progress(done=done, total=len(source.asked), configuration="asking"))
            found = loop.run(answering.answer(one))
            answered += [found] if found is not None else []
    _check(answered, source.name)
    fitted = fit(
        answered,
        shipped,
        promising=all(one.kind == "own" for one in source.asked),
        confidence=RISK_CONFIDENCE,
    )
    asked = dict(Counter[str](one.kind for one in source.asked))
    stored, notes = None, list(source.notes)
    if store_it and (fitted.better or force):
        data = {"questions": source.name, "asked": asked, "answered": len(answered)}
        stored = str(store(library.path, fitted, {**data, "method": fitted.method}))
    if store_it and not fitted.better:
        kept = "stored all the same" if force else "not stored: the calibration in use stays"
        worse = "the new fit is no better than the shipped one on documents it has not seen"
        notes.append(f"{worse}; {kept}")
    return CalibrationReport(
        library=str(library.path),
        reader=shipped.reader,
        source=source.name,
        asked=asked,
        answered=len(answered),
        method=fitted.method,
        before=fitted.before,
        after=fitted.after,
        better=fitted.better,
        stored=stored,
        calibration=fitted.calibration,
        notes=tuple(notes),
    )


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


# Where the questions come from.

_MADE = (
    "made questions are easier than real ones: they move the probability, and what --max-risk "
    "promises stays as it was (docs/confidence.md)"
)
_ONE_SIDED = (
    "every question has an answer in the documents: the probability will be too high for "
    "questions that have none (write no in a column `answerable`)"
)


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    asked: tuple[Asked, ...]
    notes: tuple[str, ...] = ()


def _source(
    library: EvaluatedLibrary, questions: str | Path | None, *, most: int, seed: int
) -> Source:
    if questions is None:
        asked = tuple(made_questions(library, most=most, seed=seed))
        source = Source("the library's own documents", asked, (_MADE,))
        hint = "its documents hold too few plain English sentences"
    else:
        path = Path(questions).expanduser().absolute()
        sheet = path / QUESTIONS if path.is_dir() else path
        source = _of_sheet(sheet, library, most=most, seed=seed)
        hint = "write more of them, or leave them out to have questions made from the documents"
    if len(source.asked) < FEWEST:
        few = f"{len(source.asked)} questions can be used, and {FEWEST} are needed"
        raise UsageError(f"{source.name}: {few}", hint=hint)
    return source


def _of_sheet(path: Path, library: EvaluatedLibrary, *, most: int, seed: int) -> Source:
    problems: list[Problem] = []
    sheet = read_sheet(path, problems)
    # A document is only what questions are dealt into folds by: any name will do.
    cases = questions_of(
        path.name,
        sheet.rows,
        problems,
        gold=lambda row, _: {row.cells["gold"]: 1} if row.cells.get("gold") else {},
    )
    usable = [case for case in cases if case.scored or not case.answerable]
    if not usable:
        raise UsageError(
            f"{path.name!r} holds no question whose answer is known in words",
            hint="fill the column `answer`; where there is none, write no in `answerable`",
        )
    drawn = sample(usable, limit=most, seed=seed)
    notes = list(sheet.notes)
    if problems:
        line = f", line {problems[0].line}" if problems[0].line else ""
        more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        first = f"{problems[0].file}{line}: {problems[0].reason}"
        notes.append(f"not all could be used: {first}{more}")
    if all(case.answerable for case in drawn):
        notes.append(_ONE_SIDED)
    # The sheet itself, where it was added with the folder: it would answer every question.
    left_out = tuple(
        Place(document.id)
        for document in library.documents()
        if any(Path(one) == path for one in document.paths)
    )
    asked = [
        Asked(
            question=case.question,
            answers=case.answers,
            answerable=case.answerable,
            group=next(iter(case.gold), case.id),
            left_out=left_out,
        )
        for case in drawn
    ]
    return Source(path.name, tuple(asked), tuple(notes))


# The reliability plot that `secondlook eval` draws, before and after.


def check_picture(file: Path) -> None:
    """Told before the long work, not after it."""
    from secondlook.evaluation.report import plots

    if file.suffix.lower() not in {".svg", ".png"}:
        raise UsageError(
            f"a plot is written as SVG or PNG, not to {file.name!r}",
            hint="--plot reliability.svg",
        )
    if not plots.can_draw():
        raise UsageError("a plot needs matplotlib", hint=plots.INSTALL)
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {str(file.parent)!r} for the plot")


def draw(report: CalibrationReport, file: Path) -> None:
    from secondlook.evaluation.records import Results, Summary
    from secondlook.evaluation.report import canvas, plots

    check_picture(file)
    judged = {"before": report.before, "after": report.after}
    curves = {
        name: Summary(workflow="linear", reliability=one.reliability)
        for name, one in judged.items()
        if one is not None
    }
    with canvas.plain_style():
        figure = plots.reliability_plot(Results(summaries=curves)).figure
        svg = file.suffix.lower() == ".svg"
        content = canvas.as_svg(figure) if svg else canvas.as_png(figure)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the plot cannot be written to {str(file)!r}: {error.strerror or error}"
        ) from error
