"""What the reader's scores are worth on a person's own documents: `secondlook calibrate`
(docs/confidence.md)."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import LoopThread
from secondlook.errors import UsageError
from secondlook.evaluation import datasets
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.confidence import Answering, CalibrationReport, fit, store
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.datasets.own import QUESTIONS, questions_of, read_sheet
from secondlook.evaluation.generated_questions import Asked, Place, made_questions
from secondlook.evaluation.library import EvaluatedLibrary, cache_folder, open_indexed
from secondlook.evaluation.runner import Progress
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.library.library import Library
from secondlook.library.stores import chosen_library
from secondlook.reading.calibration import RISK_CONFIDENCE, load_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.evaluation.confidence import Answered, Fitted
    from secondlook.evaluation.datasets.evalset import EvalSet, Gathering
    from secondlook.evaluation.datasets.own import SheetRow
    from secondlook.evaluation.records import Case, Point, Problem, Results
    from secondlook.settings.sections import Settings

# The whole of a calibration: questions, answers, a fit, what it is worth, and where it is kept.

if TYPE_CHECKING:
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
        confidence=RISK_CONFIDENCE,
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


# Where the questions come from, and which documents they are asked of.

if TYPE_CHECKING:
    SourcesListener = Callable[[Progress], None]

_SHEETS = frozenset((".csv", ".tsv"))
_MADE = (
    "made questions are easier than real ones: they move the probability, and what --max-risk "
    "promises stays as it was (docs/confidence.md)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Questions, and the library to ask them of."""

    name: str
    asked: tuple[Asked, ...]
    library: EvaluatedLibrary
    notes: tuple[str, ...] = ()


def from_library(library: EvaluatedLibrary, *, most: int, seed: int) -> Source:
    asked = made_questions(library, most=most, seed=seed)
    return Source("the library's own documents", tuple(asked), library, (_MADE,))


def from_path(
    path: Path,
    library: EvaluatedLibrary,
    memory: Memory,
    *,
    most: int,
    seed: int,
    split: str | None,
    progress: SourcesListener,
) -> Source:
    """A sheet of questions is about the library. So is a folder of documents that the library
    holds; any other set brings the documents that its questions are about."""
    path = path.expanduser().absolute()
    if path.is_file() and path.suffix.lower() in _SHEETS:
        return _of_sheet(path, library, most=most, seed=seed)
    data = datasets.load(path, split=split)
    drawn = sample(_usable(data.cases, data.name), limit=most, seed=seed)
    notes = [*data.notes, *_told(data.problems), *_one_sided(drawn)]
    held = _held(data, library)
    if held:
        if lacking := len(data.documents) - held:
            notes.append(f"{lacking:,} documents of the folder are not in the library")
        out = _places(library, path / QUESTIONS)
        return Source(data.name, _asked(drawn, out), library, tuple(notes))

    def listen(indexed: Any) -> None:
        progress(Progress(indexed=indexed))

    searched = open_indexed(data, library.settings, memory, progress=listen)
    notes.append("the questions were asked of the set's own documents, not of the library's")
    return Source(data.name, _asked(drawn), searched, tuple(notes))


def _of_sheet(path: Path, library: EvaluatedLibrary, *, most: int, seed: int) -> Source:
    problems: list[Problem] = []
    sheet = read_sheet(path, problems)
    cases = questions_of(path.name, sheet.rows, problems, gold=_group)
    drawn = sample(_usable(cases, path.name), limit=most, seed=seed)
    notes = (*sheet.notes, *_told(problems), *_one_sided(drawn))
    return Source(path.name, _asked(drawn, _places(library, path)), library, notes)


def _group(row: SheetRow, _: Gathering) -> dict[str, int]:
    """A document is only what questions are dealt into folds by: any name will do."""
    return {row.cells["gold"]: 1} if row.cells.get("gold") else {}


def _usable(cases: Sequence[Case], name: str) -> list[Case]:
    """Those of which right and wrong can be told."""
    found = [case for case in cases if not case.choices and (case.scored or not case.answerable)]
    if not found:
        raise UsageError(
            f"{name!r} holds no question whose answer is known in words",
            hint="fill the column `answer`; where there is none, write no in `answerable`",
        )
    return found


