"""Evaluation sets: questions, what is known about their answers, and documents (docs/data.md)."""

import os
from collections.abc import Sequence
from pathlib import Path

from secondlook.engine.request import ANALYST, AUTO
from secondlook.errors import UsageError
from secondlook.evaluation.datasets.evalset import (
    EvalSet,
    objects,
    read_dabench,
    read_lines,
    unreadable,
)
from secondlook.evaluation.datasets.own import QUESTIONS, read_own

# Which form a path holds, told by the names of its files and, where these agree, by a row.

FORMS = """an evaluation set is one of these (docs/data.md says more):
- your own documents in a folder, and in it questions.csv with the columns question and answer
- a folder with corpus.jsonl (id, title, text) and queries.jsonl (id, question, answers, gold)
- the same without corpus.jsonl, where every question has choices
- questions over tables: questions.jsonl, and beside it a folder `tables`
- an exam: documents in folders, and beside these questions.jsonl (id, question, kind, answers)"""
_FIRST_PROBLEMS = 3


def load(path: Path, *, leave_out: Sequence[Path] = ()) -> EvalSet:
    """`leave_out` names what is no document, such as the results of an earlier run."""
    # As `discover` makes paths absolute: documents must be found below the set's path.
    place = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - resolve() would follow links
    try:
        data = _read(place, leave_out)
    except OSError as error:
        raise unreadable(place, error) from error
    if data.cases and (data.document_count or not data.has_corpus):
        return data
    told = [
        f"{str(data.path)!r} holds no {'passage' if data.cases else 'question'} that can be used"
    ]
    for problem in data.problems[:_FIRST_PROBLEMS]:
        line = f", line {problem.line}" if problem.line else ""
        told.append(f"{problem.file}{line}: {problem.reason}")
    raise UsageError("; ".join(told), hint=FORMS)


def _read(place: Path, leave_out: Sequence[Path]) -> EvalSet:
    if place.is_file() and place.name.casefold() == QUESTIONS:
        return read_own(place.parent, questions=place, leave_out=leave_out)
    files = {one.name.casefold(): one for one in place.iterdir()} if place.is_dir() else {}

    def one(name: str) -> Path | None:
        return files.get(name) or files.get(f"{name}.gz")

    corpus, queries = one("corpus.jsonl"), one("queries.jsonl")
    tables, questions = files.get("tables"), one("questions.jsonl")
    if corpus and queries:
        return read_lines(place, corpus=corpus, queries=queries)
    if sheet := files.get(QUESTIONS):
        return read_own(place, questions=sheet, leave_out=leave_out)
    if queries and next((row for _, row in objects(queries, [])), {}).get("choices"):
        return read_lines(place, corpus=None, queries=queries)
    if questions and tables is not None and tables.is_dir():
        return read_dabench(place, questions=questions, tables=tables)
    if questions:
        return read_own(place, questions=questions, leave_out=leave_out)
    raise UsageError(f"there is no evaluation set at {str(place)!r}", hint=FORMS)


def usual_workflow(path: Path) -> str | None:
    """The one that a set is made for, told by the names of files alone."""
    entries = path.iterdir() if path.is_dir() else ()
    names = {entry.name.casefold().removesuffix(".gz") for entry in entries}
    if "questions.jsonl" not in names:
        return None
    return ANALYST if "tables" in names else AUTO
