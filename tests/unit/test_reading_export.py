"""The fused graphs against BERT written out in numpy, on a small encoder with random weights."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest

from training.export import models
from training.export.build import build, read_tensors
from training.export.graph import Plan
from training.export.tensors import MATRICES, Tensors, quantise_matrix, quantise_table

if TYPE_CHECKING:
    from pathlib import Path

    from training.export.tensors import Floats

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


@pytest.mark.parametrize("plan", [plan for plan, _ in PLANS])
def test_a_glance_and_a_look_are_the_whole_bit_for_bit(tensors: Tensors, plan: Plan) -> None:
    whole = run(models.reader(tensors, plan), ids=IDS, types=TYPES)
    state, _ = run(models.glance(tensors, 1, plan), ids=IDS, types=TYPES)
    parted = run(models.look(tensors, 1, plan), state=state, types=TYPES)
    for left, right in zip(whole, parted, strict=True):
        assert np.array_equal(left, right)


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
