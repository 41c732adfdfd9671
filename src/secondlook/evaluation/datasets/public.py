"""SQuAD 1.1 and 2.0 as published: one JSON file of articles, paragraphs and questions.

The file is one value, not lines: a problem says where in it the row lies.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.evaluation.datasets import evalset
from secondlook.evaluation.datasets.evalset import (
    BROKEN_ARCHIVE,
    Corpus,
    EvalSet,
    Gathering,
    Malformed,
    Passage,
    TableFile,
    as_texts,
    first_object,
    numbered_lines,
    objects,
    opened,
    read_cases,
    read_passages,
    shown,
    table_set,
    unreadable,
)
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


_ID_LENGTH = 16
_BEGINNING = 1 << 16


@dataclass(frozen=True, slots=True)
class Span:
    start: int | None
    text: str


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
            for question in paragraph.questions:
                # A question without an answer keeps the paragraph that it seems to be about.
                try:
                    case = Case(
                        id=question.id,
                        question=question.question,
                        answers=evalset.answers(span.text for span in question.spans),
                        gold={paragraph.passage.id: 1},
                        answerable=question.answerable,
                    )
                    gathering.take(case, line=None, where=question.where)
                except Malformed as error:
                    gathering.tell(None, f"{question.where}: {error.message}")

    corpus = Corpus.survey(distinct(passages()))
    return EvalSet(
        name=path.name.split(".json")[0],
        path=path,
        form="squad",
        cases=tuple(gathering.cases),
        problems=tuple(problems),
        fingerprint=corpus.fingerprint,
        passages=len(corpus.ids),
        texts=lambda: as_texts(distinct(one.passage for one in paragraphs(file, []))),
    )


def named_by_content(title: str, text: str) -> Passage:
    """Named by a hash, so that a paragraph that stands in several places is kept once."""
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
    return Passage(digest[:_ID_LENGTH], title, text)


def distinct(passages: Iterator[Passage]) -> Iterator[Passage]:
    seen: set[str] = set()
    for passage in passages:
        if passage.id not in seen:
            seen.add(passage.id)
            yield passage


def looks_like_squad(file: Path) -> bool:
    """By its beginning alone: other JSON files may be large."""
    try:
        with opened(file) as source:
            return b'"paragraphs"' in source.read(_BEGINNING)
    except (OSError, *BROKEN_ARCHIVE):
        return False


def paragraphs(file: Path, problems: list[Problem]) -> Iterator[Paragraph]:
    """Every paragraph that can be used, with those of its questions that can."""
    for number, article in enumerate(_articles(file)):
        place = f"data[{number}]"
        try:
            title = evalset.optional_text(_object(article), "title").replace("_", " ")
            listed = evalset.optional_list(article, "paragraphs")
        except Malformed as error:
            problems.append(Problem(file.name, None, f"{place}: {error.message}"))
            continue
        for index, paragraph in enumerate(listed):
            where = f"{place}.paragraphs[{index}]"
            try:
                yield _paragraph(_object(paragraph), title, where, file, problems)
            except Malformed as error:
                problems.append(Problem(file.name, None, f"{where}: {error.message}"))


def _paragraph(
    row: Mapping[str, Any], title: str, where: str, file: Path, problems: list[Problem]
) -> Paragraph:
    context, listed = evalset.text(row, "context"), evalset.optional_list(row, "qas")
    if not context.strip():
        raise Malformed(f"context is empty, which leaves out {len(listed)} questions")
    questions = []
    for index, question in enumerate(listed):
        place = f"{where}.qas[{index}]"
        try:
            questions.append(_question(_object(question), place))
        except Malformed as error:
            problems.append(Problem(file.name, None, f"{place}: {error.message}"))
    return Paragraph(named_by_content(title, context), tuple(questions))


def _question(row: Mapping[str, Any], where: str) -> SquadQuestion:
    return SquadQuestion(
        id=evalset.identifier(row, "id"),
        question=evalset.filled_text(row, "question"),
        spans=tuple(_span(_object(answer)) for answer in evalset.optional_list(row, "answers")),
        answerable=not evalset.optional_flag(row, "is_impossible", default=False),
        where=where,
    )


def _span(row: Mapping[str, Any]) -> Span:
    start = row.get("answer_start")
    return Span(start if isinstance(start, int) else None, evalset.text(row, "text"))


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(f"not an object but {evalset.shown(value)}")
    return value


def _articles(file: Path) -> list[Any]:
    try:
        with opened(file) as source:
            # A byte that is no UTF-8 costs the row that it is in, as fields.py finds it there.
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
_PREFERRED = ("test", "dev", "train")


def read_beir(folder: Path, *, corpus: Path, queries: Path, split: str | None) -> EvalSet:
    chosen = _chosen_split(folder, split)
    problems: list[Problem] = []
    known = Corpus.survey(read_passages(corpus, problems, id_field=BEIR_ID_FIELD))
    file = f"{JUDGEMENTS}/{chosen}.tsv"
    lines, gold = _judgements(folder / file, file, known, problems)
    unknown, without_gold = dict(lines), 0

    def case_of(row: dict[str, Any], _: Gathering, __: int) -> Case | None:
        nonlocal without_gold
        query = evalset.identifier(row, BEIR_ID_FIELD)
        unknown.pop(query, None)
        if query in gold:
            return Case(query, evalset.filled_text(row, "text"), gold=gold[query])
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


def _chosen_split(folder: Path, split: str | None) -> str:
    there = sorted(path.stem for path in (folder / JUDGEMENTS).glob("*.tsv"))
    wanted = _PREFERRED if split is None else (split,)
    for name in wanted:
        if name in there:
            return name
    if split is None and len(there) == 1:
        return there[0]
    lacking = f"the split {split!r}" if split else "test, dev or train"
    listed = ", ".join(f"{name}.tsv" for name in there) or "nothing"
    raise UsageError(
        f"{str(folder)!r} has no judgements of {lacking}",
        hint=f"in {JUDGEMENTS}/ there is: {listed}",
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
        if not data.strip() or (line == 1 and _is_header(data)):
            continue
        try:
            query, document, grade = _judgement(data)
        except Malformed as error:
            gathering.tell(line, error.message)
            continue
        lines.setdefault(query, line)
        if seen.setdefault((query, document), grade) != grade:
            gathering.tell(line, f"{document!r} was given another grade for {query!r} before")
        elif grade > 0:
            found = gathering.findable({document: grade}, corpus, line=line)
            gold.setdefault(query, {}).update(found)
    return lines, gold


def _is_header(data: bytes) -> bool:
    first, *_, last = data.lower().split(b"\t")
    return b"query" in first and not last.strip().isdigit()


def _judgement(data: bytes) -> tuple[str, str, int]:
    try:
        cells = [cell.strip() for cell in data.decode().split("\t")]
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 at byte {error.start + 1} of the line") from error
    if len(cells) != 3 or not all(cells):  # noqa: PLR2004
        raise Malformed("not three columns with tabs between: query, document, grade")
    query, document, grade = cells
    try:
        return query, document, int(grade)
    except ValueError as error:
        raise Malformed(f"grade {evalset.shown(grade)} is no whole number") from error


# The form that public sets are converted to: `corpus.jsonl` and `queries.jsonl`.

ID_FIELD = "id"
TYPE_FIELDS = ("type", "level", "difficulty", "subject")
"""Fields by which questions are told apart; the first that is filled counts."""


_NOTHING_TO_SEARCH = (
    "there is no corpus, so that nothing is searched: only what a model knows can answer "
    "(--workflow research --set research.guess=true)"
)


def has_choices(queries: Path) -> bool:
    """Whether the questions can be put to a model without a corpus: those of multiple choice."""
    return bool(first_object(queries).get("choices"))


def read_lines(folder: Path, *, corpus: Path | None, queries: Path) -> EvalSet:
    """Without a corpus: questions of multiple choice alone."""
    problems: list[Problem] = []
    passages = read_passages(corpus, problems, id_field=ID_FIELD) if corpus else iter(())
    known = Corpus.survey(passages)
    held = known if corpus else None
    cases = read_cases(queries, problems, lambda row, told, at: _case(row, told, held, at))
    return EvalSet(
        name=folder.name,
        path=folder,
        form="lines",
        cases=cases,
        problems=tuple(problems),
        fingerprint=known.fingerprint,
        passages=len(known.ids),
        has_corpus=corpus is not None,
        notes=known.notes if corpus else (_NOTHING_TO_SEARCH,),
        texts=lambda: as_texts(read_passages(corpus, [], id_field=ID_FIELD) if corpus else ()),
    )


def _case(row: dict[str, Any], gathering: Gathering, corpus: Corpus | None, line: int) -> Case:
    named = [evalset.as_identifier(gold, "gold") for gold in evalset.optional_list(row, "gold")]
    gold = dict.fromkeys(named, 1)
    choices = evalset.text_map(row, "choices")
    choice = evalset.optional_text(row, "choice") or None
    if choice is not None and choice not in (choices or {}):
        raise Malformed(f"choice {evalset.shown(choice)} is none of the choices")
    return Case(
        id=evalset.identifier(row, ID_FIELD),
        question=evalset.filled_text(row, "question"),
        answers=evalset.answers(evalset.optional_list(row, "answers")),
        answerable=evalset.optional_flag(row, "answerable", default=True),
        type=evalset.first_label(row, TYPE_FIELDS),
        subject=evalset.first_label(row, ("subject",)),
        choices=choices,
        choice=choice,
        gold=gathering.findable(gold, corpus, line=line) if corpus else {},
    )


# WikiTableQuestions (Pasupat and Liang, ACL 2015): `questions.jsonl` names for each question
# its table and the answers, which are right together; `tables.jsonl` holds header and rows.


def read_wikitables(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    problems: list[Problem] = []
    held: dict[str, bytes] = {}
    for line, row in objects(tables, problems):
        try:
            held[evalset.identifier(row, "table")] = _as_csv(row)
        except Malformed as error:
            problems.append(Problem(tables.name, line, error.message))
    cases = read_cases(questions, problems, lambda row, *_: _wikitables_case(row, held))
    return table_set(
        folder,
        cases,
        problems,
        {name: hashlib.sha256(content).hexdigest() for name, content in held.items()},
        # `csv/203-csv/384.csv` as `csv_203_csv_384.csv`
        lambda name: TableFile(
            re.sub(r"\W+", "_", name.removesuffix(".csv")).strip("_") + ".csv", held[name]
        ),
    )


def _as_csv(row: dict[str, Any]) -> bytes:
    header, rows = evalset.optional_list(row, "header"), evalset.optional_list(row, "rows")
    if not header or not all(isinstance(one, list) for one in rows):
        raise Malformed("a table has a header and rows, each a list")
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *rows])
    return text.getvalue().encode()


def _wikitables_case(row: dict[str, Any], held: dict[str, bytes]) -> Case:
    table = evalset.identifier(row, "table")
    if table not in held:
        raise Malformed(f"its table {table!r} is not among the tables")
    return Case(
        id=evalset.identifier(row, "id"),
        question=evalset.filled_text(row, "question"),
        answers=evalset.answers(evalset.optional_list(row, "answers")),
        type=evalset.first_label(row, TYPE_FIELDS),
        table=table,
    )


# InfiAgent-DABench as it is published (Hu et al., ICML 2024): questions with constraints and
# the form that their values must have, over CSV files in the folder `tables`.


def read_dabench(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    problems: list[Problem] = []
    files = {
        file.name.removesuffix(".gz"): file
        for file in sorted(tables.iterdir())
        if file.is_file() and not file.name.startswith(".")
    }

    def read_table(name: str) -> TableFile:
        with opened(files[name]) as file:
            return TableFile(name, file.read())

    cases = read_cases(questions, problems, lambda row, *_: _dabench_case(row, files))
    asked = {case.table for case in cases if case.table}
    digests = {name: hashlib.sha256(read_table(name).content).hexdigest() for name in asked}
    return table_set(folder, cases, problems, digests, read_table)


def _dabench_case(row: dict[str, Any], files: dict[str, Path]) -> Case:
    name = evalset.filled_text(row, "file_name")
    if name not in files:
        raise Malformed(f"its table {name!r} is not in the folder")
    values = tuple(_value(pair) for pair in evalset.optional_list(row, "answers"))
    if not values:
        raise Malformed("answers are missing")
    parts = [
        evalset.filled_text(row, "question"),
        evalset.optional_text(row, "constraints").strip(),
        evalset.optional_text(row, "format").strip(),
    ]
    return Case(
        id=evalset.identifier(row, "id"),
        question="\n".join(part for part in parts if part),
        answers=tuple(f"@{name}[{value}]" for name, value in dict(values).items()),
        type=evalset.first_label(row, ("level",)),
        table=name,
        values=values,
    )


def _value(pair: object) -> tuple[str, str]:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):  # noqa: PLR2004
        raise Malformed(f"an answer is {shown(pair)}, not a name and its value")
    return pair[0], str(pair[1])
