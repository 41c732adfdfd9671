"""The embedded understander: a small text-to-text model that says what a question means.

Each task has its first word. The product asks for `alone:`, a follow-up said in full; what else it
was trained for stands in `training/understander/rows.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
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
_BEGIN, _END = 0, 1


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    likelihood: float
    """0..1: how likely the model holds this text, token by token, to be the one."""


class Understander:
    """Safe to call from several threads."""

    def __init__(self, weights: Weights) -> None:
        from tokenizers import Tokenizer

        self.name = weights.identity
        self._reads, self._writes = map(OnnxModel, weights.graphs)
        self._tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        self._shapes: Mapping[str, tuple[int, int]] = self._writes.inputs("past_")
        self.write = lru_cache(REMEMBERED)(self._write)

    def _write(self, given: str) -> Written:
        """The likeliest text, one token after the other."""
        ids = self._tokenizer.encode(printable(given)).ids
        if len(ids) > LONGEST_GIVEN:
            ids = [*ids[: LONGEST_GIVEN - 1], _END]
        read = self._reads.run({"given": np.array([ids], dtype=np.int64)})
        past: dict[str, Floats] = {
            name: np.zeros((1, heads, 0, size), np.float32)
            for name, (heads, size) in self._shapes.items()
        }
        token, said, logarithm = _BEGIN, [], 0.0
        for _ in range(LONGEST_WRITTEN):
            feed: dict[str, NDArray[Any]] = {**read, **past, "token": np.array([[token]], np.int64)}
            found = self._writes.run(feed)
            scores = found["scores"][0] - found["scores"][0].max()
            token = int(scores.argmax())
            logarithm -= float(np.log(np.exp(scores).sum()))
            if token == _END:
                break
            said.append(token)
            past = {name: found[name.replace("past_", "now_")] for name in past}
        return Written(self._tokenizer.decode(said), float(np.exp(logarithm)))


@cache
def understander() -> Understander:
    return Understander(find_weights("understander"))
