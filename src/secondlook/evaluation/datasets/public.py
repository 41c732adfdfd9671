"""The forms of public sets: SQuAD 1.1 and 2.0 and the BEIR collection as published, our own lines,
and questions over tables."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.evaluation.datasets.evalset import (
    BROKEN_ARCHIVE,
    Answers,
    Corpus,
    EvalSet,
    Filled,
    Gathering,
    Id,
    Label,
    Malformed,
    Passage,
    RowForm,
    TableFile,
    as_texts,
    fingerprint,
    numbered_lines,
    objects,
    opened,
    read_cases,
    read_passages,
    read_row,
    shown,
    unreadable,
)
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# SQuAD: one JSON file of articles, paragraphs and questions. It is one value, not lines: a problem
# says where in it the row lies.


class Span(RowForm):
    answer_start: int | None = None
    text: str


class _Article(RowForm):
    title: str = ""
    paragraphs: list[Any] = []  # noqa: RUF012 - pydantic copies it


class _Paragraph(RowForm):
    context: str
    qas: list[Any] = []  # noqa: RUF012


class _Question(RowForm):
    id: Id
    question: Filled
    answers: list[Span] = []  # noqa: RUF012
    is_impossible: bool = False


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    id: str
    question: str
    spans: tuple[Span, ...]
    """As annotators gave them: the same answer may come several times."""
    answerable: bool
    where: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    passage: Passage
    questions: tuple[SquadQuestion, ...]


def read_squad(file: Path, *, path: Path) -> EvalSet:
    """`path` is what was asked for: the file, or the folder that holds it alone."""
    problems: list[Problem] = []
    gathering = Gathering(file.name, problems)

    def passages() -> Iterator[Passage]:
        for paragraph in paragraphs(file, problems):
            yield paragraph.passage
            for one in paragraph.questions:
                texts = [span.text.strip() for span in one.spans]
                # A question without an answer keeps the paragraph that it seems to be about.
                case = Case(
                    id=one.id,
                    question=one.question,
                    answers=tuple(dict.fromkeys(texts)),
                    gold={paragraph.passage.id: 1},
                    answerable=one.answerable,
                )
                try:
                    if not all(texts):
                        raise Malformed("an answer is empty")  # noqa: TRY301
                    gathering.take(case, line=None, where=one.where)
                except Malformed as error:
                    gathering.tell(None, f"{one.where}: {error.message}")

    corpus = Corpus.survey(_distinct(passages()))
    return EvalSet(
        name=path.name.split(".json")[0],
        path=path,
        form="squad",
        cases=tuple(gathering.cases),
        problems=tuple(problems),
        fingerprint=corpus.fingerprint,
        passages=len(corpus.ids),
        texts=lambda: as_texts(_distinct(one.passage for one in paragraphs(file, []))),
    )


def named_by_content(title: str, text: str) -> Passage:
    """Named by a hash, so that a paragraph that stands in several places is kept once."""
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
    return Passage(digest[:16], title, text)


def _distinct(passages: Iterator[Passage]) -> Iterator[Passage]:
    seen: set[str] = set()
    for passage in passages:
        if passage.id not in seen:
            seen.add(passage.id)
            yield passage


def looks_like_squad(file: Path) -> bool:
    """By its beginning alone: other JSON files may be large."""
    try:
        with opened(file) as source:
            return b'"paragraphs"' in source.read(1 << 16)
    except (OSError, *BROKEN_ARCHIVE):
        return False


def paragraphs(file: Path, problems: list[Problem]) -> Iterator[Paragraph]:
    """Every paragraph that can be used, with those of its questions that can."""

    def usable(form: type[Any], rows: list[Any], place: str) -> Iterator[tuple[str, Any]]:
        for at, row in enumerate(rows):
            where = f"{place}[{at}]"
            try:
                yield where, read_row(form, row)
            except Malformed as error:
                problems.append(Problem(file.name, None, f"{where}: {error.message}"))

    for place, article in usable(_Article, _articles(file), "data"):
        title = article.title.replace("_", " ")
        for where, one in usable(_Paragraph, article.paragraphs, f"{place}.paragraphs"):
            if not one.context.strip():
                reason = f"{where}: context is empty, which leaves out {len(one.qas)} questions"
                problems.append(Problem(file.name, None, reason))
                continue
            questions = [
                SquadQuestion(row.id, row.question, tuple(row.answers), not row.is_impossible, at)
                for at, row in usable(_Question, one.qas, f"{where}.qas")
            ]
            yield Paragraph(named_by_content(title, one.context), tuple(questions))


def _articles(file: Path) -> list[Any]:
    try:
        with opened(file) as source:
            # A byte that is no UTF-8 costs the row that it is in.
            found = json.loads(source.read().decode("utf-8-sig", "surrogateescape"))
    except BROKEN_ARCHIVE as error:
        raise UsageError(f"{str(file)!r} is a damaged archive: {error}") from error
    except OSError as error:
        raise unreadable(file, error) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{str(file)!r} is not JSON: {error}") from error
    articles = found.get("data") if isinstance(found, dict) else None
    if not isinstance(articles, list):
        raise UsageError(
            f"{str(file)!r} is JSON, but not in the form of SQuAD: it has no list `data`",
            hint="docs/data.md describes the forms that an evaluation set may have",
        )
    return articles


# Sets as the BEIR collection publishes them: corpus, queries, and judgements in `qrels/`.

BEIR_ID_FIELD = "_id"
JUDGEMENTS = "qrels"


class _BeirQuery(RowForm):
    id: Id
    text: Filled


def read_beir(folder: Path, *, corpus: Path, queries: Path, split: str | None) -> EvalSet:
    there = sorted(path.stem for path in (folder / JUDGEMENTS).glob("*.tsv"))
    wanted = ("test", "dev", "train", *there[:1]) if len(there) == 1 else ("test", "dev", "train")
    chosen = next((one for one in (wanted if split is None else [split]) if one in there), None)
    if chosen is None:
        lacking = f"the split {split!r}" if split else "test, dev or train"
        listed = ", ".join(f"{name}.tsv" for name in there) or "nothing"
        raise UsageError(
            f"{str(folder)!r} has no judgements of {lacking}",
            hint=f"in {JUDGEMENTS}/ there is: {listed}",
        )
    problems: list[Problem] = []
    known = Corpus.survey(read_passages(corpus, problems, id_field=BEIR_ID_FIELD))
    file = f"{JUDGEMENTS}/{chosen}.tsv"
    unknown, gold = _judgements(folder / file, file, known, problems)
    without_gold = 0

    def case_of(row: dict[str, Any], _: Gathering, __: int) -> Case | None:
        nonlocal without_gold
        found = read_row(_BeirQuery, {**row, "id": row.get(BEIR_ID_FIELD)})
        unknown.pop(found.id, None)
        if found.id in gold:
            return Case(found.id, found.text, gold=gold[found.id])
        without_gold += 1
        return None

    cases = read_cases(queries, problems, case_of)
    for query, line in unknown.items():
        problems.append(Problem(file, line, f"query {query!r} is not among the queries"))
    left_out = f"{without_gold:,} queries without a relevant passage in {file} are left out"
    return EvalSet(
        name=folder.name,
        path=folder,
        form="beir",
        cases=cases,
        problems=tuple(problems),
        fingerprint=known.fingerprint,
        passages=len(known.ids),
        split=chosen,
        notes=(*known.notes, *([left_out] if without_gold else [])),
        texts=lambda: as_texts(read_passages(corpus, [], id_field=BEIR_ID_FIELD)),
    )


def _judgements(
    path: Path, file: str, corpus: Corpus, problems: list[Problem]
) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Where each query is judged first; of each query with a relevant passage, the grades of those
    that are in the corpus."""
    gathering = Gathering(file, problems)
    lines: dict[str, int] = {}
    gold: dict[str, dict[str, int]] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, data in numbered_lines(path, file, problems):
        cells = [cell.strip() for cell in data.decode(errors="replace").split("\t")]
        if not any(cells) or (line == 1 and "query" in cells[0] and not cells[-1].isdigit()):
            continue
        if len(cells) != 3 or not all(cells):  # noqa: PLR2004
            gathering.tell(line, "not three columns with tabs between: query, document, grade")
            continue
        query, document, grade = cells
        if not grade.lstrip("+-").isdecimal():
            gathering.tell(line, f"grade {shown(grade)} is no whole number")
            continue
        lines.setdefault(query, line)
        if seen.setdefault((query, document), int(grade)) != int(grade):
            gathering.tell(line, f"{document!r} was given another grade for {query!r} before")
        elif int(grade) > 0:
            found = gathering.findable({document: int(grade)}, corpus, line=line)
            gold.setdefault(query, {}).update(found)
    return lines, gold


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
            raise Malformed(f"choice {shown(one.choice)} is none of the choices")
        gold = dict.fromkeys(one.gold, 1)
        return Case(
            id=one.id,
            question=one.question,
            answers=tuple(one.answers),
            answerable=one.answerable,
            type=one.first,
            subject=one.subject or None,
            choices=one.choices,
            choice=one.choice or None,
            gold=gathering.findable(gold, known, line=line) if corpus else {},
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
