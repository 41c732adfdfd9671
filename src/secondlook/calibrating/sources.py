"""Where the questions come from, and which documents they are asked of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.calibrating.asked import Asked, Place
from secondlook.calibrating.making import made_questions
from secondlook.errors import UsageError
from secondlook.evaluation import datasets
from secondlook.evaluation.datasets.own import QUESTIONS, questions_of
from secondlook.evaluation.datasets.spreadsheet import read_sheet
from secondlook.evaluation.indexing import open_indexed
from secondlook.evaluation.running import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.evaluation.datasets import EvalSet
    from secondlook.evaluation.datasets.gathering import Gathering
    from secondlook.evaluation.datasets.spreadsheet import SheetRow
    from secondlook.evaluation.indexing import EvaluatedLibrary
    from secondlook.evaluation.records import Case, Problem
    from secondlook.evaluation.remembering import Memory

    Listener = Callable[[Progress], None]

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
    progress: Listener,
) -> Source:
    """A sheet of questions is about the library. So is a folder of documents that the library
    holds; any other set brings the documents that its questions are about."""
    path = path.expanduser().absolute()
    if path.is_file() and path.suffix.lower() in _SHEETS:
        return _of_sheet(path, library, most=most, seed=seed)
    data = datasets.load(path, split=split)
    drawn = datasets.sample(_usable(data.cases, data.name), limit=most, seed=seed)
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
    drawn = datasets.sample(_usable(cases, path.name), limit=most, seed=seed)
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
