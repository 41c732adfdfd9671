"""The forms of public sets: our own lines, to which others are converted, and questions over
tables."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets.evalset import (
    Answers,
    Corpus,
    EvalSet,
    Filled,
    Gathering,
    Id,
    Label,
    Malformed,
    RowForm,
    TableFile,
    as_texts,
    fingerprint,
    opened,
    read_cases,
    read_passages,
    read_row,
)
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from pathlib import Path

# Our own form, to which public sets are converted: `corpus.jsonl` and `queries.jsonl`.

_NOTHING_TO_SEARCH = (
    "there is no corpus, so that nothing is searched: only what a model knows can answer "
    "(--workflow research --set research.guess=true)"
)


class _Labels(RowForm):
    """The first that is filled is what results are broken down by."""

    type: Label = None
    level: Label = None
    difficulty: Label = None
    subject: Label = None

    @property
    def first(self) -> str | None:
        labels = (self.type, self.level, self.difficulty, self.subject)
        return next(filter(None, labels), None)


class _Query(_Labels):
    id: Id
    question: Filled
    answers: Answers = []  # noqa: RUF012
    gold: list[Id] = []  # noqa: RUF012
    answerable: bool = True
    choices: dict[str, str] | None = None
    choice: str | None = None


def read_lines(folder: Path, *, corpus: Path | None, queries: Path) -> EvalSet:
    """Without a corpus: questions of multiple choice alone."""
    problems: list[Problem] = []
    passages = read_passages(corpus, problems, id_field="id") if corpus else iter(())
    known = Corpus.survey(passages)

    def case_of(row: dict[str, Any], gathering: Gathering, line: int) -> Case:
        one = read_row(_Query, row)
        if one.choice and one.choice not in (one.choices or {}):
            raise Malformed(f"choice {one.choice!r} is none of the choices")
        return Case(
            id=one.id,
            question=one.question,
            answers=tuple(one.answers),
            answerable=one.answerable,
            type=one.first,
            subject=one.subject or None,
            choices=one.choices,
            choice=one.choice or None,
            gold=gathering.findable(one.gold, known, line=line) if corpus else {},
        )

    return EvalSet(
        name=folder.name,
        path=folder,
        form="lines",
        cases=read_cases(queries, problems, case_of),
        problems=tuple(problems),
        fingerprint=known.fingerprint,
        passages=len(known.ids),
        has_corpus=corpus is not None,
        notes=known.notes if corpus else (_NOTHING_TO_SEARCH,),
        texts=lambda: as_texts(read_passages(corpus, [], id_field="id") if corpus else ()),
    )


# Questions over tables: a table each, and nothing to search.


class _Task(RowForm):
    id: Id
    question: Filled
    file_name: Filled
    constraints: str = ""
    format: str = ""
    level: Label = None
    answers: list[tuple[str, Any]]


def read_dabench(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    """InfiAgent-DABench as it is published (Hu et al., ICML 2024): questions with constraints and
    the form that their values must have, over CSV files in the folder `tables`."""
    problems: list[Problem] = []
    files = {
        file.name.removesuffix(".gz"): file
        for file in sorted(tables.iterdir())
        if file.is_file() and not file.name.startswith(".")
    }

    def read_table(name: str) -> TableFile:
        with opened(files[name]) as file:
            return TableFile(name, file.read())

    def case_of(row: dict[str, Any], _: Gathering, __: int) -> Case:
        pairs = [
            tuple(pair) if isinstance(pair, list) else pair for pair in row.get("answers") or ()
        ]
        one = read_row(_Task, {**row, "answers": pairs or None})
        if one.file_name not in files:
            raise Malformed(f"its table {one.file_name!r} is not in the folder")
        values = {name: str(value) for name, value in one.answers}
        parts = (one.question, one.constraints.strip(), one.format.strip())
        return Case(
            id=one.id,
            question="\n".join(filter(None, parts)),
            answers=tuple(f"@{name}[{value}]" for name, value in values.items()),
            type=one.level or None,
            table=one.file_name,
            values=tuple((name, str(value)) for name, value in one.answers),
        )

    cases = read_cases(questions, problems, case_of)
    digest = hashlib.sha256()
    asked = sorted({case.table for case in cases if case.table})
    for name in asked:
        fingerprint(digest, name, hashlib.sha256(read_table(name).content).hexdigest())
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        has_corpus=False,
        tables=len(asked),
        notes=("every question is about one table, and is given that one alone",),
        read_table=read_table,
    )
