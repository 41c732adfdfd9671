"""sentence-transformers needs torch, so these tests put a small library of the same shape in its
place: it really embeds (by counting letters), it does not replay expected answers."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from secondlook.errors import ModelUnavailable
from secondlook.reading import load_embedder
from secondlook.reading.embedders import TransformerEmbedder


class CountsLetters:
    prompts: ClassVar[dict[str, str]] = {}
    max_seq_length: int | None = 256

    def __init__(self, name: str) -> None:
        if name == "nowhere":
            raise OSError("no such model")
        self.seen: list[str] = []

    def get_sentence_embedding_dimension(self) -> int:
        return 26

    def encode(
        self, texts: list[str], *, batch_size: int, convert_to_numpy: bool, show_progress_bar: bool
    ) -> Any:
        assert convert_to_numpy
        self.seen.extend(texts)
        counts = [[1 + text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        return np.array(counts, dtype=np.float32)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sentence_transformers")
    vars(module)["SentenceTransformer"] = CountsLetters
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


def test_it_embeds_through_the_library(library: ModuleType) -> None:
    embedder = load_embedder("sentence-transformers:some/model")
    assert embedder.name == "sentence-transformers:some/model"
    assert (embedder.dimensions, embedder.max_tokens) == (26, 256)
    vectors = embedder.embed_passages(["aaaa", "bbbb", "aab"])
    assert vectors.shape == (3, 26)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (vectors @ embedder.embed_query("aaaa")).argmax() == 0
    assert embedder.embed_passages([]).shape == (0, 26)
    assert embedder.token_starts("two words") == [0, 4, 8]


def test_families_without_their_own_prompts_are_prefixed(library: ModuleType) -> None:
    embedder = TransformerEmbedder("intfloat/e5-small-v2")
    embedder.embed_passages(["text"])
    embedder.embed_query("question")
    assert embedder._model.seen == ["passage: text", "query: question"]


def test_a_model_that_does_not_load_is_named(library: ModuleType) -> None:
    with pytest.raises(ModelUnavailable, match="cannot load 'nowhere'"):
        TransformerEmbedder("nowhere")
