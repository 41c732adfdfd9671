"""The embedded understander: a small text-to-text model that says what a question means.

Each task has its first word. The product asks for `alone:`, a follow-up said in full; what else it
was trained for stands in `training/understander/rows.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.reading.session import OnnxModel, printable
from secondlook.reading.weights import find_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from secondlook.reading.weights import Weights

    Floats = NDArray[np.float32]

LONGEST_GIVEN, LONGEST_WRITTEN = 288, 96
REMEMBERED = 512
SEARCHED, BRANCHES, LEAST_LOGARITHM = 120, 4, float(np.log(0.01))
"""A search for other texts: tokens that are tried, ways to go on from each, and what is so unlikely
that it is not gone on with."""
_BEGIN, _END = 0, 1


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    likelihood: float
    """0..1: how likely the model holds this text, token by token, to be the one."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A text so far."""

    tokens: tuple[int, ...]
    logarithm: float
    """Of its likelihood."""
    read: Mapping[str, Floats]
    past: Mapping[str, Floats]

    @property
    def is_whole(self) -> bool:
        return self.tokens[-1] == _END


class Understander:
    """Safe to call from several threads."""

    def __init__(self, weights: Weights) -> None:
        from tokenizers import Tokenizer

        self.name = weights.identity
        self._reads, self._writes = map(OnnxModel, weights.graphs)
        self._tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        self._shapes: Mapping[str, tuple[int, int]] = self._writes.inputs("past_")
        self.write = lru_cache(REMEMBERED)(self._write)
        self.several = lru_cache(REMEMBERED)(self._several)

    def _write(self, given: str) -> Written:
        """The likeliest text, one token after the other."""
        begun = self._begun(given)
        for _ in range(LONGEST_WRITTEN):
            (begun,) = self._longer(begun, 1)
            if begun.is_whole:
                break
        return self._written(begun)

    def _several(self, given: str) -> list[Written]:
        """The likeliest texts, likeliest first, as far as `SEARCHED` tokens lead."""
        found, order = list[Written](), count()
        waiting = [(0.0, next(order), self._begun(given))]
        for _ in range(SEARCHED):
            while waiting and waiting[0][-1].is_whole:
                found.append(self._written(heappop(waiting)[-1]))
            if not waiting:
                break
            for one in self._longer(heappop(waiting)[-1], BRANCHES):
                if one.logarithm > LEAST_LOGARITHM:
                    heappush(waiting, (-one.logarithm, next(order), one))
        return found

    def _begun(self, given: str) -> _Begun:
        ids = self._tokenizer.encode(printable(given)).ids
        if len(ids) > LONGEST_GIVEN:
            ids = [*ids[: LONGEST_GIVEN - 1], _END]
        read = self._reads.run({"given": np.array([ids], dtype=np.int64)})
        past: dict[str, Floats] = {
            name: np.zeros((1, heads, 0, size), np.float32)
            for name, (heads, size) in self._shapes.items()
        }
        return _Begun((_BEGIN,), 0.0, read, past)

    def _longer(self, begun: _Begun, branches: int) -> list[_Begun]:
        """By each of the likeliest next tokens."""
        token = np.array([[begun.tokens[-1]]], np.int64)
        feed: dict[str, NDArray[Any]] = {**begun.read, **begun.past, "token": token}
        found = self._writes.run(feed)
        scores = found["scores"][0] - found["scores"][0].max()
        scores -= np.log(np.exp(scores).sum())
        past = {name: found[name.replace("past_", "now_")] for name in begun.past}
        return [
            _Begun((*begun.tokens, int(at)), begun.logarithm + float(scores[at]), begun.read, past)
            for at in np.argsort(-scores)[:branches]
        ]

    def _written(self, begun: _Begun) -> Written:
        said = [one for one in begun.tokens[1:] if one != _END]
        return Written(self._tokenizer.decode(said), float(np.exp(begun.logarithm)))


@cache
def understander() -> Understander:
    return Understander(find_weights("understander"))
