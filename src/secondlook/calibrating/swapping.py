"""Questions that nothing answers: one detail is exchanged for another of its kind.

The new detail comes from elsewhere in the library, so that it is one which the documents know, but
does not stand in the passage that the question was made from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.calibrating.pieces import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from secondlook.calibrating.pieces import Piece
    from secondlook.calibrating.statements import Statement

_PAIRS = """
first last; largest smallest; highest lowest; oldest newest; longest shortest; earliest latest;
greatest smallest; best worst; more less; larger smaller; higher lower; older younger;
longer shorter; earlier later; before after; above below; inside outside; upper lower; north south;
east west; northern southern; eastern western; increase decrease; increased decreased; rose fell;
gained lost; won lost; began ended; started stopped; opened closed; accepted rejected;
supported opposed; included excluded; public private; major minor; maximum minimum; men women;
father mother; son daughter; positive negative; legal illegal; early late; import export;
bought sold; most least; always never; joined left
"""
_TRIES = 40
_STOCKED = 2000
"""Details of one kind that are kept; more would be drawn from no better."""


def _opposites() -> dict[str, str]:
    pairs = [pair.split() for pair in _PAIRS.split(";")]
    return {one: other for left, right in pairs for one, other in ((left, right), (right, left))}


_OPPOSITES = _opposites()
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")
_DEMONYM = re.compile(r"\w+(?:ian|ean|ican|ish|ese|ic|ist)s?|Romans?|Germans?")
_ASKS = re.compile(r"\b(?:who|what|when|where|how)\b", re.IGNORECASE)


@dataclass(slots=True)
class Stock:
    """Names, numbers and dates of a library, by form: those of one form stand for each other."""

    held: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """By form: each detail with the document that it was first seen in."""

    def take(self, document: str, texts: Iterable[str]) -> None:
        for text in texts:
            for piece in pieces(text):
                alike = self.held[form(piece)]
                if piece.kind != "phrase" and len(alike) < _STOCKED:
                    alike.setdefault(piece.text, document)

    def other(self, piece: Piece, *, document: str, absent_from: str, draw: Random) -> str | None:
        """Another one of the piece's form that shares no word with the text, of the same document
        where there is one: what is near is hard to tell from what is there."""
        alike = self.held.get(form(piece), {})
        near = [new for new, where in alike.items() if where == document]
        far = [new for new, where in alike.items() if where != document]
        for pool in (near, far):
            for new in draw.sample(pool, min(_TRIES, len(pool))):
                if not any(_stands_in(word, absent_from) for word in new.split() if word[1:]):
                    return new
        return None


def form(piece: Piece) -> str:
    if piece.kind == "name":
        words = piece.text.split()
        case = "capitals" if piece.text.isupper() else "name"
        used = ("people" if _DEMONYM.fullmatch(piece.text) else "") + (
            " the" if piece.before == "the" else ""
        )
        return f"{case} {min(len(words), 3)} {used}"
    if piece.kind == "number":
        return f"number {len(piece.text)} {piece.text.count('.')} {piece.text.isalpha()}"
    shape = re.sub(r"[A-Za-z]+", "a", re.sub(r"\d", "0", piece.text))
    return f"{piece.kind} {shape}"


def swapped(question: str, said: Statement, stock: Stock, draw: Random) -> str | None:
    """The question about a statement with one detail exchanged; None where it has none, or none
    fits."""
    changes = [*_details(question, said, stock, draw), *_turned(question, said.around)]
    return draw.choice(changes) if changes else None


def _details(question: str, said: Statement, stock: Stock, draw: Random) -> list[str]:
    found = []
    for piece in pieces(question):
        if piece.kind == "phrase" or _ASKS.search(piece.text):
            continue
        new = stock.other(piece, document=said.document, absent_from=said.around, draw=draw)
        if new:
            found.append(question[: piece.start] + new + question[piece.end :])
    return found


def _turned(question: str, around: str) -> list[str]:
    return [
        question[: word.start()] + _OPPOSITES[word[0]] + question[word.end() :]
        for word in _OPPOSITE.finditer(question)
        if not _stands_in(_OPPOSITES[word[0]], around)
    ]


def _stands_in(word: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None
