"""No text of a test set may reach training: questions, passages, and single sentences of them.

Texts are compared by the hash of their words in lower case, so that spacing and punctuation hide
nothing. A sentence counts from eight words on: shorter ones are common property.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from training.data.rows import read_lines
from training.data.texts import normalised, word_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TELLING_WORDS = 8
_FULL_STOP = re.compile(r"[.!?]+\W*\s+")
"""Whatever the case of the next letter: some test sets are all in lower case."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What must not be trained on, as hashes."""

    texts: set[bytes] = field(default_factory=set)

    def forbid(self, text: str) -> None:
        self.texts.update(_hashes(text))

    def forbid_question(self, question: str) -> None:
        self.texts.add(_hash(question))

    def leaks(self, *texts: str) -> bool:
        """Is any of these texts, or a sentence of one, also in a test set?"""
        return any(code in self.texts for text in texts for code in _hashes(text))


def _hashes(text: str) -> Iterator[bytes]:
    if word_count(text) >= TELLING_WORDS // 2:
        yield _hash(text)
    for sentence in _FULL_STOP.split(text):
        if word_count(sentence) >= TELLING_WORDS:
            yield _hash(sentence)


def _hash(text: str) -> bytes:
    return blake2b(normalised(text).encode(), digest_size=12).digest()


def guard_of(data: Path) -> Guard:
    """Everything in the test sets of the data folder that is there."""
    guard = Guard()
    for name in ("squad2-dev", "shift-new_wiki", "hotpot", "scifact"):
        for row in _lines(data / name / "queries.jsonl.gz"):
            guard.forbid_question(row["question"])
        for row in _lines(data / name / "corpus.jsonl.gz"):
            guard.forbid(row["text"])
    for text in _clapnq_texts(data / "clapnq"):
        guard.forbid(text)
    for text in _judged_texts(data / "faithfulness-human"):
        guard.forbid(text)
    return guard


def gold_titles(folder: Path) -> frozenset[str]:
    """Titles of the passages that the test questions of a folder need."""
    gold = {key for row in _lines(folder / "queries.jsonl.gz") for key in row["gold"]}
    corpus = _lines(folder / "corpus.jsonl.gz")
    return frozenset(row["title"] for row in corpus if row["id"] in gold)


def _clapnq_texts(folder: Path) -> Iterator[str]:
    for name in ("answerable", "unanswerable"):
        for row in _lines(folder / f"{name}.jsonl.gz"):
            yield row["input"]
            yield from (passage["text"] for passage in row["passages"])


def _judged_texts(folder: Path) -> Iterator[str]:
    for row in _lines(folder / "begin.jsonl.gz"):
        yield from (row[name] for name in ("knowledge", "response"))
    for row in _lines(folder / "qags_cnndm.jsonl.gz"):
        yield row["article"]


def _lines(file: Path) -> Iterable[dict[str, Any]]:
    return read_lines(file) if file.exists() else ()
