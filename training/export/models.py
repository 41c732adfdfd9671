"""The two models of the product: an encoder with a pooling or with heads on top.

A reader with a head that glances can be cut in two where that head sits: `glance` gives a first
relevance, `look` goes on from the state it hands over. Together they multiply the same numbers in
the same order as the whole, so their results are equal bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from training.export.graph import Graph, Plan, embeddings, encoder, layers

if TYPE_CHECKING:
    import onnx

    from training.export.tensors import Tensors

HIDDEN = 384
PAIRS = ("pairs", "tokens")
STATE = ("pairs", "tokens", HIDDEN)
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
    outputs = _judged(graph, encoder(graph, "ids", "types"), support=support)
    return graph.model({"ids": PAIRS, "types": PAIRS}, outputs)


def glance(tensors: Tensors, depth: int, plan: Plan | None = None) -> onnx.ModelProto:
    """ids and types (pairs, tokens) -> state (pairs, tokens, hidden) after `depth` layers, and what
    the head on it takes the relevance to be: glance (pairs)."""
    graph = Graph(tensors, plan or Plan())
    state = layers(graph, embeddings(graph, "ids", "types"), range(depth))
    graph.node("Identity", [state], "state")
    _head(graph, _first(graph, state), f"glance{depth}", "glance")
    return graph.model({"ids": PAIRS, "types": PAIRS}, {"state": STATE, "glance": ("pairs",)})


def look(
    tensors: Tensors, depth: int, plan: Plan | None = None, *, support: bool = True
) -> onnx.ModelProto:
    """state after `depth` layers, and types -> what `reader` gives."""
    graph = Graph(tensors, plan or Plan())
    state = layers(graph, "state", range(depth, tensors.layers))
    outputs = _judged(graph, state, support=support)
    return graph.model({"types": PAIRS}, outputs, states={"state": STATE})


def _judged(graph: Graph, state: str, *, support: bool) -> dict[str, tuple[str | int, ...]]:
    """The heads on the last layer; the names and shapes of what they give."""
    span = graph.float_linear(state, "span")
    for name, column in (("start", 0), ("end", 1)):
        graph.node("Gather", [span, _scalar(graph, column)], name, axis=2)
    first = _first(graph, state)
    _head(graph, first, "rel", "relevance")
    both = graph.node("Concat", [first, _answer_mean(graph, state)], "first+answer", axis=-1)
    _head(graph, both, "ans", "answerable")
    outputs: dict[str, tuple[str | int, ...]] = {"start": PAIRS, "end": PAIRS}
    outputs |= {"relevance": ("pairs",), "answerable": ("pairs",)}
    if support and "sup.0" in graph.tensors.matrices:
        _head(graph, both, "sup", "support")
        outputs["support"] = ("pairs",)
    return outputs


def _first(graph: Graph, state: str) -> str:
    return graph.node("Gather", [state, _scalar(graph, 0)], "first", axis=1)


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
