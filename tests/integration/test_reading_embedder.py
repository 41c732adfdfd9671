"""The embedded models: vectors, answers and spans, and a reader in two stages."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.errors import ModelUnavailable, UsageError
from secondlook.reading import load_embedder, load_reader
from secondlook.reading.embedders import OnnxEmbedder
from secondlook.reading.reader import OnnxReader
from secondlook.reading.session import OnnxModel
from secondlook.reading.weights import find_weights
from tests.support.parted_reader import built

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.reading.port import Embedder, Reader, Reading
    from secondlook.reading.reader import _Window
    from secondlook.reading.session import Outputs
    from secondlook.reading.weights import Weights


TEXTS = [
    "The mitochondrion is the powerhouse of the cell.",
    "Interest rates were raised by the central bank on Tuesday.",
    "A cell's energy, ATP, is made in its mitochondria. " * 20,
    "",
    "😀",
    "Der Vertrag endet am 31. Dezember.",
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder()


def test_vectors_are_unit_length_and_typed(embedder: Embedder) -> None:
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions) == (6, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_question_finds_the_passage_about_it(embedder: Embedder) -> None:
    scores = embedder.embed_passages(TEXTS) @ embedder.embed_query(
        "where do cells get energy from?"
    )
    assert scores.argmax() in {0, 2}
    assert scores[1] < min(scores[0], scores[2])


def test_a_vector_does_not_depend_on_what_it_is_embedded_with(embedder: Embedder) -> None:
    together = embedder.embed_passages(TEXTS)
    alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
    backwards = OnnxEmbedder(threads=1).embed_passages(TEXTS[::-1])[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)
    assert np.array_equal(together[0], embedder.embed_query(TEXTS[0]))


def test_its_name_holds_the_hash_of_the_file(embedder: Embedder) -> None:
    digest = hashlib.sha256(find_weights("embedder").graphs[0].read_bytes()).hexdigest()
    assert embedder.name == f"secondlook-embedder-1@{digest[:12]}"


@pytest.mark.parametrize("spec", ["", "nonsense", "ollama:", "mystery:model"])
def test_an_unknown_spec_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_embedder(spec)
    assert "ollama:MODEL" in (raised.value.hint or "")


def test_a_damaged_model_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelUnavailable, match="does not load"):
        OnnxModel(tmp_path / "model.onnx")


def test_another_process_computes_the_same_bytes(embedder: Embedder) -> None:
    script = textwrap.dedent("""
        import sys
        from secondlook.reading import load_embedder
        sys.stdout.write(load_embedder(threads=1).embed_query("the same text").tobytes().hex())
    """)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == embedder.embed_query("the same text").tobytes().hex()


def test_asking_for_nothing_imports_no_engine() -> None:
    script = (
        "import sys, secondlook.reading;"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# The embedded reader.

QUESTION = "When was the observatory founded?"
ANSWER = "1847"
GOLD = f"The observatory was founded in {ANSWER} by a group of merchants, and burned down later."
OFF_TOPIC = "Bread rises because yeast turns sugar into carbon dioxide, which the gluten holds."
FILLER = "The harbour master kept a careful diary of every ship and its cargo. "


@pytest.fixture(scope="module")
def reader() -> Reader:
    return load_reader()


def test_it_finds_the_answer_and_its_characters(reader: Reader) -> None:
    passage = "😀 Ünïcode first. " + GOLD
    (reading,) = reader.read(QUESTION, [passage])
    assert passage[reading.start : reading.end] == ANSWER
    assert reading.span_score > reading.null_score
    assert reading.answerable > 0
    assert reading.windows == 1


def test_the_passage_that_answers_is_most_relevant_and_order_is_kept(reader: Reader) -> None:
    readings = reader.read(QUESTION, [OFF_TOPIC, GOLD, FILLER])
    scores = [reading.relevance for reading in readings]
    assert scores.index(max(scores)) == 1
    assert readings[1].answerable > readings[0].answerable
    assert readings[0].span_score < readings[0].null_score


def test_a_reading_does_not_depend_on_the_other_passages(reader: Reader) -> None:
    passages = [OFF_TOPIC, GOLD, FILLER * 40, ""]
    together = reader.read(QUESTION, passages)
    assert together == [reader.read(QUESTION, [passage])[0] for passage in passages]
    assert together == reader.read(QUESTION, passages[::-1])[::-1]
    assert together == OnnxReader(threads=1).read(QUESTION, passages)


@pytest.mark.parametrize("before", [60, 30, 0])
def test_an_answer_anywhere_in_a_long_passage_is_found(reader: Reader, before: int) -> None:
    passage = FILLER * before + GOLD + " " + FILLER * (60 - before)
    (reading,) = reader.read(QUESTION, [passage])
    assert reading.windows > 2
    assert passage[reading.start : reading.end] == ANSWER


@pytest.mark.parametrize(
    "passage", ["\ud83d half a pair", "x" * 5_000, "\x00\x01", "👩‍👩‍👧‍👦" * 50]
)
def test_odd_text_gives_offsets_inside_the_passage(reader: Reader, passage: str) -> None:
    (reading,) = reader.read("what is it? \udc00", [passage])
    assert 0 <= reading.start <= reading.end <= len(passage)


# A reader in two stages: a glance at every passage, a look at those that are chosen.

LONG = "The harbour master kept a careful diary of every ship and its cargo. " * 60
PASSAGES = [
    "The observatory was founded in 1847 by a group of merchants.",
    "Bread rises because yeast turns sugar into carbon dioxide.",
    LONG,
    "",
    "A short one.",
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Weights]:
    return built(tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="module")
def looks(weights: dict[str, Weights]) -> list[Reading]:
    """Every passage looked at, in one go."""
    return OnnxReader(weights["parted"]).read(QUESTION, PASSAGES)


class Passing:
    """Counts the passes of every reader."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.glances = self.looks = 0
        glanced, looked = OnnxReader._glanced, OnnxReader._looked

        def glance(reader: OnnxReader, window: _Window) -> _Window:
            self.glances += 1
            return glanced(reader, window)

        def look(reader: OnnxReader, window: _Window) -> tuple[_Window, Outputs]:
            self.looks += 1
            return looked(reader, window)

        monkeypatch.setattr(OnnxReader, "_glanced", glance)
        monkeypatch.setattr(OnnxReader, "_looked", look)


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Passing:
    return Passing(monkeypatch)


