"""The forms of public sets: our own lines, to which others are converted, and questions over
tables."""

from __future__ import annotations

import csv
import hashlib
import io
import re
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
    objects,
    opened,
    read_cases,
    read_passages,
    read_row,
)
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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


class _TableQuestion(_Labels):
    id: Id
    question: Filled
    table: Id
    answers: Answers = []  # noqa: RUF012


class _TableRow(RowForm):
    table: Id
    header: list[Any]
    rows: list[list[Any]] = []  # noqa: RUF012


class _Task(RowForm):
    id: Id
    question: Filled
    file_name: Filled
    constraints: str = ""
    format: str = ""
    level: Label = None
    answers: list[tuple[str, Any]]


def _table_set(
    folder: Path,
    cases: tuple[Case, ...],
    problems: list[Problem],
    digests: Mapping[str, str],
    read_table: Callable[[str], TableFile],
) -> EvalSet:
    """`digests` are of the tables' contents, by name."""
    digest = hashlib.sha256()
    for name, content in sorted(digests.items()):
        fingerprint(digest, name, content)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        has_corpus=False,
        tables=len(digests),
        notes=("every question is about one table, and is given that one alone",),
        read_table=read_table,
    )


def read_wikitables(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    """WikiTableQuestions (Pasupat and Liang, ACL 2015): `questions.jsonl` names for each question
    its table and the answers, which are right together; `tables.jsonl` holds header and rows."""
    problems: list[Problem] = []
    held: dict[str, bytes] = {}
    for line, row in objects(tables, problems):
        try:
            one = read_row(_TableRow, row)
        except Malformed as error:
            problems.append(Problem(tables.name, line, error.message))
            continue
        text = io.StringIO(newline="")
        csv.writer(text).writerows([one.header, *one.rows])
        held[one.table] = text.getvalue().encode()

    def case_of(row: dict[str, Any], _: Gathering, __: int) -> Case:
        one = read_row(_TableQuestion, row)
        if one.table not in held:
            raise Malformed(f"its table {one.table!r} is not among the tables")
        answers = tuple(one.answers)
        return Case(one.id, one.question, answers, type=one.first, table=one.table)

    def read_table(name: str) -> TableFile:
        """`csv/203-csv/384.csv` as `csv_203_csv_384.csv`."""
        plain = re.sub(r"\W+", "_", name.removesuffix(".csv")).strip("_")
        return TableFile(f"{plain}.csv", held[name])

    digests = {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    cases = read_cases(questions, problems, case_of)
    return _table_set(folder, cases, problems, digests, read_table)


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
    asked = {case.table for case in cases if case.table}
    digests = {name: hashlib.sha256(read_table(name).content).hexdigest() for name in asked}
    return _table_set(folder, cases, problems, digests, read_table)
