"""The one embedder of all systems, and passages' vectors kept on disk so that each is made once."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from secondlook.reading import load_embedder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

BLOCK = 64
"""Vectors are stored after so many, so that an interrupted run loses little."""


class SharedEmbedding:
    """Questions are always embedded; passages only if nobody has, when a file keeps them.

    Tells how long it took, so that a system's own work can be told from the embedder's.
    """

    def __init__(self, kept: Path | None) -> None:
        self._model = load_embedder("embedded")
        self._kept = kept
        self._vectors = read(kept, self._model.name) if kept else {}
        self._sampled: list[str] = []
        self.texts: list[str] = []
        self.start_over()

    def start_over(self) -> None:
        """Forget what was counted so far, before a new build."""
        self._sampled = sorted(self.texts) or self._sampled
        self.seconds, self.made, self.texts = 0.0, 0, []

    def passages(self, texts: Sequence[str]) -> Vectors:
        started = time.perf_counter()
        self.texts += texts
        # One alone is a question asked through this door, and questions are always embedded.
        looked_up = self._kept is not None and len(texts) > 1
        vectors = self._looked_up(texts) if looked_up else self._model.embed_passages(texts)
        self.seconds += time.perf_counter() - started
        return vectors

    def query(self, text: str) -> Vectors:
        return self._model.embed_query(text)

    def digest(self) -> str:
        """Equal for systems that had the same texts embedded."""
        return digest_of(self.texts)

    def sample_seconds(self, count: int, turn: int) -> float:
        """Seconds per passage: some of the texts that were embedded, embedded once more."""
        texts = sorted(self.texts) or self._sampled
        drawn = random.Random(turn).sample(texts, min(count, len(texts)))
        started = time.perf_counter()
        self._model.embed_passages(drawn)
        return (time.perf_counter() - started) / len(drawn)

    def _looked_up(self, texts: Sequence[str]) -> Vectors:
        keys = [key_of(text) for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors
        }
        if missing and self._kept:
            self._vectors |= read(self._kept, self._model.name)  # another system may have it now
            self._make(
                [(key, text) for key, text in missing.items() if key not in self._vectors],
                self._kept,
            )
        return np.stack([self._vectors[key] for key in keys])

    def _make(self, missing: list[tuple[bytes, str]], kept: Path) -> None:
        self.made += len(missing)
        for first in range(0, len(missing), BLOCK):
            block = missing[first : first + BLOCK]
            vectors = self._model.embed_passages([text for _, text in block])
            fresh = {key: vector for (key, _), vector in zip(block, vectors, strict=True)}
            self._vectors.update(fresh)
            write(kept, self._model.name, fresh)


def key_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def digest_of(texts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for key in sorted(key_of(text) for text in texts):
        whole.update(key)
    return whole.hexdigest()[:16]


def read(file: Path, model: str) -> dict[bytes, Vectors]:
    with closing(opened(file)) as store:
        rows = store.execute("SELECT key, vector FROM vectors WHERE model = ?", (model,))
        return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}


def write(file: Path, model: str, vectors: dict[bytes, Vectors]) -> None:
    rows = [(model, key, vector.tobytes()) for key, vector in vectors.items()]
    with closing(opened(file)) as store, store:
        store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)


def opened(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(file)
    store.execute(
        "CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, "
        "PRIMARY KEY (model, key))"
    )
    return store
