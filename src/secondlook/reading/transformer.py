"""Any embedder that sentence-transformers can load, by name or path."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from secondlook.errors import ModelUnavailable
from secondlook.reading.approximate import approximate_starts, prefixes, unit_vectors
from secondlook.reading.wordpieces import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Vectors

_DEFAULT_TOKENS = 512
_BATCH = 32


class TransformerEmbedder:
    """Implements `Embedder`. Needs sentence-transformers, and with it torch."""

    def __init__(self, model: str) -> None:
        self._name = model
        self._model = load_transformer("SentenceTransformer", model)
        self._one_at_a_time = threading.Lock()

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self._name}"

    @property
    def dimensions(self) -> int:
        renamed = getattr(self._model, "get_embedding_dimension", None)
        return int((renamed or self._model.get_sentence_embedding_dimension)())

    @property
    def max_tokens(self) -> int:
        return int(self._model.max_seq_length or _DEFAULT_TOKENS)

    def token_starts(self, text: str) -> list[int]:
        return approximate_starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._encode("document", prefixes(self._name)[0], texts)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._encode("query", prefixes(self._name)[1], [text])[0]
        return vector

    def _encode(self, role: str, prefix: str, texts: Sequence[str]) -> Vectors:
        """A model that carries its own prompts puts them in itself; else we prefix."""
        prompted = role in (getattr(self._model, "prompts", None) or {})
        encode = getattr(self._model, f"encode_{role}") if prompted else self._model.encode
        full = [printable(text) if prompted else prefix + printable(text) for text in texts]
        with self._one_at_a_time:
            rows = encode(full, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        return unit_vectors(rows, model=self.name, texts=len(texts))


def load_transformer(kind: Literal["SentenceTransformer", "CrossEncoder"], model: str) -> Any:
    """A model of that class of sentence-transformers, or an error that says what to do."""
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as missing:
        raise ModelUnavailable(
            "sentence-transformers is not installed",
            hint="pip install 'secondlook[sentence-transformers]'",
        ) from missing
    try:
        return getattr(library, kind)(model)
    except (OSError, ValueError, RuntimeError) as failure:
        raise ModelUnavailable(
            f"sentence-transformers cannot load {model!r}: {failure}",
            hint="give a model's name or the folder it was saved to",
        ) from failure
