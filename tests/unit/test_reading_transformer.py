"""sentence-transformers needs torch, so these tests put small libraries of the same shape in its
place: the one for embedding really embeds (by counting letters), it does not replay answers."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading import load_embedder, load_reader
from secondlook.reading.cross_encoder import CrossEncoderReader
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
    vars(module).update(SentenceTransformer=CountsLetters, __version__="6.0.0")
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


# The cross-encoder really compares question and passage (by the words they share), and does what
# the real one does with activations, batches and too long texts.

QUESTION = "Who built the tower?"
TOWER = "The tower was built in 1889 by Gustave Eiffel."
CATS = "Cats sleep most of the day."


class SharesWords:
    """The logit is the number of shared words, less two."""

    num_labels = 1
    max_seq_length: int | None = 512

    def __init__(self, name: str) -> None:
        if name == "nowhere":
            raise OSError("no such model")
        self.seen: list[tuple[str, str]] = []

    def predict(
        self,
        inputs: list[tuple[str, str]],
        *,
        batch_size: int,
        show_progress_bar: bool,
        activation_fn: Callable[[Any], Any] | None,
        convert_to_numpy: bool,
    ) -> Any:
        assert convert_to_numpy
        assert not show_progress_bar
        self.seen.extend(inputs)
        limit = self.max_seq_length or 512
        scores = [
            len(_words(question) & _words(" ".join(text.split()[:limit]))) - 2.0
            for question, text in inputs
        ]
        squash = activation_fn or (lambda logits: 1 / (1 + np.exp(-logits)))
        return squash(np.array(scores, dtype=np.float32))


class Broken(SharesWords):
    def predict(self, inputs: list[tuple[str, str]], **options: Any) -> Any:
        return np.full(len(inputs), np.nan)


def _words(text: str) -> set[str]:
    return set(text.lower().replace("?", "").replace(".", "").split())


@pytest.fixture
def ranking(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sentence_transformers")
    vars(module).update(CrossEncoder=SharesWords, __version__="6.0.0")
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


def made(name: str = "some/reranker") -> tuple[CrossEncoderReader, SharesWords]:
    reader = CrossEncoderReader(name, load_reader())
    model = reader._model
    assert isinstance(model, SharesWords)
    return reader, model


def test_relevance_is_the_cross_encoders_and_the_span_the_embedded_readers(
    ranking: ModuleType,
) -> None:
    reader, _ = made()
    tower, cats = reader.read(QUESTION, [TOWER, CATS])
    assert (tower.relevance, cats.relevance) == (1.0, -1.0)  # raw logits, no sigmoid
    own = load_reader().read(QUESTION, [TOWER])[0]
    assert TOWER[tower.start : tower.end] == "Gustave Eiffel"
    assert (tower.span_score, tower.null_score, tower.answerable) == (
        own.span_score,
        own.null_score,
        own.answerable,
    )
    assert tower.looked
    assert tower.relevance != own.relevance


def test_only_the_chosen_are_searched_for_an_answer(ranking: ModuleType) -> None:
    reader, _ = made()
    given: list[list[float]] = []

    def choose(relevances: Any) -> list[int]:
        given.append(list(relevances))
        return [1]

    cats, tower = reader.read(QUESTION, [CATS, TOWER], choose=choose)
    assert given == [[-1.0, 1.0]]
    assert (cats.looked, cats.relevance, cats.start, cats.end) == (False, -1.0, 0, 0)
    assert (tower.looked, tower.relevance) == (True, 1.0)


@pytest.mark.parametrize("limit", [512, 128, None, 10**30])
def test_of_a_long_passage_the_best_part_counts(
    ranking: ModuleType, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(made()[1]), "max_seq_length", limit)
    reader, model = made()
    passage = "filler words go on " * 400 + "who built the tower " + "and on and on " * 300
    assert reader.read(QUESTION, [passage])[0].relevance == 2.0
    assert len(model.seen) > 3
    assert "".join(part.split()[0] for _, part in model.seen)  # no empty part
    assert sum(len(part) for _, part in model.seen) >= len(passage)


def test_scores_that_are_no_numbers_are_refused(ranking: ModuleType) -> None:
    vars(ranking)["CrossEncoder"] = Broken
    with pytest.raises(ModelError, match="one number for each"):
        made()[0].read(QUESTION, [TOWER])
