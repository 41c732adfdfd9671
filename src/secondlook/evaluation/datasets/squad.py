"""SQuAD 1.1 and 2.0 as published: one JSON file of articles, paragraphs and questions.

The file is one value, not lines: a problem says where in it the row lies.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.evaluation.datasets import fields
from secondlook.evaluation.datasets.evalset import EvalSet
from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.datasets.gathering import Gathering
from secondlook.evaluation.datasets.jsonlines import BROKEN_ARCHIVE, opened, unreadable
from secondlook.evaluation.datasets.passages import Corpus, Passage, as_texts
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from secondlook.library import Text

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
                _take(question, paragraph.passage, gathering)

    corpus = Corpus.survey(distinct(passages()))
    return EvalSet(
        name=path.name.split(".json")[0],
        path=path,
        form="squad",
        cases=tuple(gathering.cases),
        problems=tuple(problems),
        fingerprint=corpus.fingerprint,
        passages=len(corpus.ids),
        read_texts=partial(_texts, file),
    )


def _texts(file: Path) -> Iterator[Text]:
    return as_texts(distinct(paragraph.passage for paragraph in paragraphs(file, [])))


def _take(question: SquadQuestion, passage: Passage, gathering: Gathering) -> None:
    """A question without an answer keeps the paragraph that it seems to be about."""
    try:
        case = Case(
            id=question.id,
            question=question.question,
            answers=fields.answers(span.text for span in question.spans),
            gold={passage.id: 1},
            answerable=question.answerable,
        )
        gathering.take(case, line=None, where=question.where)
    except Malformed as error:
        gathering.tell(None, f"{question.where}: {error.message}")


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
            title = fields.optional_text(_object(article), "title").replace("_", " ")
            listed = fields.optional_list(article, "paragraphs")
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
    context, listed = fields.text(row, "context"), fields.optional_list(row, "qas")
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
        id=fields.identifier(row, "id"),
        question=fields.filled_text(row, "question"),
        spans=tuple(_span(_object(answer)) for answer in fields.optional_list(row, "answers")),
        answerable=not fields.optional_flag(row, "is_impossible", default=False),
        where=where,
    )


def _span(row: Mapping[str, Any]) -> Span:
    start = row.get("answer_start")
    return Span(start if isinstance(start, int) else None, fields.text(row, "text"))


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(f"not an object but {fields.shown(value)}")
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
