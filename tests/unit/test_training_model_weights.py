"""Weights on their way into training and out of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest

from secondlook.reading.weights import find_weights, read_weights
from training.export import models
from training.export.build import build
from training.export.tensors import MATRICES, from_arrays, quantise_rows, quantise_table
from training.weights_in import (
    HEAD_SIZES,
    PART_BYTES,
    WORDS,
    floats,
    keep_layers,
    layer_count,
    load_base,
    load_checkpoint,
    read_onnx,
    save_base,
    save_checkpoint,
    starting_weights,
)

if TYPE_CHECKING:
    from pathlib import Path

    from training.weights_in import Arrays

HIDDEN, LAYERS = models.HIDDEN, 2
WIDE = {"intermediate.dense": (1536, HIDDEN), "output.dense": (HIDDEN, 1536)}
HEADS = sorted(HEAD_SIZES)
FEED = {
    "ids": np.array([[101, 7, 102, 30, 12, 39, 102]]),
    "types": np.array([[0, 0, 0, 1, 1, 1, 0]]),
}


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    random = np.random.default_rng(5)

    def draw(*shape: int) -> Any:
        return random.normal(0, 0.05, shape).astype(np.float32)

    made: Arrays = {}
    for name, rows in (("word", 200), ("position", 512), ("token_type", 2)):
        made[f"embeddings.{name}_embeddings.weight"] = draw(rows, HIDDEN)
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
        for module in MATRICES:
            shape = WIDE.get(module, (HIDDEN, HIDDEN))
            made[f"{prefix}{module}.weight"] = draw(*shape)
            made[f"{prefix}{module}.bias"] = draw(shape[0])
    for norm in norms:
        made[f"{norm}.weight"], made[f"{norm}.bias"] = 1 + draw(HIDDEN), draw(HIDDEN)
    for head, (size, out) in HEAD_SIZES.items():
        made[f"{head}.weight"], made[f"{head}.bias"] = draw(out, size), draw(out)
    return made


def run(model: onnx.ModelProto) -> Any:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, FEED)


def test_a_checkpoint_comes_back_within_its_precision(arrays: Arrays, tmp_path: Path) -> None:
    save_checkpoint(arrays, tmp_path)
    again = load_checkpoint(tmp_path)
    assert again.keys() == arrays.keys()
    for name, value in arrays.items():
        allowed = np.abs(value).max() / 127 if name == WORDS else 1e-3
        assert np.abs(again[name] - value).max() <= allowed, name


def test_parts_stay_small_and_old_ones_go(arrays: Arrays, tmp_path: Path) -> None:
    big = {**arrays, "encoder.more": np.zeros((3000, 2000), np.float32)}
    files = save_checkpoint(big, tmp_path)
    assert len(files) == 2
    assert all(file.stat().st_size < PART_BYTES + 100_000 for file in files)
    assert len(save_checkpoint(arrays, tmp_path)) == len(list(tmp_path.glob("part-*.npz"))) == 1


def test_an_empty_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no part-\*\.npz"):
        load_checkpoint(tmp_path)


def test_every_second_layer_is_kept_up_to_the_last() -> None:
    there = {f"encoder.layer.{n}.x": np.array([n], np.float32) for n in range(12)}
    there["other"] = np.array([99], np.float32)
    six = keep_layers(there, 6)
    assert [int(six[f"encoder.layer.{n}.x"][0]) for n in range(6)] == [1, 3, 5, 7, 9, 11]
    assert six["other"] == 99
    assert layer_count(six) == 6
    assert keep_layers(there, 12).keys() == there.keys()
    with pytest.raises(ValueError, match="13 layers asked for, the source has 12"):
        keep_layers(there, 13)


def test_missing_heads_start_at_random_but_the_same_for_a_seed(
    arrays: Arrays, tmp_path: Path
) -> None:
    headless = {name: v for name, v in arrays.items() if not name.startswith("sup")}
    save_base(from_arrays(headless), tmp_path / "base.npz")
    first, second, other = (
        starting_weights(tmp_path / "base.npz", layers=1, seed=seed) for seed in (4, 4, 5)
    )
    assert first["sup.0.weight"].shape == (HIDDEN, 2 * HIDDEN)
    assert np.array_equal(first["sup.0.weight"], second["sup.0.weight"])
    assert not np.array_equal(first["sup.0.weight"], other["sup.0.weight"])
    assert layer_count(first) == 1


def test_a_graph_of_ours_gives_its_weights_back(arrays: Arrays, tmp_path: Path) -> None:
    """Written fused and int8, read, kept as a base, read again: the same numbers."""
    tensors = from_arrays(arrays)
    file = tmp_path / "model.onnx"
    onnx.save(models.reader(tensors), str(file))
    save_base(read_onnx(file), tmp_path / "base.npz")
    again, expected = load_base(tmp_path / "base.npz"), floats(tensors)
    assert again.keys() == expected.keys()
    for name, value in expected.items():
        slack = 0.003 if name.startswith(("span", "rel", "ans", "sup", "embeddings")) else 1e-6
        assert np.allclose(again[name], value, atol=slack), name


def test_an_embedder_of_ours_can_be_a_base_too(arrays: Arrays, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(models.embedder(from_arrays(arrays)), str(file))
    again = floats(read_onnx(file))
    assert not again["embeddings.token_type_embeddings.weight"].any()
    folded = sum(
        arrays[f"embeddings.{part}_embeddings.weight"][0] for part in ("position", "token_type")
    )
    assert np.allclose(again["embeddings.position_embeddings.weight"][0], folded, atol=0.005)


def test_a_checkpoint_becomes_a_model_folder(arrays: Arrays, tmp_path: Path) -> None:
    save_checkpoint(arrays, tmp_path / "checkpoint")
    options: dict[str, Any] = {
        "weights": tmp_path / "checkpoint",
        "tokenizer": find_weights("reader").tokenizer,
        "name": "tiny",
    }
    build("reader", folder=tmp_path / "five", **options)
    build("reader", folder=tmp_path / "four", support=False, **options)
    five, four = (run(onnx.load(str(tmp_path / name / "model.onnx"))) for name in ("five", "four"))
    assert [values.shape for values in five] == [(1, 7), (1, 7), (1,), (1,), (1,)]
    for with_support, without in zip(five, four, strict=False):
        assert np.array_equal(with_support, without)
    assert len(four) == 4
    assert read_weights(tmp_path / "five").identity.startswith("tiny@")


def test_heads_are_shipped_as_they_were_trained(arrays: Arrays) -> None:
    constants = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in models.reader(from_arrays(arrays)).graph.initializer
    }
    for head in HEADS:
        assert np.array_equal(constants[f"{head}.float"], arrays[f"{head}.weight"].T)


def test_one_long_word_vector_does_not_coarsen_the_others() -> None:
    weights = np.random.default_rng(2).normal(0, 0.05, (50, 8)).astype(np.float32)
    weights[7] *= 100
    by_row, as_one = (
        np.abs(made(weights).floats - weights) for made in (quantise_rows, quantise_table)
    )
    ordinary = np.arange(50) != 7
    assert by_row[ordinary].max() < 0.002 < as_one[ordinary].max()
    assert by_row[7].max() < 0.1
