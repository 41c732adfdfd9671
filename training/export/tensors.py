"""Reading the tensors of a BERT encoder, whatever file they come in.

Matrices are kept as int8 with one scale per output column, so that a graph rebuilt from an int8
file multiplies by exactly the numbers that file did.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from training.arrays import CLS, PAD, SEP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
HEAD = re.compile(r"span|(?:glance\d+|rel|ans|sup)\.[02]")
TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")
RELATIVE = "encoder.relative_attention_bias.weight"
"""How much each head of MPNet heeds a token so many places away."""
_OF_MPNET = {
    "attention.attn.q.": "attention.self.query.",
    "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.",
    "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}
INT8_MAX = 127


@dataclass(frozen=True, slots=True)
class Matrix:
    """`values * scale`, laid out (in, out); one scale per output column."""

    values: NDArray[np.int8]
    scale: Floats

    @property
    def floats(self) -> Floats:
        return self.values.astype(np.float32) * self.scale


@dataclass(frozen=True, slots=True)
class Table:
    """`(values - zero) * scale`: an embedding table; one scale for all of it or, laid out
    (rows, 1), one for each row."""

    values: NDArray[np.uint8]
    scale: float | Floats
    zero: int

    @property
    def floats(self) -> Floats:
        shifted = self.values.astype(np.int32) - self.zero
        return (shifted * np.asarray(self.scale, np.float32)).astype(np.float32)


@dataclass(slots=True)
class Tensors:
    """Everything in one encoder and the heads on top of it, by the names BERT gives them."""

    matrices: dict[str, Matrix] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    vectors: dict[str, Floats] = field(default_factory=dict)
    exact: dict[str, Floats] = field(default_factory=dict)
    """Heads (in, out) and small tables as they were trained, where the source has floats; every
    matrix, where they are kept to measure what int8 costs."""

    def floats(self, module: str) -> Floats:
        """The best there is of a matrix or table that is used in float."""
        if module in self.exact:
            return self.exact[module]
        return (self.tables if module in self.tables else self.matrices)[module].floats

    @property
    def glances(self) -> list[int]:
        """After how many layers a head glances, for each of those heads."""
        heads = (re.fullmatch(r"glance(\d+)\.0", name) for name in self.matrices)
        return sorted(int(found[1]) for found in heads if found)

    @property
    def layers(self) -> int:
        return 1 + max(
            int(found[1])
            for name in self.matrices
            if (found := re.match(r"encoder\.layer\.(\d+)\.", name))
        )


def quantise_matrix(weights: Floats) -> Matrix:
    """Symmetric int8 per output column of an (in, out) matrix."""
    scale = np.maximum(np.abs(weights).max(axis=0), 1e-12).astype(np.float32) / INT8_MAX
    return Matrix(np.rint(weights / scale).astype(np.int8), scale.astype(np.float32))


def quantise_table(weights: Floats) -> Table:
    low, high = min(float(weights.min()), 0.0), max(float(weights.max()), 0.0)
    scale = max((high - low) / 255, 1e-12)
    zero = round(-low / scale)
    return Table(np.clip(np.rint(weights / scale) + zero, 0, 255).astype(np.uint8), scale, zero)


def quantise_rows(weights: Floats) -> Table:
    """One scale per row. A few rare words have vectors many times longer than the rest: with one
    scale for all of them, every other word is left with a few steps to tell it apart by."""
    scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-12) / INT8_MAX
    values = np.rint(weights / scale) + INT8_MAX + 1
    return Table(values.astype(np.uint8), scale.astype(np.float32), INT8_MAX + 1)


def read_int8_onnx(file: Path) -> Tensors:
    """From an export that onnxruntime quantised dynamically, per channel."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(file)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    tensors = Tensors()
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            name = _module_name(node.name)
            tensors.matrices[name] = _matrix(stored, node.input[1].removesuffix("_quantized"))
    for name, array in stored.items():
        short = name.removeprefix("bert.")
        if found := re.fullmatch(r"embeddings\.(\w+)\.weight_quantized", short):
            base = name.removesuffix("_quantized")
            scale, zero = float(stored[f"{base}_scale"]), int(stored[f"{base}_zero_point"])
            tensors.tables[found[1]] = Table(array, scale, zero)
        elif short.endswith((".bias", ".weight")) and array.dtype == np.float32:
            tensors.vectors[short] = array
    return tensors


def _module_name(node: str) -> str:
    """ "/bert/encoder/layer.0/output/dense/MatMul_quant" -> "encoder.layer.0.output.dense"."""
    parts = node.strip("/").removeprefix("bert/").split("/")[:-1]
    return parts[-1] if parts[0] in {"rel", "ans", "span"} else ".".join(parts)


def _matrix(stored: dict[str, NDArray[np.float32]], name: str) -> Matrix:
    if np.any(stored[f"{name}_zero_point"]):
        raise ValueError(f"{name!r} is not quantised symmetrically")
    values = stored[f"{name}_quantized"].astype(np.int8)
    return Matrix(values, stored[f"{name}_scale"].astype(np.float32))


def read_safetensors(file: Path) -> Tensors:
    """From float32 weights as sentence-transformers publishes them; quantised here."""
    arrays = _safetensors(file)
    return from_arrays(_as_bert(arrays) if RELATIVE in arrays else arrays)


def _as_bert(arrays: Mapping[str, Floats]) -> dict[str, Floats]:
    """MPNet by BERT's names and numbers: it has BERT's words after four of its own, of which it
    uses three instead of BERT's, two positions that nothing uses, and no types."""
    made = dict(arrays)
    for theirs, ours in _OF_MPNET.items():
        made = {name.replace(theirs, ours): array for name, array in made.items()}
    table = made["embeddings.word_embeddings.weight"]
    words = table[4:-1].copy()
    words[[CLS, PAD, SEP]] = table[:3]
    places = made["embeddings.position_embeddings.weight"][2:]
    kinds = np.zeros((2, words.shape[1]), np.float32)
    return made | {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": places,
        "embeddings.token_type_embeddings.weight": kinds,
    }


def from_arrays(arrays: Mapping[str, Floats], *, keep_floats: bool = False) -> Tensors:
    """From float weights by the names torch gives them, matrices laid out (out, in)."""
    tensors = Tensors()
    for name, array in arrays.items():
        module = name.rsplit(".", 1)[0]
        head = HEAD.fullmatch(module)
        matrix = head or module.endswith(MATRICES)
        if name.endswith(".weight") and matrix:
            tensors.matrices[module] = quantise_matrix(np.ascontiguousarray(array.T))
            if head or keep_floats:
                tensors.exact[module] = np.ascontiguousarray(array.T)
        elif module.removeprefix("embeddings.") in TABLES:
            _add_table(tensors, module.removeprefix("embeddings."), array)
        elif array.dtype == np.float32 and not name.startswith("pooler."):
            tensors.vectors[name] = array
    return tensors


def _add_table(tensors: Tensors, name: str, array: Floats) -> None:
    if name == "word_embeddings":
        tensors.tables[name] = quantise_rows(array)
    else:
        tensors.tables[name], tensors.exact[name] = quantise_table(array), array


def _safetensors(file: Path) -> dict[str, Floats]:
    """The format is a length, a JSON header and raw bytes: no library needed to read float32."""
    raw = file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    body = memoryview(raw)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }
