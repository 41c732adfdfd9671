"""Where a document may be cut, and how willingly."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from secondlook.retrieval.outline import UNIT_KINDS, page_starts
from secondlook.retrieval.sentences import sentence_starts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from secondlook.document import Extracted
    from secondlook.retrieval.outline import Outline

    Offsets = NDArray[np.int64]


class Break(IntEnum):
    """Kinds of places to cut, best first."""

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


def find_breaks(document: Extracted, outline: Outline) -> tuple[Offsets, NDArray[np.int8]]:
    """Every place where a passage may begin, in order, each with the best of its kinds."""
    by_level = _by_lines(document) if document.kind in LINE_KINDS else _by_sentences(document)
    if document.kind not in UNIT_KINDS:
        pages = page_starts(document.text, document.pages)
        demoted = [at for at in pages if not _ends_thought(document.text, at)]
        for level in (Break.PARAGRAPH, Break.ITEM):
            by_level[level] = np.setdiff1d(by_level[level], demoted)
    by_level = {level: _outside_headings(outline, at) for level, at in by_level.items()}
    by_level[Break.SECTION] = _offsets(outline.boundaries)
    return _best(by_level, end=len(document.text))


def _outside_headings(outline: Outline, positions: Offsets) -> Offsets:
    """Nothing parts a heading, nor a heading from what it announces."""
    starts, bodies = _offsets(outline.starts), _offsets(outline.bodies)
    if not starts.size:
        return positions
    above = np.searchsorted(starts, positions, side="right") - 1
    outside: Offsets = positions[(above < 0) | (positions > bodies[above])]
    return outside


def _by_sentences(document: Extracted) -> dict[Break, Offsets]:
    text = document.text
    return {
        Break.PARAGRAPH: np.union1d(_ends(_BLANK, text), _ends(_LONG_LINE, text)),
        Break.ITEM: np.union1d(_ends(_ITEM, text), _ends(_SENTENCE_AT_LINE_END, text)),
        Break.SENTENCE: _outside_tables(text, _offsets(sentence_starts(text))),
        Break.LINE: _ends(_LINE, text),
    }


def _outside_tables(text: str, positions: Offsets) -> Offsets:
    """A full stop in a cell ends no sentence: a row stays whole."""
    rows = [found.span() for found in _TABLE_ROW.finditer(text)]
    starts = _offsets(start for start, _ in rows)
    ends = _offsets(end for _, end in rows)
    opened = np.searchsorted(starts, positions, side="left")
    closed = np.searchsorted(ends, positions, side="left")
    outside: Offsets = positions[opened == closed]
    return outside


def _by_lines(document: Extracted) -> dict[Break, Offsets]:
    """A blank line before unindented text parts two definitions; inside one it parts steps."""
    text = document.text
    blank = _ends(_BLANK, text)
    outer = np.array([at > 0 and text[at - 1] == "\n" for at in blank.tolist()], dtype=bool)
    return {
        Break.PARAGRAPH: blank[outer],
        Break.ITEM: blank,
        Break.SENTENCE: _ends(_LINE, text),
        Break.LINE: _offsets(()),
    }


def _best(by_level: dict[Break, Offsets], *, end: int) -> tuple[Offsets, NDArray[np.int8]]:
    positions = np.concatenate(list(by_level.values()))
    levels = np.concatenate([np.full(len(at), level) for level, at in by_level.items()])
    order = np.lexsort((levels, positions))
    unique, first = np.unique(positions[order], return_index=True)
    best = levels[order][first].astype(np.int8)
    keep = (unique > 0) & (unique < end)
    return unique[keep], best[keep]


def _ends_thought(text: str, at: int) -> bool:
    before = text[max(0, at - 40) : at].rstrip().rstrip(_CLOSERS)
    return not before or before.endswith(_ENDS)


def _ends(pattern: re.Pattern[str], text: str) -> Offsets:
    return _offsets(found.end() for found in pattern.finditer(text))


def _offsets(values: Iterable[int]) -> Offsets:
    return np.fromiter(values, np.int64)
