"""The embedded reader: one pass over question and passage gives relevance, an answer span and
whether there is an answer at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from secondlook.reading.port import Reading
from secondlook.reading.session import OnnxModel
from secondlook.reading.weights import Weights, find_weights
from secondlook.reading.wordpieces import CLS, SEP, Wordpieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.reading.session import Feed, Outputs

QUESTION_TOKENS = 64
ANSWER_TOKENS = 30
WINDOW_OVERLAP = 96
_SPECIAL_TOKENS = 3


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of one passage that fits beside the question in one pass."""

    passage: int
    ids: list[int]
    offsets: list[tuple[int, int]]


class OnnxReader:
    """Implements `Reader`. A passage longer than the model sees is read in overlapping windows;
    the window with the highest relevance speaks for the passage."""

    def __init__(self, weights: Weights | None = None, *, threads: int | None = None) -> None:
        self._weights = weights or find_weights("reader")
        self._wordpieces = Wordpieces(self._weights.tokenizer)
        self._model = OnnxModel(self._weights.model, threads=threads)

    @property
    def name(self) -> str:
        return self._weights.identity

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        if not passages:
            return []
        asked = self._wordpieces.ids([question], limit=QUESTION_TOKENS)[0]
        windows = self._windows(passages, self._weights.max_tokens - len(asked) - _SPECIAL_TOKENS)
        # Longest first: the last passes are short ones, so no core waits long at the end.
        windows.sort(key=lambda window: -len(window.ids))
        outputs = self._model.run_all([_feed(asked, window) for window in windows])
        seen: list[list[Reading]] = [[] for _ in passages]
        for window, output in zip(windows, outputs, strict=True):
            seen[window.passage].append(_reading(window, output, first=len(asked) + 2))
        return [_best(readings) for readings in seen]

    def _windows(self, passages: Sequence[str], room: int) -> list[_Window]:
        encoded = self._wordpieces.with_offsets(passages)
        return [
            _Window(at, ids[start : start + room], offsets[start : start + room])
            for at, (ids, offsets) in enumerate(encoded)
            for start in window_starts(len(ids), room)
        ]


def window_starts(tokens: int, room: int) -> range:
    """Evenly advancing windows of `room` tokens that together cover all of them."""
    step = room - WINDOW_OVERLAP
    return range(0, max(tokens - WINDOW_OVERLAP, 1), step) if tokens > room else range(1)


def _feed(question: list[int], window: _Window) -> Feed:
    tokens = np.array([[CLS, *question, SEP, *window.ids, SEP]], dtype=np.int64)
    types = np.zeros_like(tokens)
    # As in training: the closing [SEP] is not the passage's.
    types[0, len(question) + 2 : -1] = 1
    return {"ids": tokens, "types": types}


def _reading(window: _Window, output: Outputs, *, first: int) -> Reading:
    starts, ends, relevance, answerable = (values[0] for values in output)
    null = float(starts[0] + ends[0])
    size = len(window.ids)
    span = best_span(starts[first : first + size], ends[first : first + size])
    score, start, end = (
        (null, 0, 0)
        if span is None
        else (
            span[0],
            window.offsets[span[1]][0],
            window.offsets[span[2]][1],
        )
    )
    return Reading(
        relevance=float(relevance),
        answerable=float(answerable),
        start=start,
        end=end,
        span_score=score,
        null_score=null,
    )


def best_span(
    starts: NDArray[np.float32], ends: NDArray[np.float32]
) -> tuple[float, int, int] | None:
    """Score, first and last token of the best answer of at most ANSWER_TOKENS tokens."""
    if not len(starts):
        return None
    padded = np.concatenate([ends, np.full(ANSWER_TOKENS - 1, -np.inf, dtype=ends.dtype)])
    reach = np.lib.stride_tricks.sliding_window_view(padded, ANSWER_TOKENS)
    start, length = divmod(int((starts[:, None] + reach).argmax()), ANSWER_TOKENS)
    return float(starts[start] + ends[start + length]), start, start + length


def _best(readings: list[Reading]) -> Reading:
    best = max(readings, key=lambda reading: (reading.relevance, -reading.start))
    return replace(best, windows=len(readings))
