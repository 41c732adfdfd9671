"""Cuts a document into passages along its own structure, near a token budget. A heading, a slide or
a sheet always begins a passage. Sections that fit are one; longer ones are divided into about equal
parts at the best place: a blank line, a list item, a sentence, a line, at last a word. A heading is
never cut off from what it announces."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import UsageError
from secondlook.passage import Span
from secondlook.retrieval.outline import UNIT_KINDS, Outline, page_starts, sentence_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from secondlook.document import Extracted

    Offsets = NDArray[np.int64]
    TokenStarts = Callable[[str], list[int]]

# Where a document may be cut, and how willingly.


class Break(IntEnum):
    SECTION = 0
    PARAGRAPH = 1
    ITEM = 2
    SENTENCE = 3
    LINE = 4


LINE_KINDS = frozenset({"code", "notebook", "csv", "sheet", "json"})
"""Kinds of documents whose lines, not sentences, carry the meaning."""

_BLANK = re.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = re.compile(r"\n\s*+")
_ITEM = re.compile(
    r"\n[^\S\n]*+(?=\||(?:[-*+•◦▪‣·–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])[ \t])"  # noqa: RUF001
)
# A line longer than any that is wrapped by hand is a paragraph by itself.
_LONG_LINE = re.compile(r"(?<=[^\n]{150})\n\s*+")
_SENTENCE_AT_LINE_END = re.compile(r"(?<=[.!?…:。！？])[\"'”’»)\]]*+[ \t]*+\n\s*+")  # noqa: RUF001
_TABLE_ROW = re.compile(r"^[^\S\n]*+\|[^\n]*+", re.MULTILINE)
_CLOSERS = "\"'”’»)]*_"  # noqa: RUF001
_ENDS = tuple(".!?…:;。！？｡|")  # noqa: RUF001


def _outside_tables(text: str, positions: Offsets) -> Offsets:
    """A full stop in a cell ends no sentence: a row stays whole."""
    rows = [found.span() for found in _TABLE_ROW.finditer(text)]
    opened = np.searchsorted(_offsets(start for start, _ in rows), positions, side="left")
    closed = np.searchsorted(_offsets(end for _, end in rows), positions, side="left")
    outside: Offsets = positions[opened == closed]
    return outside


def _ends_thought(text: str, at: int) -> bool:
    before = text[max(0, at - 40) : at].rstrip().rstrip(_CLOSERS)
    return not before or before.endswith(_ENDS)


def _ends(pattern: re.Pattern[str], text: str) -> Offsets:
    return _offsets(found.end() for found in pattern.finditer(text))


def _offsets(values: Iterable[int]) -> Offsets:
    return np.fromiter(values, np.int64)


CHUNKER_VERSION = "2"  # changes whenever the same text could be cut differently

_SMALLEST_BUDGET = 16
_LONGEST_TOKEN = 16  # more characters without a space count as further tokens
_SLAB = 100_000  # characters given to the tokenizer at once: memory stays flat

# What a cut costs, by its kind, in parts of the budget by which it may lie off the wanted size.
_COSTS = np.array([0.0, 0.0, 0.4, 0.8, 1.2])
_WORD_COST = 1.6


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    tokens: int = 200
    overlap: int = 25

    def __post_init__(self) -> None:
        if self.tokens < _SMALLEST_BUDGET or not 0 <= self.overlap <= self.tokens // 2:
            raise UsageError(
                f"passages cannot have {self.tokens!r} tokens with an overlap of {self.overlap!r}",
                hint=f"use at least {_SMALLEST_BUDGET} tokens, and an overlap up to half of them",
            )


DEFAULT_OPTIONS = ChunkOptions()


def chunk(
    document: Extracted, token_starts: TokenStarts, options: ChunkOptions = DEFAULT_OPTIONS
) -> Iterator[Span]:
    text = document.text
    end = len(text.rstrip())
    if not end:
        return
    outline = Outline(document)
    cutter = _Cutter(document, outline, _count_marks(text, token_starts), end, options)
    start = len(text) - len(text.lstrip())
    reached = start
    while reached < end:
        stop, level = cutter.stop(start, reached)
        last = start + len(text[start:stop].rstrip())
        yield Span(start, last, outline.page(start), outline.path(start, last))
        start = stop if level == Break.SECTION else cutter.step_back(start, stop)
        reached = stop


def _count_marks(text: str, token_starts: TokenStarts) -> Offsets:
    """Sorted offsets, one per token; stretches without tokens get marks of their own."""
    parts = [np.zeros(1, np.int64)]
    start = 0
    while start < len(text):
        stop = min(start + _SLAB, len(text))
        if stop < len(text):
            half = start + _SLAB // 2
            cut = max(text.rfind("\n", half, stop), text.rfind(" ", half, stop))
            stop = cut if cut > 0 else stop
        parts.append(np.asarray(token_starts(text[start:stop]), np.int64) + start)
        start = stop
    marks = _distinct(np.concatenate([*parts, np.array([len(text)], np.int64)]))
    extra = [
        np.arange(marks[i] + _LONGEST_TOKEN, marks[i + 1], _LONGEST_TOKEN, dtype=np.int64)
        for i in np.flatnonzero(np.diff(marks) > _LONGEST_TOKEN)
    ]
    return _distinct(np.concatenate([marks[:-1], *extra]))


def _distinct(offsets: Offsets) -> Offsets:
    """Sorted, each once. They nearly are: numpy's own way, by hashing, takes ten times as long."""
    offsets = np.sort(offsets, kind="stable")
    return offsets[np.diff(offsets, prepend=-1) > 0]


