"""What the passes of a reader need: every multiplication and addition counted, and what this
machine does of them at its best, measured with the same shapes through the same engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.reading_speed import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.session import Workers

HIDDEN, WIDE = 384, 1536
SHAPES = ((HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, WIDE), (WIDE, HIDDEN))
"""The matrices of one layer, (in, out): query with key and value, mixing, wide and narrow."""
REPEATS = 24
"""Multiplications of each shape in one measurement of the peak, on every core."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Additions and multiplications: with weights, which int8 makes cheaper, and others, which
    are made in float32 either way."""

    weights: float = 0.0
    others: float = 0.0

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.weights + other.weights, self.others + other.others)

    @property
    def all(self) -> float:
        return self.weights + self.others


def layer_operations(tokens: int) -> Operations:
    """Of one layer over one text: two per weight and token; attention compares every token with
    every other and mixes them by it."""
    weights = sum(size * out for size, out in SHAPES)
    return Operations(2 * weights * tokens, 2 * 2 * HIDDEN * tokens * tokens)


def layers_operations(tokens: Sequence[int], layers: int) -> Operations:
    one = sum((layer_operations(count) for count in tokens), Operations())
    return Operations(layers * one.weights, layers * one.others)


def glance_head_operations(passes: int) -> Operations:
    return Operations(others=passes * 2 * (HIDDEN * HIDDEN + HIDDEN))


def look_head_operations(tokens: Sequence[int], *, heads: int) -> Operations:
    """Of span, relevance, and the heads over first token and answer: one or two of those."""
    each = 2 * (HIDDEN * HIDDEN + HIDDEN) + heads * 2 * (2 * HIDDEN * HIDDEN + HIDDEN)
    per_token = 2 * 2 * HIDDEN + 2 * HIDDEN
    return Operations(others=sum(per_token * count + each for count in tokens))


def multiplication(size: int, out: int, *, int8: bool) -> bytes:
    """A graph of nothing but one product with a constant matrix, as in the reader's graphs."""
    random = np.random.default_rng(3)
    if int8:
        matrix: Any = random.integers(-127, 128, (size, out)).astype(np.int8)
        node = helper.make_node("MatMulInteger", ["value", "matrix"], ["product"])
        given, made = TensorProto.UINT8, TensorProto.INT32
    else:
        matrix = random.normal(size=(size, out)).astype(np.float32)
        node = helper.make_node("MatMul", ["value", "matrix"], ["product"])
        given, made = TensorProto.FLOAT, TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("value", given, ("tokens", size))],
        [helper.make_tensor_value_info("product", made, ("tokens", out))],
        [numpy_helper.from_array(matrix, "matrix")],
    )
    opset = [helper.make_opsetid("", 17)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return bytes(model.SerializeToString())


class Peak:
    """Products with the matrices of a layer, as many at once as there are cores."""

    def __init__(self, tokens: int, workers: Workers, *, int8: bool) -> None:
        random = np.random.default_rng(4)
        self.operations = float(
            REPEATS * workers.threads * sum(2 * tokens * size * out for size, out in SHAPES)
        )
        self._workers = workers
        self._opened = [session(multiplication(*shape, int8=int8)) for shape in SHAPES]
        kind: Any = np.uint8 if int8 else np.float32
        self._values = [random.integers(0, 256, (tokens, size)).astype(kind) for size, _ in SHAPES]

    def run(self) -> None:
        self._workers.map(self._each, range(REPEATS * self._workers.threads))

    def _each(self, _: int) -> None:
        for opened, value in zip(self._opened, self._values, strict=True):
            opened.run(None, {"value": value})
