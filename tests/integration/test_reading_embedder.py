from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.errors import ModelUnavailable, UsageError
from secondlook.reading import load_embedder
from secondlook.reading.embedders import OnnxEmbedder
from secondlook.reading.session import OnnxModel
from secondlook.reading.weights import find_weights

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.reading.port import Embedder

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
