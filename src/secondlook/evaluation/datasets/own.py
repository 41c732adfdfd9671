"""A person's own documents, and beside them `questions.csv`, or `questions.jsonl` as an exam."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.engine.record import RunStore
from secondlook.errors import Unsupported, UsageError
from secondlook.evaluation.datasets.evalset import (
    EvalSet,
    Malformed,
    Tell,
    cases_of,
    fingerprint,
    read_exam,
    unreadable,
)
from secondlook.evaluation.metrics import is_answered, said
from secondlook.evaluation.records import Case, Problem
from secondlook.export.charts import harmless
from secondlook.files import write_whole

if TYPE_CHECKING:
    from secondlook.settings.sections import RunSettings

QUESTIONS = "questions.csv"
RESULTS_FOLDER = "secondlook-eval"  # among the documents, when run from their folder
_YES = frozenset({"", "yes", "y", "true", "1"})
_NO = frozenset({"no", "n", "false", "0"})


def read_own(folder: Path, *, questions: Path, leave_out: Sequence[Path] = ()) -> EvalSet:
    problems: list[Problem] = []
    is_exam = questions.name.casefold() != QUESTIONS
    shelf = _Shelf(folder)
    # Beside the questions of an exam lies what is about it, such as its README.
    beside = [one for one in folder.iterdir() if one.is_file()] if is_exam else [questions]
    shelf.fill([*beside, *leave_out], problems)
    if not shelf.files:
        raise UsageError(
            f"{str(folder)!r} holds {questions.name}, but no document to ask about",
            hint="put the documents into the same folder, or into folders below it",
        )
    notes: list[str] = []
    if is_exam:
        cases = read_exam(questions, problems, shelf.gold)
    else:
        rows, notes = read_sheet(questions, problems)
        cases = questions_of(questions.name, rows, problems, gold=shelf.gold)
    # An empty answer is easily taken for "there is none", which it does not say.
    unjudged = sum(case.answerable and not case.answers for case in cases)
    if 0 < unjudged < len(cases) and not is_exam:
        those = "1 question has" if unjudged == 1 else f"{unjudged:,} questions have"
        notes.append(
            f"{those} no answer to compare with, and what is answered there counts neither as "
            "right nor as wrong; where the documents hold no answer, write no in a column "
            "`answerable`"
        )
    return EvalSet(
        name=folder.name,
        path=folder,
        form="own",
        cases=cases,
        problems=tuple(problems),
        fingerprint=shelf.fingerprint(),
        documents=tuple(shelf.files.values()),
        notes=tuple(notes),
    )


@dataclass(slots=True)
class _Shelf:
    folder: Path
    files: dict[str, Path] = field(default_factory=dict)  # by path below the folder, with slashes
    by_name: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """As a person may write them: without folders, in any case."""

    def fill(self, leave_out: Sequence[Path], problems: list[Problem]) -> None:
        from secondlook.retrieval.discover import Skipped, discover

        hidden = {os.path.abspath(path) for path in leave_out}  # noqa: PTH100 - as discover does
        for found in discover([self.folder], excludes=[f"{RESULTS_FOLDER}/"]):
            if hidden & {str(place) for place in (found.path, *found.path.parents)}:
                continue
            name = found.path.relative_to(self.folder).as_posix()
            if isinstance(found, Skipped):
                problems.append(Problem(_composed(name), None, found.reason))
                continue
            self.files[name] = found.path
            for written in {_folded(name), _folded(found.path.name)}:
                self.by_name[written].append(name)

    def gold(self, names: Iterable[str], tell: Tell) -> dict[str, int]:
        gold = {}
        for written in names:
            wanted = written.replace("\\", "/").removeprefix("./")
            meant = [wanted] if wanted in self.files else self.by_name.get(_folded(wanted), [])
            if len(meant) == 1:
                gold[meant[0]] = 1
            else:
                which = f"may be any of {', '.join(sorted(meant))}" if meant else "is not indexed"
                tell(f"document {written!r} {which}")
        return gold

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, path in sorted(self.files.items(), key=lambda item: _composed(item[0])):
            try:
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise unreadable(path, error) from error
            fingerprint(digest, _composed(name), content)
        return digest.hexdigest()


def _composed(name: str) -> str:
    """A name that can be stored: file systems differ in how they spell an accent, and some hold
    bytes that are no text."""
    return unicodedata.normalize("NFC", name.encode(errors="replace").decode())


def _folded(name: str) -> str:
    return _composed(name).casefold()


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def questions_of(
    file: str,
    rows: Iterable[SheetRow],
    problems: list[Problem],
    *,
    gold: Callable[[list[str], Tell], dict[str, int]],
) -> tuple[Case, ...]:
    """The rows of a sheet as questions; `gold` says what the names in the column of that name
    mean."""

    def case_of(row: SheetRow, tell: Tell) -> Case:
        cells, answerable = row.cells, row.cells.get("answerable", "").casefold()
        known = gold(_parts(cells.get("gold", "")), tell)
        if not cells.get("question"):
            raise Malformed("question is empty")
        if answerable not in _YES | _NO:
            raise Malformed(f"answerable is {answerable!r}, not yes or no")
        return Case(
            id=cells.get("id") or f"line-{row.line}",
            question=cells["question"],
            answers=tuple(dict.fromkeys(_parts(cells.get("answer", "")))),
            wrong=tuple(_parts(cells.get("wrong", ""))),
            answerable=answerable not in _NO,
            type=cells.get("type") or None,
            gold=known,
        )

    return cases_of(file, ((row.line, row) for row in rows), problems, case_of)


# `questions.csv`, as people's spreadsheets write it: any encoding, any of three separators.

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question",),
    "answer": ("answer", "answers", "expected", "expected_answer"),
    "gold": ("gold", "document", "documents", "source", "sources"),
    "answerable": ("answerable",),
    "wrong": ("wrong",),
    "id": ("id",),
    "type": ("type", "level", "difficulty", "subject"),
}
_FIELDS = {name: field for field, names in COLUMNS.items() for name in names}
HINT = (
    "the first line names the columns: question, answer, and if you like document, answerable, "
    "id, type"
)


@dataclass(frozen=True, slots=True)
class SheetRow:
    line: int
    cells: Mapping[str, str]  # by the names that `COLUMNS` has; a missing cell is empty


def read_sheet(path: Path, problems: list[Problem]) -> tuple[list[SheetRow], list[str]]:
    """Its rows, and notes on what is left out."""
    from secondlook.retrieval.parse.source import decode

    try:
        text, damage = decode(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except Unsupported as error:
        raise UsageError(
            f"{str(path)!r} is no table of text: {error.message}", hint=HINT
        ) from error
    problems.extend(Problem(path.name, None, note) for note in damage)
    # Not splitlines(): a cell may hold characters that only look like the end of a line.
    lines = list(io.StringIO(text.lstrip(), newline=""))
    skipped = text[: len(text) - len(text.lstrip())].count("\n")

    def known(separator: str) -> list[tuple[str, str | None]]:
        """The columns as this separator divides them, each with the field that it is."""
        names = next(csv.reader(lines[:1], delimiter=separator), [])
        keys = [re.sub(r"[\s-]+", "_", name.strip().casefold()) for name in names]
        return [(name.strip(), _FIELDS.get(key)) for name, key in zip(names, keys, strict=True)]

    # The separator that gives the most columns we know is right.
    separators = ("\t", ";", ",")
    separator = max(separators, key=lambda one: sum(field is not None for _, field in known(one)))
    columns = known(separator)
    fields = [field for _, field in columns]
    if "question" not in fields:
        raise UsageError(f"{str(path)!r} has no column `question`", hint=HINT)
    twice = next((name for name in fields if name and fields.count(name) > 1), None)
    if twice:
        raise UsageError(f"{str(path)!r} has two columns for {twice!r}", hint=HINT)
    rows = []
    for number, cells in _records(path, lines, separator, problems):
        if len(cells) > len(fields):
            reason = f"{len(cells)} cells under {len(fields)} columns: is a text unquoted?"
            problems.append(Problem(path.name, number + skipped, reason))
        elif any(cell.strip() for cell in cells):
            named = zip(fields, cells, strict=False)
            held = {one: cell.strip() for one, cell in named if one}
            rows.append(SheetRow(number + skipped, held))
    unread = [name for name, field in columns if field is None and name]
    return rows, [f"the column {name!r} is not read" for name in unread]


def _records(
    path: Path, lines: list[str], separator: str, problems: list[Problem]
) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line. After a row that cannot be read it goes on with
    the line that follows: a quotation mark never closed must not swallow the rest."""
    start = 1
    while start < len(lines):
        reader = csv.reader(lines[start:], delimiter=separator, strict=True)
        before = 0
        try:
            for cells in reader:
                yield start + before + 1, cells
                before = reader.line_num
            start = len(lines)
        except csv.Error as error:
            reason = f"not a row of a table: {error}"
            problems.append(Problem(path.name, start + before + 1, reason))
            start += before + 1


