"""Questions made from a library's own documents, without a language model.

Half have an answer: a piece of a sentence is asked for. The others have none: one detail of the
question is exchanged for another (two in three), or the passage that answers is left out of the
search. docs/confidence.md says what such questions are worth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING

from secondlook.calibrating.asked import Asked, Kind, Place
from secondlook.calibrating.asking import question_about
from secondlook.calibrating.pieces import askable
from secondlook.calibrating.statements import Statement, statements
from secondlook.calibrating.swapping import Stock, swapped
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.calibrating.pieces import Piece
    from secondlook.library import Library
    from secondlook.library.report import DocumentInfo

_ROLES: tuple[Kind, ...] = ("made", "swapped", "made", "swapped", "made", "left out")
_WHOLE_DOCUMENT_FROM = 8
"""With so many documents a whole one can be left out; with fewer only the passage itself."""
_MOST_CHARACTERS = 200_000
"""Of one document that are looked at, from a place drawn at random."""
_MOST_STATEMENTS = 400
"""Of one document."""
_NO_PROSE = frozenset(("code", "csv", "sheet", "json", "xml"))
_ENGLISH = frozenset(("en", None))
_TRIES = 3
"""Pieces of a sentence that are tried before it is given up."""
_SHARE = {"phrase": 0.4, "name": 1.0, "number": 1.0, "year": 1.0, "date": 1.0}
"""How much each kind of answer is preferred: noun phrases are the most frequent by far."""

Read = Callable[[str], str]


def made_questions(library: Library, *, most: int, seed: int) -> list[Asked]:
    """At most so many questions, half of them without an answer, evenly from all documents."""
    documents = [item for item in library.documents() if item.passages]
    if not documents:
        raise UsageError(
            f"the library at {str(library.path)!r} is empty: there is nothing to ask about",
            hint="secondlook add FOLDER fills it",
        )
    readable = _readable(documents)
    drawn = sorted(readable, key=lambda item: _lot(seed, item.id))[: 2 * most]
    said = _by_document(drawn, lambda document: library.text(document).text, seed)
    return _Maker(whole=len(documents) >= _WHOLE_DOCUMENT_FROM, seed=seed).make(said, most)


def _readable(documents: list[DocumentInfo]) -> list[DocumentInfo]:
    prose = [item for item in documents if item.kind not in _NO_PROSE]
    if not prose:
        kinds = ", ".join(sorted({item.kind for item in documents}))
        raise UsageError(
            f"the library holds no running text to make questions from, only {kinds}",
            hint="write a questions.csv and name it: secondlook calibrate questions.csv",
        )
    english = [item for item in prose if item.language in _ENGLISH]
    if not english:
        languages = ", ".join(sorted({item.language or "" for item in prose}))
        raise UsageError(
            f"questions are made from English text only; the library is written in {languages}",
            hint="write a questions.csv and name it: secondlook calibrate questions.csv",
        )
    return english


def _by_document(drawn: list[DocumentInfo], read: Read, seed: int) -> list[list[Statement]]:
    found = []
    for item in drawn:
        draw = Random(f"{seed}:{item.id}")  # noqa: S311 - a draw that must be the same each time
        text = read(item.id)
        first = draw.randrange(max(1, len(text) - _MOST_CHARACTERS))
        part = list(statements(item.id, text[first : first + _MOST_CHARACTERS]))
        part = [_moved(one, first) for one in part]
        if part:
            found.append(draw.sample(part, min(len(part), _MOST_STATEMENTS)))
    return found


def _moved(one: Statement, by: int) -> Statement:
    return Statement(one.document, one.text, one.start + by, one.end + by, one.around)


def _lot(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


@dataclass(slots=True)
class _Maker:
    whole: bool
    """Whether whole documents are left out."""
    seed: int
    stock: Stock = field(default_factory=Stock)
    made: dict[str, Asked] = field(default_factory=dict)
    """By question: none is asked twice."""

    def make(self, said: list[list[Statement]], most: int) -> list[Asked]:
        for of_document in said:
            self.stock.take(of_document[0].document, (one.text for one in of_document))
        turns = _turns(said)
        for role in cycle(_ROLES):
            if len(self.made) >= most or not self._next(role, turns):
                break
        return list(self.made.values())

    def _next(self, role: Kind, turns: Iterator[Statement]) -> bool:
        """Whether a question of this kind could be made from the statements that remain."""
        for one in turns:
            draw = Random(f"{self.seed}:{role}:{one.document}:{one.start}")  # noqa: S311
            asked = self._asked(one, role, draw)
            if asked and asked.question not in self.made:
                self.made[asked.question] = asked
                return True
        return False

    def _asked(self, one: Statement, role: Kind, draw: Random) -> Asked | None:
        for piece in _drawn(askable(one.text), draw):
            question = question_about(one.text, piece, draw)
            if question and role == "swapped":
                question = swapped(question, one, self.stock, draw)
            if question:
                return Asked(
                    question=question,
                    answers=(piece.text,),
                    answerable=role == "made",
                    group=one.document,
                    kind=role,
                    left_out=(self._place(one),) if role == "left out" else (),
                )
        return None

    def _place(self, one: Statement) -> Place:
        if self.whole:
            return Place(one.document)
        return Place(one.document, one.start, one.end)


def _drawn(found: list[Piece], draw: Random) -> list[Piece]:
    order = sorted(found, key=lambda piece: draw.random() ** (1 / _SHARE[piece.kind]), reverse=True)
    return order[:_TRIES]


def _turns(said: list[list[Statement]]) -> Iterator[Statement]:
    """One statement of each document in turn."""
    for turn in range(max(map(len, said), default=0)):
        for of_document in said:
            if turn < len(of_document):
                yield of_document[turn]