def first_two(glances: Sequence[float]) -> list[int]:
    return sorted(range(len(glances)), key=lambda at: -glances[at])[:2]


def test_in_two_stages_and_whole_it_says_the_same_to_the_last_bit(
    weights: dict[str, Weights], looks: list[Reading]
) -> None:
    whole = OnnxReader(weights["whole"]).read(QUESTION, PASSAGES)
    assert [replace(one, glance=None) for one in looks] == whole
    assert all(one.looked and one.glance is not None for one in looks)
    assert looks[2].windows > 2


def test_only_what_is_chosen_is_looked_at(
    weights: dict[str, Weights], looks: list[Reading], passing: Passing
) -> None:
    given: list[float] = []

    def choose(glances: Sequence[float]) -> list[int]:
        given.extend(glances)
        return [4, 0]

    readings = OnnxReader(weights["parted"]).read(QUESTION, PASSAGES, choose=choose)
    assert given == [one.glance for one in looks]
    assert [one.looked for one in readings] == [True, False, False, False, True]
    assert (readings[0], readings[4]) == (looks[0], looks[4])
    for one, look in zip(readings[1:4], looks[1:4], strict=True):
        assert (one.relevance, one.glance) == (look.glance, look.glance)
        assert one.windows == look.windows
        assert (one.start, one.end, one.span_score, one.answerable) == (0, 0, 0.0, 0.0)
    assert passing.looks == 2
    assert passing.glances == 4 + looks[2].windows


def test_what_was_read_is_not_read_again(
    weights: dict[str, Weights], looks: list[Reading], passing: Passing
) -> None:
    reader = OnnxReader(weights["parted"])
    first = reader.read(QUESTION, PASSAGES, choose=first_two)
    counted = (passing.glances, passing.looks)
    assert reader.read(QUESTION, PASSAGES, choose=first_two) == first
    assert (passing.glances, passing.looks) == counted
    assert reader.read(QUESTION, PASSAGES) == looks
    assert reader.read(QUESTION, PASSAGES, choose=first_two) == first
    assert OnnxReader(weights["parted"], remembered=0).read(QUESTION, PASSAGES) == looks


def test_a_whole_reader_looks_at_everything(weights: dict[str, Weights]) -> None:
    reader = OnnxReader(weights["whole"])
    assert not reader.glances
    readings = reader.read(QUESTION, PASSAGES, choose=lambda _: [])
    assert readings == reader.read(QUESTION, PASSAGES)
    assert all(one.looked and one.glance is None for one in readings)


CLAIMS = [
    ("The observatory is old.", PASSAGES[0]),
    ("Bread rises.", PASSAGES[1]),
    ("The harbour master wrote a diary.", LONG),
]


def test_it_judges_claims_in_two_stages_as_in_one(weights: dict[str, Weights]) -> None:
    parted, whole = OnnxReader(weights["parted"]), OnnxReader(weights["whole"], threads=1)
    logits = parted.judge(CLAIMS)
    assert parted.judges
    assert logits == whole.judge(CLAIMS)
    assert logits == [parted.judge([pair])[0] for pair in CLAIMS]
    assert parted.judge([*CLAIMS[::-1], CLAIMS[0]]) == [*logits[::-1], logits[0]]
    assert len(set(logits)) == 3
    assert parted.judge([]) == []