# What a person said of answers, as such a sheet.


def write_feedback(runs: RunSettings, library: Path, file: Path) -> int:
    """The questions to a library whose answers were judged, newest first, each once. A right answer
    is the one to expect, and silence that was right means that there is none; what was wrong, and
    what should have been answered, is left for the person to fill in. How many they are."""
    rows: dict[str, list[str]] = {}
    with RunStore(runs, create=False) as store:
        for run, feedback in store.judged(library):
            answer = run.answer
            if answer is None or answer.asked in rows:
                continue
            given = is_answered(answer)
            short = (answer.short or said(answer)).replace("|", "/") if given else ""
            sources = {Path(one.path).name for one in answer.citations if one.path}
            rows[answer.asked] = [
                answer.asked,
                short if feedback == "right" else "",
                "yes" if given or feedback != "right" else "no",
                short if feedback == "wrong" else "",
                "|".join(sorted(sources)) if feedback == "right" else "",
                answer.run,
            ]
    sheet = io.StringIO(newline="")
    writer = csv.writer(sheet)
    writer.writerow(["question", "answer", "answerable", "wrong", "document", "id"])
    writer.writerows(map(harmless, row) for row in rows.values())
    write_whole(file, sheet.getvalue().encode())  # its owner's alone, as the record is
    return len(rows)
