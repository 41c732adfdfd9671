"""The fused graphs against BERT written out in numpy, on a small encoder with random weights."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support.parted_reader import random_reader
from training.export import models
from training.export.build import build, read_tensors
from training.export.graph import HEADS, Plan
from training.export.tensors import MATRICES, Tensors, quantise_matrix, quantise_table
from training.weights_in import save_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from training.export.tensors import Floats
    from training.weights_in import Arrays

HIDDEN, WIDE, WORDS, LAYERS = models.HIDDEN, 1536, 40, 2
SIZES = {"intermediate.dense": (HIDDEN, WIDE), "output.dense": (WIDE, HIDDEN)}
HEAD_SIZES = {
    "span": (384, 2),
    "rel.0": (384, 384),
    "rel.2": (384, 1),
    "ans.0": (768, 384),
    "ans.2": (384, 1),
    "glance1.0": (384, 384),
    "glance1.2": (384, 1),
}
IDS = np.array([[3, 7, 1, 30, 12, 39, 5]])
TYPES = np.array([[0, 0, 0, 1, 1, 1, 0]])


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    random = np.random.default_rng(7)

    def draw(*shape: int, spread: float = 0.05) -> Floats:
        return random.normal(0, spread, shape).astype(np.float32)

    made = Tensors()
    for name, rows in (("word", WORDS), ("position", 16), ("token_type", 2)):
        made.tables[f"{name}_embeddings"] = quantise_table(draw(rows, HIDDEN, spread=1))
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
        for name in MATRICES:
            shape = SIZES.get(name, (HIDDEN, HIDDEN))
            made.matrices[prefix + name] = quantise_matrix(draw(*shape))
            made.vectors[f"{prefix}{name}.bias"] = draw(shape[1])
    for name in norms:
        made.vectors[f"{name}.weight"] = 1 + draw(HIDDEN)
        made.vectors[f"{name}.bias"] = draw(HIDDEN)
    for name, shape in HEAD_SIZES.items():
        made.matrices[name] = quantise_matrix(draw(*shape))
        made.vectors[f"{name}.bias"] = draw(shape[1])
    return made


def small_reader(*, glances: tuple[int, ...]) -> Arrays:
    """Float weights of a reader with few words and with heads that glance."""
    arrays = random_reader(words=WORDS)
    for after in glances:
        for part in ("0.weight", "0.bias", "2.weight", "2.bias"):
            arrays[f"glance{after}.{part}"] = arrays[f"glance1.{part}"]
    return {
        name: value
        for name, value in arrays.items()
        if not name.startswith("glance") or int(name[6]) in glances
    }


def linear(tensors: Tensors, value: Floats, name: str) -> Floats:
    return value @ tensors.matrices[name].floats + tensors.vectors[f"{name}.bias"]


def norm(tensors: Tensors, value: Floats, name: str) -> Floats:
    centred = value - value.mean(-1, keepdims=True)
    scaled: Floats = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * tensors.vectors[f"{name}.weight"] + tensors.vectors[f"{name}.bias"]


def softmax(value: Floats) -> Floats:
    raised = np.exp(value - value.max(-1, keepdims=True))
    shares: Floats = raised / raised.sum(-1, keepdims=True)
    return shares


def attention(tensors: Tensors, state: Floats, prefix: str) -> Floats:
    size = HIDDEN // HEADS
    query, key, value = (
        linear(tensors, state, f"{prefix}.{part}").reshape(-1, HEADS, size).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    weights = softmax(query @ key.transpose(0, 2, 1) / math.sqrt(size))
    return (weights @ value).transpose(1, 0, 2).reshape(-1, HIDDEN)


def bert(tensors: Tensors, ids: Any, types: Any, layers: int = LAYERS) -> Floats:
    tables = tensors.tables
    state = tables["word_embeddings"].floats[ids] + tables["token_type_embeddings"].floats[types]
    state = norm(
        tensors, state + tables["position_embeddings"].floats[: len(ids)], "embeddings.LayerNorm"
    )
    gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}"
        context = attention(tensors, state, f"{prefix}.attention.self")
        mixed = linear(tensors, context, f"{prefix}.attention.output.dense")
        state = norm(tensors, mixed + state, f"{prefix}.attention.output.LayerNorm")
        wide = gelu(linear(tensors, state, f"{prefix}.intermediate.dense"))
        narrow = linear(tensors, wide, f"{prefix}.output.dense")
        state = norm(tensors, narrow + state, f"{prefix}.output.LayerNorm")
    return state


def run(model: onnx.ModelProto, **feed: Any) -> Any:
    """As the product does: what the graph says, not what onnxruntime would make of it."""
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feed)


PLANS = [
    (Plan(linear="float", attention="separate"), 1e-4),
    (Plan(), 0.05),
    (Plan(attention="separate", fuse_skip=True), 0.05),
    (Plan(linear="blocks", attention="separate"), 0.05),
]


@pytest.mark.parametrize(("plan", "tolerance"), PLANS)
def test_the_embedder_is_the_mean_of_bert(tensors: Tensors, plan: Plan, tolerance: float) -> None:
    (vectors,) = run(models.embedder(tensors, plan), ids=IDS)
    mean = bert(tensors, IDS[0], np.zeros_like(TYPES[0])).mean(axis=0)
    assert np.allclose(vectors[0], mean / np.linalg.norm(mean), atol=tolerance)


@pytest.mark.parametrize(("plan", "tolerance"), PLANS)
def test_the_reader_is_bert_with_three_heads(
    tensors: Tensors, plan: Plan, tolerance: float
) -> None:
    start, end, relevance, answerable = run(models.reader(tensors, plan), ids=IDS, types=TYPES)
    state = bert(tensors, IDS[0], TYPES[0])
    span = linear(tensors, state, "span")
    weights = softmax(np.where(TYPES[0] == 1, span[:, 0], -1e4))
    both = np.concatenate([state[0], weights @ state])
    heads = {
        name: linear(tensors, np.tanh(linear(tensors, value, f"{name}.0")), f"{name}.2")
        for name, value in (("rel", state[0]), ("ans", both))
    }
    slack = 10 * tolerance
    assert np.allclose(start[0], span[:, 0], atol=slack)
    assert np.allclose(end[0], span[:, 1], atol=slack)
    assert np.allclose(relevance, heads["rel"], atol=slack)
    assert np.allclose(answerable, heads["ans"], atol=slack)


@pytest.mark.parametrize(("plan", "tolerance"), PLANS)
def test_the_glance_is_a_head_on_the_first_layers(
    tensors: Tensors, plan: Plan, tolerance: float
) -> None:
    state, glance = run(models.glance(tensors, 1, plan), ids=IDS, types=TYPES)
    expected = bert(tensors, IDS[0], TYPES[0], layers=1)
    assert np.allclose(state[0], expected, atol=10 * tolerance)
    inner = np.tanh(linear(tensors, expected[0], "glance1.0"))
    assert np.allclose(glance, linear(tensors, inner, "glance1.2"), atol=10 * tolerance)


@pytest.mark.parametrize("plan", [plan for plan, _ in PLANS])
def test_a_glance_and_a_look_are_the_whole_bit_for_bit(tensors: Tensors, plan: Plan) -> None:
    whole = run(models.reader(tensors, plan), ids=IDS, types=TYPES)
    state, _ = run(models.glance(tensors, 1, plan), ids=IDS, types=TYPES)
    parted = run(models.look(tensors, 1, plan), state=state, types=TYPES)
    for left, right in zip(whole, parted, strict=True):
        assert np.array_equal(left, right)


def test_where_a_reader_is_cut(tmp_path: Path) -> None:
    from secondlook.reading.weights import find_weights, read_weights

    arrays = small_reader(glances=(1, 2))
    save_checkpoint(arrays, tmp_path / "checkpoint")
    options: dict[str, Any] = {
        "weights": tmp_path / "checkpoint",
        "tokenizer": find_weights("reader").tokenizer,
        "name": "tiny",
        "folder": tmp_path / "out",
    }
    with pytest.raises(ValueError, match=r"sit after \[1, 2\] layers"):
        build("reader", **options)
    with pytest.raises(ValueError, match="--glance-layers 3"):
        build("reader", glance_layers=3, **options)
    build("reader", glance_layers=2, **options)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert (manifest["layers"], manifest["glance_layers"]) == (3, 2)
    assert manifest["outputs"][:2] == ["state", "glance"]
    parted = read_weights(tmp_path / "out")
    build("reader", whole=True, **options)
    whole = read_weights(tmp_path / "out")
    assert (len(parted.graphs), len(whole.graphs)) == (2, 1)
    assert parted.identity != whole.identity
    left = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert left == ["manifest.json", "model.onnx", "tokenizer.json"]


def test_floats_are_kept_as_trained_where_int8_is_held_against_them(tmp_path: Path) -> None:
    arrays = small_reader(glances=())
    save_checkpoint(arrays, tmp_path)
    name = "encoder.layer.0.output.dense"
    kept, rounded = read_tensors(tmp_path, keep_floats=True), read_tensors(tmp_path)
    trained = arrays[f"{name}.weight"].T.astype(np.float16)
    assert np.array_equal(kept.floats(name), trained)
    assert not np.array_equal(rounded.floats(name), trained)
    assert np.array_equal(kept.matrices[name].values, rounded.matrices[name].values)


def test_quantising_stays_within_half_a_step() -> None:
    weights = np.random.default_rng(3).normal(size=(64, 8)).astype(np.float32)
    matrix, table = quantise_matrix(weights), quantise_table(weights)
    assert np.all(np.abs(matrix.floats - weights) <= matrix.scale / 2 + 1e-6)
    assert np.all(np.abs(table.floats - weights) <= table.scale * 0.51)
    assert matrix.values.dtype == np.int8


def test_a_safetensors_file_becomes_a_model_folder(tensors: Tensors, tmp_path: Path) -> None:
    """Float32 weights as published, read without any library, to a folder the product opens."""
    from secondlook.reading.embedders import OnnxEmbedder
    from secondlook.reading.weights import find_weights, read_weights, verify_weights

    arrays = {f"{n}.weight": m.floats.T for n, m in tensors.matrices.items() if "encoder" in n}
    arrays |= {f"embeddings.{name}.weight": table.floats for name, table in tensors.tables.items()}
    arrays |= {
        name: v for name, v in tensors.vectors.items() if "Norm" in name or "encoder" in name
    }
    header, body = {}, b""
    for name, array in arrays.items():
        content = np.ascontiguousarray(array, np.float32).tobytes()
        offsets = [len(body), len(body) + len(content)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        body += content
    head = json.dumps(header).encode()
    source = tmp_path / "model.safetensors"
    source.write_bytes(struct.pack("<Q", len(head)) + head + body)

    assert read_tensors(source).layers == LAYERS
    tokenizer = find_weights("embedder").tokenizer
    build("embedder", weights=source, tokenizer=tokenizer, name="tiny", folder=tmp_path / "out")
    weights = read_weights(tmp_path / "out")
    verify_weights(weights)
    assert weights.identity.startswith("tiny@")
    (vector,) = run(onnx.load(str(weights.graphs[0])), ids=IDS)
    (same,) = run(models.embedder(tensors), ids=IDS)
    assert np.allclose(vector, same, atol=0.02)
    assert OnnxEmbedder(weights, threads=1).dimensions == HIDDEN
