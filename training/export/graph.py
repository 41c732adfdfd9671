"""Writing a BERT encoder straight as an ONNX graph of onnxruntime's own operators.

An exported graph spells attention, GELU and layer norm in hundreds of small nodes; here each is
one node. There is no attention mask: a pass holds texts of equal length (in the product exactly
one), so nothing is padded and nothing needs masking.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training.export.tensors import Matrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.export.tensors import Floats, Tensors

    Shapes = Mapping[str, tuple[str | int, ...]]

MICROSOFT = "com.microsoft"
OPSET = 17
IR_VERSION = 8
LAYER_NORM_EPSILON = 1e-12
HEADS = 12

Linear: TypeAlias = Literal["integer", "blocks", "float"]
"""integer: int8 with one activation scale per tensor; blocks: one per row and block; float: the
weights multiplied in float32, as trained where the source has them: what int8 is held against."""
Attention: TypeAlias = Literal["quantised", "separate"]
"""quantised: projections inside the attention node; separate: before it."""


def blocks(size: int, columns: int, block: int) -> dict[str, Any]:
    """What MatMulNBits is told of weights of eight bits in blocks."""
    return {"K": size, "N": columns, "bits": 8, "block_size": block, "accuracy_level": 4}


@dataclass(frozen=True, slots=True)
class Plan:
    """How to write the graph. The defaults measured best (docs/models.md)."""

    linear: Linear = "integer"
    attention: Attention = "quantised"
    fuse_skip: bool = False
    """SkipLayerNormalization as one node: on a processor it is slower than its two parts."""
    block: int = 128


@dataclass(slots=True)
class Graph:
    """Nodes and constants as they accumulate. Methods return the name of what they add."""

    tensors: Tensors
    plan: Plan
    nodes: dict[str, onnx.NodeProto] = field(default_factory=dict)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def constant(self, name: str, array: NDArray[Any]) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def integers(self, *values: int) -> str:
        name = f"integers {values}"
        return self.constant(name, np.array(values, np.int64))

    def vector(self, name: str) -> str:
        return self.constant(name, self.tensors.vectors[name])

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """A node of the standard set, or of onnxruntime's where `domain` says so."""
        return self.nodes_of(op, inputs, [name], **attributes)

    def nodes_of(self, op: str, inputs: Sequence[str], names: list[str], **attributes: Any) -> str:
        name = names[0]
        if name not in self.nodes:
            self.nodes[name] = helper.make_node(op, inputs, names, name=name, **attributes)
        return name

    def quantised(self, value: str) -> tuple[str, str, str]:
        """uint8 values of the whole tensor, its scale and its zero point."""
        names = [f"{value}/{part}" for part in ("u8", "scale", "zero")]
        self.nodes_of("DynamicQuantizeLinear", [value], names)
        return names[0], names[1], names[2]

    def linear(self, value: str, module: str) -> str:
        """`value @ weights + bias` of a named module."""
        write = {"integer": self._integer, "blocks": self._blocks, "float": self.float_linear}
        return write[self.plan.linear](value, module)

    def float_linear(self, value: str, module: str) -> str:
        weights = self.constant(f"{module}.float", self.tensors.floats(module))
        product = self.node("MatMul", [value, weights], f"{module}/product")
        return self.node("Add", [product, self.vector(f"{module}.bias")], f"{module}/out")

    def _integer(self, value: str, module: str) -> str:
        matrix = self.tensors.matrices[module]
        u8, scale, zero = self.quantised(value)
        weights = self.constant(f"{module}.int8", matrix.values)
        scales = self.constant(f"{module}.scale", matrix.scale)
        # No zero point for the weights: they are symmetric.
        inputs = [u8, weights, scale, scales, zero, "", self.vector(f"{module}.bias")]
        return self.node("MatMulIntegerToFloat", inputs, f"{module}/out", domain=MICROSOFT)

    def _blocks(self, value: str, module: str) -> str:
        matrix, block = self.tensors.matrices[module], self.plan.block
        size, columns = matrix.values.shape
        shifted = (matrix.values.T.astype(np.int16) + 128).astype(np.uint8)
        weights = self.constant(f"{module}.u8", shifted.reshape(columns, size // block, block))
        repeated = np.repeat(matrix.scale[:, None], size // block, axis=1)
        inputs = [value, weights, self.constant(f"{module}.scales", repeated), "", ""]
        return self.node(
            "MatMulNBits",
            [*inputs, self.vector(f"{module}.bias")],
            f"{module}/out",
            domain=MICROSOFT,
            **blocks(size, columns, block),
        )

    def layer_norm(self, value: str, module: str) -> str:
        inputs = [value, self.vector(f"{module}.weight"), self.vector(f"{module}.bias")]
        name = f"{module}/out"
        return self.node("LayerNormalization", inputs, name, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def add_and_norm(self, value: str, skip: str, module: str) -> str:
        if not self.plan.fuse_skip:
            return self.layer_norm(self.node("Add", [value, skip], f"{module}/sum"), module)
        inputs = [value, skip, self.vector(f"{module}.weight"), self.vector(f"{module}.bias")]
        return self.node(
            "SkipLayerNormalization",
            inputs,
            f"{module}/out",
            domain=MICROSOFT,
            epsilon=LAYER_NORM_EPSILON,
        )

    def model(
        self, inputs: Shapes, outputs: Shapes, *, states: Shapes | None = None
    ) -> onnx.ModelProto:
        """Inputs are tokens; `states` are inputs too, handed over from another graph."""
        given = _described(TensorProto.FLOAT, states or {}) + _described(TensorProto.INT64, inputs)
        made = _described(TensorProto.FLOAT, outputs)
        body = helper.make_graph(
            list(self.nodes.values()), "secondlook", given, made, list(self.constants.values())
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(
            body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="secondlook"
        )


def _described(kind: int, shapes: Shapes) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]


def encoder(graph: Graph, ids: str, types: str | None) -> str:
    """The last layer's output: (texts, tokens, hidden)."""
    return layers(graph, embeddings(graph, ids, types), range(graph.tensors.layers))


def layers(graph: Graph, state: str, numbers: range) -> str:
    """The output of the last of these layers, the first of which is given `state`."""
    for layer in numbers:
        state = _layer(graph, state, f"encoder.layer.{layer}")
    return state


def embeddings(graph: Graph, ids: str, types: str | None) -> str:
    """Word, position and type vectors, summed and normalised. Without `types` every token is of
    type 0, whose vector is folded into the positions."""
    positions = graph.tensors.floats("position_embeddings")
    kinds = graph.tensors.floats("token_type_embeddings")
    words = _words(graph, ids)
    if types is None:
        positions = positions + kinds[0]
    else:
        rows = graph.node("Gather", [graph.constant("kinds", kinds), types], "kinds/rows")
        words = graph.node("Add", [words, rows], "words+kinds")
    length = graph.node("Shape", [ids], "length", start=1, end=2)
    table = graph.constant("positions", positions)
    start = graph.integers(0)
    places = graph.node("Slice", [table, start, length, start], "positions/rows")
    return graph.layer_norm(graph.node("Add", [words, places], "embedded"), "embeddings.LayerNorm")


def _words(graph: Graph, ids: str) -> str:
    table = graph.tensors.tables["word_embeddings"]
    rows = graph.node("Gather", [graph.constant("words", table.values), ids], "words/rows")
    one = isinstance(table.scale, float)
    scale = graph.constant("words.scale", np.array(table.scale if one else 1, np.float32))
    zero = graph.constant("words.zero", np.array(table.zero, np.uint8))
    steps = graph.node("DequantizeLinear", [rows, scale, zero], "words/floats")
    if one:
        return steps
    every = graph.constant("words.scales", np.asarray(table.scale, np.float32))
    scales = graph.node("Gather", [every, ids], "words/scales")
    return graph.node("Mul", [steps, scales], "words/scaled")


def _layer(graph: Graph, state: str, layer: str) -> str:
    context = _attention(graph, state, f"{layer}.attention.self")
    mixed = graph.linear(context, f"{layer}.attention.output.dense")
    state = graph.add_and_norm(mixed, state, f"{layer}.attention.output.LayerNorm")
    wide = graph.linear(state, f"{layer}.intermediate.dense")
    active = graph.node("Gelu", [wide], f"{layer}.gelu", domain=MICROSOFT)
    narrow = graph.linear(active, f"{layer}.output.dense")
    return graph.add_and_norm(narrow, state, f"{layer}.output.LayerNorm")


def _attention(graph: Graph, state: str, module: str) -> str:
    parts = [f"{module}.{part}" for part in ("query", "key", "value")]
    name = f"{module}/context"
    if graph.plan.attention == "separate":
        inputs = [graph.linear(state, part) for part in parts]
        return graph.node("MultiHeadAttention", inputs, name, domain=MICROSOFT, num_heads=HEADS)
    u8, scale, zero = graph.quantised(state)
    weights, bias = _joined(graph.tensors, parts)
    inputs = [
        u8,
        graph.constant(f"{module}.int8", weights.values),
        graph.constant(f"{module}.bias", bias),
        scale,
        graph.constant(f"{module}.scale", weights.scale),
        "",
        zero,
    ]
    return graph.node("QAttention", inputs, name, domain=MICROSOFT, num_heads=HEADS)


def _joined(tensors: Tensors, parts: list[str]) -> tuple[Matrix, Floats]:
    matrices = [tensors.matrices[part] for part in parts]
    values = np.concatenate([matrix.values for matrix in matrices], axis=1)
    scale = np.concatenate([matrix.scale for matrix in matrices])
    bias = np.concatenate([tensors.vectors[f"{part}.bias"] for part in parts])
    return Matrix(values, scale), bias
