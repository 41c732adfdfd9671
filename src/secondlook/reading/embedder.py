"""The embedded embedder: gte-small, mean of the last layer, cosine, no prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secondlook.reading.session import OnnxModel
from secondlook.reading.weights import Weights, find_weights
from secondlook.reading.wordpieces import CLS, SEP, Wordpieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Vectors
    from secondlook.reading.session import Feed

_SPECIAL_TOKENS = 2
# Texts are encoded and run in groups, so that memory stays flat however many are given.
_GROUP = 256


class OnnxEmbedder:
    """Implements `Embedder`. The same text gives the same vector, whatever it is sent with."""

    def __init__(self, weights: Weights | None = None, *, threads: int | None = None) -> None:
        self._weights = weights or find_weights("embedder")
        self._wordpieces = Wordpieces(self._weights.tokenizer)
        self._model = OnnxModel(self._weights.model, threads=threads)

    @property
    def name(self) -> str:
        return self._weights.identity

    @property
    def dimensions(self) -> int:
        return self._weights.dimensions

    @property
    def max_tokens(self) -> int:
        return self._weights.max_tokens

    def token_starts(self, text: str) -> list[int]:
        return self._wordpieces.starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for first in range(0, len(texts), _GROUP):
            group = texts[first : first + _GROUP]
            vectors[first : first + len(group)] = self._embed(group)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Vectors:
        ids = self._wordpieces.ids(texts, limit=self.max_tokens - _SPECIAL_TOKENS)
        # Longest first: the last passes are short ones, so no core waits long at the end.
        order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
        outputs = self._model.run_all([_feed(ids[at]) for at in order])
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for at, (vector,) in zip(order, outputs, strict=True):
            vectors[at] = vector[0]
        return vectors


def _feed(ids: list[int]) -> Feed:
    return {"ids": np.array([[CLS, *ids, SEP]], dtype=np.int64)}
