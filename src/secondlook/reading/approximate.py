"""What embedders without a tokenizer of their own here share: counting tokens, query prefixes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Vectors

# Four letters or digits to a token at most, and every other visible character one of its own
# (so also each Chinese or Japanese one): more tokens than the common tokenizers make of text, so
# that chunks counted this way are never cut.
_TOKEN = re.compile(r"[^\W\u2e80-\uffff]{1,4}|[^\s]")
# What models of these families were trained to see before a passage and before a question.
# https://huggingface.co/nomic-ai/nomic-embed-text-v1.5, .../intfloat/e5-base-v2,
# .../mixedbread-ai/mxbai-embed-large-v1, .../BAAI/bge-small-en-v1.5 (their model cards).
_RETRIEVAL = "Represent this sentence for searching relevant passages: "
_PREFIXES = (
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("e5-", "passage: ", "query: "),
    ("mxbai-embed", "", _RETRIEVAL),
    ("bge-small-en", "", _RETRIEVAL),
    ("bge-base-en", "", _RETRIEVAL),
    ("bge-large-en", "", _RETRIEVAL),
)


def approximate_starts(text: str) -> list[int]:
    return [match.start() for match in _TOKEN.finditer(text)]


def prefixes(model: str) -> tuple[str, str]:
    """What goes before each passage and before the question."""
    for family, passage, query in _PREFIXES:
        if family in model.lower():
            return passage, query
    return "", ""


def unit_vectors(rows: Sequence[Sequence[float]], *, model: str, texts: int) -> Vectors:
    """Whatever a service sent, as unit vectors, or an error that says what is wrong with it."""
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as ragged:
        raise ModelError(f"{model!r} sent vectors of differing or non-numeric shape") from ragged
    if vectors.ndim != 2 or len(vectors) != texts:  # noqa: PLR2004
        raise ModelError(f"{model!r} sent {len(vectors)} vectors for {texts} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0):
        raise ModelError(f"{model!r} sent a vector that has no direction")
    unit: Vectors = vectors / lengths
    return unit
