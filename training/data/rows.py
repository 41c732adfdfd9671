"""What training reads: passages, questions and claims as gzip JSON lines in one folder.

Passages are written once and referred to by line number, so that a row stays small however often
its passage is used. This file needs the standard library alone: the machine that trains has
nothing of the product installed.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Part: TypeAlias = Literal["train", "dev"]
Span: TypeAlias = tuple[int, int]
"""Characters [start, end) of a passage's text."""

PASSAGES_FILE = "passages.jsonl.gz"
QUESTION_FILES: dict[Part, str] = {"train": "qa.jsonl.gz", "dev": "dev_qa.jsonl.gz"}
CLAIM_FILES: dict[Part, str] = {"train": "support.jsonl.gz", "dev": "dev_support.jsonl.gz"}
COMPRESSION = 9
FILES, TOGETHER = "files", "asked and answered, "
"""What the sources of claims begin with that put a question and an answer side by side."""
FORMS = "form"
"""The source of claims that put a question beside a form over a table."""


@dataclass(frozen=True, slots=True)
class Passage:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Positive:
    """A passage that helps to answer. Without a span it is relevant, but alone no answer."""

    passage: int
    span: Span | None


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """A question with a passage that does not answer it, made by code."""

    how: str
    passage: int
    question: str | None = None
    """The altered question; None where it is the row's own."""
    cut: Span | None = None
    """What to take out of the passage's text."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    source: str
    question: str
    answers: tuple[str, ...]
    positives: tuple[Positive, ...]
    """Empty where nothing in this row answers the question (reviews)."""
    negatives: tuple[int, ...]
    """Passages that hold none of the answers, those that share most words first."""
    unanswerable: tuple[Unanswerable, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """Does the premise support the hypothesis? The premise is given, or points at a passage."""

    hypothesis: str
    label: Literal[0, 1]
    source: str
    premise: str | None = None
    passage: int | None = None
    keep: Span | None = None
    """The part of the passage's text that is the premise; None: all of it."""
    cut: Span | None = None
    """What to take out of the passage's text."""

    @property
    def group(self) -> str:
        """Which share of the training mix it belongs to: a sentence, a question with its answer,
        or a question with a form."""
        if self.source.startswith((FILES, f"own: {TOGETHER}")):
            return "together"
        return "forms" if self.source == FORMS else "support"

    def premise_text(self, passages: Sequence[Passage]) -> str:
        if self.premise is not None:
            return self.premise
        if self.passage is None:
            raise ValueError(f"a claim without premise: {self.hypothesis!r}")
        text = passages[self.passage].text
        return text[self.keep[0] : self.keep[1]] if self.keep else without(text, self.cut)


def without(text: str, cut: Span | None) -> str:
    """The text without what was cut, joined by one space."""
    if cut is None:
        return text
    return " ".join(filter(None, (text[: cut[0]].rstrip(), text[cut[1] :].lstrip())))


def read_passages(folder: Path) -> list[Passage]:
    return [Passage(row["title"], row["text"]) for row in read_lines(folder / PASSAGES_FILE)]


def read_questions(folder: Path, part: Part = "train") -> Iterator[Question]:
    for row in read_lines(folder / QUESTION_FILES[part]):
        yield Question(
            id=row["id"],
            source=row["source"],
            question=row["question"],
            answers=tuple(row["answers"]),
            positives=tuple(Positive(p["passage"], _span(p["span"])) for p in row["positives"]),
            negatives=tuple(row["negatives"]),
            unanswerable=tuple(
                Unanswerable(u["how"], u["passage"], u.get("question"), _span(u.get("cut")))
                for u in row.get("unanswerable", ())
            ),
        )


def read_claims(folder: Path, part: Part = "train") -> Iterator[Claim]:
    for row in read_lines(folder / CLAIM_FILES[part]):
        spans = {name: _span(row.pop(name, None)) for name in ("keep", "cut")}
        yield Claim(**(row | spans))


def question_row(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "source": question.source,
        "question": question.question,
        "answers": question.answers,
        "positives": [{"passage": p.passage, "span": p.span} for p in question.positives],
        "negatives": question.negatives,
        "unanswerable": [
            _given(how=u.how, passage=u.passage, question=u.question, cut=u.cut)
            for u in question.unanswerable
        ],
    }


def claim_row(claim: Claim) -> dict[str, Any]:
    return _given(
        premise=claim.premise,
        passage=claim.passage,
        keep=claim.keep,
        cut=claim.cut,
        hypothesis=claim.hypothesis,
        label=claim.label,
        source=claim.source,
    )


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def write_lines(file: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows and say how many. The same rows give the same bytes: no name, no time."""
    count = 0
    with (
        file.open("wb") as raw,
        gzip.GzipFile("", "wb", COMPRESSION, fileobj=raw, mtime=0) as packed,
    ):
        for count, row in enumerate(rows, start=1):  # noqa: B007 the last count is the answer
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            packed.write(line.encode("utf-8") + b"\n")
    return count


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _span(value: Sequence[int] | None) -> Span | None:
    return None if value is None else (value[0], value[1])