def _asked(cases: Sequence[Case], left_out: tuple[Place, ...] = ()) -> tuple[Asked, ...]:
    return tuple(
        Asked(
            question=case.question,
            answers=case.answers,
            answerable=case.answerable,
            group=next(iter(case.gold), case.id),
            left_out=left_out,
        )
        for case in cases
    )


def _held(data: EvalSet, library: EvaluatedLibrary) -> int:
    """How many of a folder's own documents the library holds."""
    if data.form != "own":
        return 0
    paths = {path for document in library.documents() for path in document.paths}
    return sum(str(path) in paths for path in data.documents)


def _places(library: EvaluatedLibrary, sheet: Path) -> tuple[Place, ...]:
    """The sheet itself, where it was added with the folder: it would answer every question."""
    return tuple(
        Place(document.id)
        for document in library.documents()
        if any(Path(path) == sheet for path in document.paths)
    )


def _told(problems: Sequence[Problem]) -> list[str]:
    if not problems:
        return []
    first = problems[0]
    line = f", line {first.line}" if first.line else ""
    more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
    return [f"not all could be used: {first.file}{line}: {first.reason}{more}"]


def _one_sided(cases: Sequence[Case]) -> list[str]:
    if any(not case.answerable for case in cases):
        return []
    note = (
        "every question has an answer in the documents: the probability will be too high for "
        "questions that have none (write no in a column `answerable`)"
    )
    return [note]


# Reliability before and after: how often answers are right, by how likely they were said to be.

WIDTH, HEIGHT = 31, 11
_POINT, _DIAGONAL = "●", "·"
_GAP = "   "
_PICTURES = frozenset((".svg", ".png"))


def as_text(report: CalibrationReport) -> str:
    """Both curves side by side; points on the dotted line mean what they say."""
    parts = [("after", report.after)]
    if report.before is not None:
        parts.insert(0, ("before", report.before))
    plots = [_plot(name, judgement.reliability) for name, judgement in parts]
    lines = zip_longest(*plots, fillvalue="")
    return "\n".join(_GAP.join(line).rstrip() for line in lines)


def _plot(name: str, points: Sequence[Point]) -> list[str]:
    marks = {(_row(x / (WIDTH - 1)), x): _DIAGONAL for x in range(WIDTH)}
    marks |= {(_row(point.y), round(point.x * (WIDTH - 1))): _POINT for point in points}
    rows = []
    for row in range(HEIGHT):
        scale = {0: "1.0", HEIGHT // 2: "0.5", HEIGHT - 1: "0.0"}.get(row, "")
        body = "".join(marks.get((row, x), " ") for x in range(WIDTH))
        rows.append(f"{scale:>4} |{body}")
    below = f"{'':>5}0{'probability':^{WIDTH - 2}}1"
    return [f"{'':>6}{f'{name}: share right':<{WIDTH}}", *rows, below]


def _row(share: float) -> int:
    return HEIGHT - 1 - round(share * (HEIGHT - 1))


def check_picture(file: Path) -> None:
    """Told before the long work, not after it."""
    from secondlook.evaluation.report import plots

    if file.suffix.lower() not in _PICTURES:
        raise UsageError(
            f"a plot is written as SVG or PNG, not to {file.name!r}",
            hint="--plot reliability.svg",
        )
    if not plots.can_draw():
        raise UsageError("a plot needs matplotlib", hint=plots.INSTALL)
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {str(file.parent)!r} for the plot")


def draw(report: CalibrationReport, file: Path) -> None:
    """The same plot that `secondlook eval` draws, with both curves."""
    from secondlook.evaluation.report import canvas
    from secondlook.evaluation.report import plots as knowing

    check_picture(file)
    with canvas.plain_style():
        figure = knowing.reliability_plot(_as_results(report)).figure
        svg = file.suffix.lower() == ".svg"
        content = canvas.as_svg(figure) if svg else canvas.as_png(figure)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the plot cannot be written to {str(file)!r}: {error.strerror or error}"
        ) from error


def _as_results(report: CalibrationReport) -> Results:
    from secondlook.evaluation.records import Results, Summary

    curves = {"after": report.after.reliability}
    if report.before is not None:
        curves = {"before": report.before.reliability, **curves}
    return Results(
        summaries={
            name: Summary(workflow="linear", reliability=points) for name, points in curves.items()
        }
    )