_CLAUSE = re.compile(r"[,;:](?=\s)|[，、；：]")  # noqa: RUF001


class _Cutter:
    """Decides where a passage ends. Every question looks at one budget's worth of text."""

    def __init__(
        self, document: Extracted, outline: Outline, marks: Offsets, end: int, options: ChunkOptions
    ) -> None:
        self._text, self._outline = document.text, outline
        self._marks, self._end, self._options = marks, end, options
        # Every place where a passage may begin, in order, each with the best of its kinds.
        text = document.text
        blank, lines = _ends(_BLANK, text), _ends(_LINE, text)
        if document.kind in LINE_KINDS:
            # A blank line before unindented text parts two definitions; inside one it parts steps.
            outer = np.array([at > 0 and text[at - 1] == "\n" for at in blank.tolist()], dtype=bool)
            by_level = [blank[outer], blank, lines, _offsets(())]
        else:
            by_level = [
                np.union1d(blank, _ends(_LONG_LINE, text)),
                np.union1d(_ends(_ITEM, text), _ends(_SENTENCE_AT_LINE_END, text)),
                _outside_tables(text, _offsets(sentence_starts(text))),
                lines,
            ]
        if document.kind not in UNIT_KINDS:
            pages = page_starts(text, document.pages)
            demoted = [at for at in pages if not _ends_thought(text, at)]
            by_level[:2] = [np.setdiff1d(at, demoted) for at in by_level[:2]]
        starts, bodies = _offsets(outline.starts), _offsets(outline.bodies)
        if starts.size:  # nothing parts a heading, nor a heading from what it announces
            for level, at in enumerate(by_level):
                above = np.searchsorted(starts, at, side="right") - 1
                by_level[level] = at[(above < 0) | (at > bodies[above])]
        by_level.insert(Break.SECTION, _offsets(outline.boundaries))
        positions = np.concatenate(by_level)
        levels = np.concatenate([np.full(len(at), level) for level, at in enumerate(by_level)])
        order = np.lexsort((levels, positions))
        unique, first = np.unique(positions[order], return_index=True)
        best = levels[order][first].astype(np.int8)
        keep = (unique > 0) & (unique < len(text))
        self._positions, self._levels = (unique[keep], best[keep])

    def stop(self, start: int, reached: int) -> tuple[int, Break]:
        """Where the passage that begins at `start` ends; beyond `reached` in any case."""
        boundaries, budget = self._outline.boundaries, self._options.tokens
        index = bisect_right(boundaries, reached)
        section_end = boundaries[index] if index < len(boundaries) else self._end
        first, last = (int(at) for at in np.searchsorted(self._marks, [start, section_end]))
        total = last - first
        if total <= budget:
            return section_end, Break.SECTION
        wanted = total / math.ceil(total / budget)
        beyond = first + budget
        limit = int(self._marks[beyond]) if beyond < len(self._marks) else self._end
        window = slice(*np.searchsorted(self._positions, [reached + 1, limit + 1]))
        positions, levels = self._positions[window], self._levels[window]
        if positions.size:
            tokens = np.searchsorted(self._marks, positions) - first
            cost = np.abs(tokens - wanted) / budget + _COSTS[levels]
            best = int(len(cost) - 1 - np.argmin(cost[::-1]))
            if cost[best] < _WORD_COST:
                return int(positions[best]), Break(int(levels[best]))
        return self._word_break(reached, limit), Break.LINE

    def step_back(self, start: int, stop: int) -> int:
        """Where the next passage begins so that it repeats the end of this one."""
        if not self._options.overlap:
            return stop
        first = int(np.searchsorted(self._marks, stop)) - self._options.overlap
        earliest = int(self._marks[first]) if first > 0 else 0
        index = int(np.searchsorted(self._positions, max(earliest, start + 1)))
        if index < len(self._positions) and self._positions[index] < stop:
            return int(self._positions[index])
        return stop

    def _word_break(self, reached: int, limit: int) -> int:
        """The last clause, word or token that fits; a heading that does not moves on whole."""
        heading = self._outline.heading_at(limit)
        if heading is not None and heading > reached:
            return heading
        middle = (reached + limit) // 2
        clauses = [m.end() for m in _CLAUSE.finditer(self._text, middle, limit)]
        for clause in reversed(clauses):
            begin = self._skip_space(clause)
            if reached < begin <= limit:
                return begin
        window = slice(*np.searchsorted(self._marks, [reached + 1, limit + 1]))
        marks = self._marks[window]
        for mark in marks[::-1]:
            if self._text[mark - 1].isspace() and not self._text[mark].isspace():
                return int(mark)
        return self._skip_space(int(marks[-1]))

    def _skip_space(self, at: int) -> int:
        while at < self._end and self._text[at].isspace():
            at += 1
        return at


_TITLE_LENGTH = 120
_WORDS = re.compile(r"\w+")


def with_context(title: str, heading: tuple[str, ...], text: str) -> str:
    """The passage as it is embedded and analysed: what stands above it in one short line, "title.
    heading > heading", then its text. What it says itself in its first words is not said twice."""
    plain = {name: " ".join(_WORDS.findall(name.casefold())) for name in (title, *heading)}
    room = sum(len(name) + 8 for name in (title, *heading))
    opening = f" {' '.join(_WORDS.findall(text[:room].casefold()))} "
    named = "" if opening.startswith(f" {plain[title]} ") else title
    names: dict[str, str] = {}
    for name in (named, *(name for name in heading if f" {plain[name]} " not in opening)):
        flat = " ".join(name.split())
        short = flat if len(flat) <= _TITLE_LENGTH else flat[: _TITLE_LENGTH - 1].rstrip() + "…"
        if flat:
            names.setdefault(flat.casefold(), short)
    first, *path = names.values() if names else [""]
    parts = [first, " > ".join(path)] if path else [first]
    above = ". ".join(part.rstrip(" .") for part in parts)[:240].rstrip()
    return f"{above}. {text}" if above else text
