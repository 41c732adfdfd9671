"""The two models of the product: an encoder with a pooling or with heads on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from training.export.graph import Graph, Plan, encoder

if TYPE_CHECKING:
    import onnx

    from training.export.tensors import Tensors

HIDDEN = 384
# What a token outside the passage weighs, as in training.
OUTSIDE = -1e4


def embedder(tensors: Tensors, plan: Plan | None = None) -> onnx.ModelProto:
    """ids (texts, tokens) -> vectors (texts, hidden): the mean over all tokens, unit length."""
    graph = Graph(tensors, plan or Plan())
    state = encoder(graph, "ids", None)
    mean = graph.node("ReduceMean", [state], "mean", axes=[1], keepdims=0)
    graph.node("LpNormalization", [mean], "vectors", axis=-1, p=2)
    return graph.model({"ids": ("texts", "tokens")}, {"vectors": ("texts", HIDDEN)})


def reader(tensors: Tensors, plan: Plan | None = None, *, support: bool = True) -> onnx.ModelProto:
    """ids and types (pairs, tokens) -> start and end logits (pairs, tokens), relevance, answerable
    and, where it was trained and is wanted, support (pairs). Type 1 marks the passage; token 0 of
    start and end means "no answer"."""
    graph = Graph(tensors, plan or Plan())
    state = encoder(graph, "ids", "types")
    span = graph.float_linear(state, "span")
    for name, column in (("start", 0), ("end", 1)):
        graph.node("Gather", [span, _scalar(graph, column)], name, axis=2)
    first = graph.node("Gather", [state, _scalar(graph, 0)], "first", axis=1)
    _head(graph, first, "rel", "relevance")
    both = graph.node("Concat", [first, _answer_mean(graph, state)], "first+answer", axis=-1)
    _head(graph, both, "ans", "answerable")
    pairs = ("pairs", "tokens")
    outputs: dict[str, tuple[str | int, ...]] = {"start": pairs, "end": pairs}
    outputs |= {"relevance": ("pairs",), "answerable": ("pairs",)}
    if support and "sup.0" in tensors.matrices:
        _head(graph, both, "sup", "support")
        outputs["support"] = ("pairs",)
    return graph.model({"ids": pairs, "types": pairs}, outputs)


def _scalar(graph: Graph, value: int) -> str:
    return graph.constant(f"scalar {value}", np.array(value, np.int64))


def _answer_mean(graph: Graph, state: str) -> str:
    """The mean of the passage's tokens, weighted by how likely each one starts the answer."""
    passage = graph.node("Cast", ["types"], "passage", to=TensorProto.BOOL)
    outside = graph.constant("outside", np.array(OUTSIDE, np.float32))
    inside = graph.node("Where", [passage, "start", outside], "start/inside")
    weights = graph.node("Softmax", [inside], "start/weights", axis=-1)
    row = graph.node("Unsqueeze", [weights, graph.integers(1)], "start/row")
    mean = graph.node("MatMul", [row, state], "answer/row")
    return graph.node("Squeeze", [mean, graph.integers(1)], "answer")


def _head(graph: Graph, value: str, head: str, output: str) -> str:
    """In float: one row per pass is too little work to gain from int8."""
    inner = graph.node("Tanh", [graph.float_linear(value, f"{head}.0")], f"{head}/tanh")
    scored = graph.float_linear(inner, f"{head}.2")
    return graph.node("Squeeze", [scored, graph.integers(-1)], output)
