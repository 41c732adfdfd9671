"""Where the sentences of a passage lie, and its lines where it is a table or a list."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from secondlook.retrieval.sentences import sentence_starts

Kind = Literal["text", "heading", "item", "record", "cells", "field"]
PARAGRAPH = re.compile(r"\n\s*\n\s*")
LONGEST_SENTENCE = 600
"""Characters. What has no sentences, such as a table, is shown around the span."""
_NUMBER = re.compile(r"\d+(?:[.,:\u2009]\d+)*")
_REACH = 30
_LINE = re.compile(r"[^\n]+")
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("heading", re.compile(r"\s{0,3}#{1,6}\s+\S")),
    ("item", re.compile(r"\s*(?:[-*+\u2022\u25e6\u25aa\u2013]|\d{1,3}[.)])\s+\S")),
    ("record", re.compile(r"\s*[^:;]{1,80}: [^;]*; [^:;]{1,80}: ")),
    ("cells", re.compile(r".*? \| |[^;]*; [^;]*; ")),
    ("field", re.compile(r"\s*[^\W\d_][\w -]{0,30}: \S")),
)


@dataclass(frozen=True, slots=True)
class Line:
    start: int
    end: int
    kind: Kind


def lines_of(text: str) -> list[Line]:
    """The lines of a text, and which of them stand by themselves."""
    found = [Line(*line.span(), _kind(line[0])) for line in _LINE.finditer(text)]
    items = sum(line.kind == "item" for line in found)
    padded = [None, *found, None]
    near = zip(padded[:-2], found, padded[2:], strict=True)
    return [
        line if _stands_alone(line, before, after, items) else replace(line, kind="text")
        for before, line, after in near
    ]


def _kind(line: str) -> Kind:
    return next((kind for kind, form in _KINDS if form.match(line)), "text")


def _stands_alone(line: Line, before: Line | None, after: Line | None, items: int) -> bool:
    """One line that looks like a cell, an item or a field may be prose that was wrapped there."""
    if line.kind == "item":
        return items > 1
    above = before is not None and before.end + 1 == line.start and before.kind
    below = after is not None and line.end + 1 == after.start and after.kind
    needy = line.kind in {"cells", "field"}
    return not needy or not {above, below}.isdisjoint({line.kind, "record"})


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or sentences of `text` that hold [start, end), without outer white space."""
    bounds = [0, *_starts(text), len(text)]
    first = max((at for at in bounds if at <= start), default=0)
    last = min((at for at in bounds if at >= max(end, start + 1)), default=len(text))
    if last - first > LONGEST_SENTENCE:
        first, last = _lines_around(text, start, end, within=(first, last))
    piece = text[first:last]
    left = first + len(piece) - len(piece.lstrip())
    return left, max(left, first + len(piece.rstrip()))


def _starts(text: str) -> list[int]:
    """Where sentences begin; a heading above a paragraph is none of its first sentence, and each
    row and each item is one of its own."""
    alone = [line for line in lines_of(text) if line.kind != "text"]
    breaks = {found.end() for found in PARAGRAPH.finditer(text)}
    breaks |= {line.start for line in alone} | {line.end for line in alone if line.kind != "item"}
    return sorted({*sentence_starts(text), *(at for at in breaks if 0 < at < len(text))})


def _lines_around(text: str, start: int, end: int, within: tuple[int, int]) -> tuple[int, int]:
    first = max(within[0], text.rfind("\n", within[0], start) + 1)
    at = text.find("\n", end, within[1])
    last = within[1] if at < 0 else at
    if last - first <= LONGEST_SENTENCE:
        return first, last
    room = max(0, (LONGEST_SENTENCE - (end - start)) // 2)
    return _word_start(text, max(first, start - room)), _word_end(text, min(last, end + room))


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return space + 1 if at and space >= 0 else at


def _word_end(text: str, at: int) -> int:
    space = text.rfind(" ", max(0, at - 40), at)
    return space if at < len(text) and space >= 0 else at


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Where each sentence of `text` lies, without outer white space; what goes on for too long
    without an end is cut between words."""
    found = []
    for start, end in pairwise([0, *_starts(text), len(text)]):
        while start < end:
            stop = end if end - start <= LONGEST_SENTENCE else start + LONGEST_SENTENCE
            stop = max(_word_end(text, stop), start + 1) if stop < end else stop
            piece = text[start:stop]
            if piece.strip():
                left = start + len(piece) - len(piece.lstrip())
                found.append((left, start + len(piece.rstrip())))
            start = stop  # noqa: PLW2901
    return found


def whole_numbers(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the numbers that it cuts: half a number is another number."""
    for found in _NUMBER.finditer(text, max(0, start - _REACH), end + _REACH):
        if found.start() < start < found.end():
            start = found.start()
        if found.start() < end < found.end():
            end = found.end()
    return start, end
