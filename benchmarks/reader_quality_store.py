"""Where questions, their candidates and what readers made of them are kept: one file of SQLite.

Questions of evaluate-only sets stay here, under `.cache`, and never enter the repository.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.reading.port import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "reader_quality"
FILE = FOLDER / "readings.db"

_TABLES = """
pragma journal_mode = wal;
pragma synchronous = normal;
create table if not exists passages (
    id text primary key, title text not null, heading text not null, text text not null
) without rowid;
create table if not exists questions (
    data text, id text, place integer not null, asked text not null, found text not null,
    primary key (data, id)
) without rowid;
create table if not exists readings (
    reader text, data text, id text, read text not null, seconds real,
    primary key (reader, data, id)
) without rowid;
create table if not exists readers (label text primary key, reader text not null) without rowid;
"""


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    heading: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that the searches found, and how they found it."""

    passage: str
    document: str
    names: tuple[str, ...]
    """What the set calls the document."""
    start: int
    end: int
    fusion_score: float
    dense_rank: int | None
    lexical_rank: int | None


@dataclass(frozen=True, slots=True)
class Question:
    data: str
    id: str
    question: str
    answers: tuple[str, ...]
    gold: Mapping[str, int]
    answerable: bool
    article: str
    """What questions hang together by: the title of the gold passage, or of the first of them."""
    found: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """What one reader made of the candidates of one question, in their order."""

    readings: tuple[Reading, ...]
    seconds: float | None
    """What it took, where it was read beside the other readers; None where it was not."""


class Store:
    """A run may be cut at any moment: what is here is whole questions."""

    def __init__(self, file: Path = FILE) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, timeout=60)
        self._database.executescript(_TABLES)

    def close(self) -> None:
        self._database.close()

    def add(self, place: int, question: Question, passages: Iterable[Passage]) -> None:
        asked = asdict(question)
        found = asked.pop("found")
        row = (question.data, question.id, place, json.dumps(asked), json.dumps(found))
        with self._database:
            self._database.execute("insert or replace into questions values (?, ?, ?, ?, ?)", row)
            self._database.executemany(
                "insert or ignore into passages values (?, ?, ?, ?)",
                [(one.id, one.title, json.dumps(one.heading), one.text) for one in passages],
            )

    def ids(self, data: str) -> set[str]:
        asked = self._database.execute("select id from questions where data = ?", (data,))
        return {found for (found,) in asked}

    def questions(self, data: str, most: int | None = None) -> list[Question]:
        """The first ones in their order, which has nothing to do with what they ask."""
        asked = self._database.execute(
            "select asked, found from questions where data = ? order by place limit ?",
            (data, -1 if most is None else most),
        )
        return [_question(json.loads(row), json.loads(found)) for row, found in asked]

    def texts(self) -> dict[str, Passage]:
        rows = self._database.execute("select id, title, heading, text from passages")
        return {
            name: Passage(name, title, tuple(json.loads(heading)), text)
            for name, title, heading, text in rows
        }

    def keep(
        self, reader: str, question: Question, readings: Sequence[Reading], seconds: float | None
    ) -> None:
        value = json.dumps([_packed(reading) for reading in readings])
        row = (reader, question.data, question.id, value, seconds)
        with self._database:
            self._database.execute("insert or replace into readings values (?, ?, ?, ?, ?)", row)

    def done(self, reader: str) -> set[tuple[str, str]]:
        rows = self._database.execute("select data, id from readings where reader = ?", (reader,))
        return set(rows)

    def read(self, reader: str, data: str) -> dict[str, Read]:
        rows = self._database.execute(
            "select id, read, seconds from readings where reader = ? and data = ?", (reader, data)
        )
        return {name: Read(tuple(_unpacked(value)), seconds) for name, value, seconds in rows}

    def name_reader(self, label: str, reader: str) -> None:
        with self._database:
            self._database.execute("insert or replace into readers values (?, ?)", (label, reader))

    def readers(self) -> dict[str, str]:
        """Label to identity of the readers that were compared last."""
        return dict(self._database.execute("select label, reader from readers"))


def _question(asked: dict[str, Any], found: list[dict[str, Any]]) -> Question:
    candidates = tuple(Candidate(**{**one, "names": tuple(one["names"])}) for one in found)
    return Question(**{**asked, "answers": tuple(asked["answers"])}, found=candidates)


def _packed(reading: Reading) -> list[float | None]:
    return [
        round(reading.relevance, 5),
        round(reading.answerable, 5),
        reading.start,
        reading.end,
        round(reading.span_score, 5),
        round(reading.null_score, 5),
        reading.windows,
        int(reading.looked),
        None if reading.glance is None else round(reading.glance, 5),
    ]


def _unpacked(value: str) -> Iterator[Reading]:
    for relevance, answerable, start, end, span, null, windows, looked, glance in json.loads(value):
        yield Reading(relevance, answerable, start, end, span, null, windows, bool(looked), glance)
