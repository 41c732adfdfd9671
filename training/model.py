"""BERT, or MPNet as a teacher, with the reader's heads, over pairs packed one after the other.

Parameters are a plain dict by BERT's names, so that they come from and go to files as they are.
Everything but attention works on (tokens, hidden); attention knows where rows end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from training.export.tensors import RELATIVE
from training.weights_in import glance_head, glance_layers, layer_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from training.arrays import Floats
    from training.batches import Batch

Tensor: TypeAlias = Any
Parameters: TypeAlias = "dict[str, Tensor]"
Attend: TypeAlias = "Callable[[Tensor, Rows], Tensor]"

HEADS = 12
EPSILON = 1e-12
OUTSIDE = -1e4
BLOCK = (
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch on the device."""

    ids: Tensor
    types: Tensor
    position: Tensor
    bounds: Tensor
    slot: Tensor
    """Of each token in a padded (rows * longest) layout."""
    count: int
    """Rows, those of fill included."""
    real: int
    """Rows, those of fill left out."""
    longest: int


@dataclass(frozen=True, slots=True)
class Outputs:
    """Logits of the real rows. start and end: (rows, longest), OUTSIDE where no answer can be."""

    start: Tensor
    end: Tensor
    relevance: Tensor
    answerable: Tensor
    support: Tensor
    glances: dict[int, Tensor] = field(default_factory=dict)
    """First guesses of relevance, by the number of layers they are made after."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How to compute: what a number is, how rows attend, whether layers are compiled."""

    device: str
    number: Any
    attend: Attend
    compiled: bool
    name: str


def parameters(arrays: Mapping[str, Floats], device: str) -> Parameters:
    return {
        name: torch.tensor(value, dtype=torch.float32, device=device, requires_grad=True)
        for name, value in arrays.items()
    }


def arrays_of(weights: Parameters) -> dict[str, Floats]:
    return {name: value.detach().float().cpu().numpy() for name, value in weights.items()}


def sent(device: str, array: Any) -> Tensor:
    """An array on its way to the device, while the program goes on."""
    tensor = torch.from_numpy(array)
    return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def rows_on(device: str, batch: Batch) -> Rows:
    longest = -(-batch.longest // 8) * 8
    packed = np.stack([batch.ids, batch.types, batch.position, batch.row * longest])
    ids, types, position, first = sent(device, packed.astype(np.int32)).long()
    return Rows(
        ids=ids,
        types=types,
        position=position,
        bounds=sent(device, batch.bounds.astype(np.int32)),
        slot=first + position,
        count=len(batch.bounds) - 1,
        real=len(batch.pair),
        longest=longest,
    )


def forward(weights: Parameters, rows: Rows, engine: Engine, *, dropout: float = 0.0) -> Outputs:
    glances, after = {}, glance_layers(weights)
    for layer, state in enumerate(states(weights, rows, engine, dropout=dropout)):
        if layer in after:
            glances[layer] = _head(weights, glance_head(layer), _firsts(state, rows))
    return _heads(weights, state, rows, glances)


def states(
    weights: Parameters, rows: Rows, engine: Engine, *, dropout: float = 0.0
) -> Iterator[Tensor]:
    """Every token before the first layer, and after each."""
    state = _embedded(weights, rows, engine, dropout)
    yield state
    finish = _compiled_block() if engine.compiled else _block
    attend = _attend_by_distance(weights, rows, engine) if RELATIVE in weights else engine.attend
    for layer in range(layer_count(weights)):
        prefix = f"encoder.layer.{layer}."
        context = attend(_joined_heads(weights, prefix, state), rows)
        context = context.reshape(len(state), -1)
        state = finish(context, state, dropout, *_block_weights(weights, prefix))
        yield state


def _embedded(weights: Parameters, rows: Rows, engine: Engine, dropout: float) -> Tensor:
    words = functional.embedding(rows.ids, weights["embeddings.word_embeddings.weight"])
    places = functional.embedding(rows.position, weights["embeddings.position_embeddings.weight"])
    state = _norm(
        words + places + _kinds(weights, rows), *_norm_weights(weights, "embeddings.LayerNorm")
    )
    return functional.dropout(state, dropout, training=dropout > 0).to(engine.number)


def _kinds(weights: Parameters, rows: Rows) -> Tensor:
    """Computed, not looked up: the gradient of a look-up in two rows would add every token of the
    batch one after the other."""
    outside, inside = weights["embeddings.token_type_embeddings.weight"]
    return outside + rows.types[:, None].float() * (inside - outside)


def _norm_weights(weights: Parameters, module: str) -> tuple[Tensor, Tensor]:
    return weights[f"{module}.weight"], weights[f"{module}.bias"]


def _norm(state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    kind = state.dtype
    return functional.layer_norm(state, state.shape[-1:], weight.to(kind), bias.to(kind), EPSILON)


def _linear(state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.linear(state, weight.to(state.dtype), bias.to(state.dtype))


def _joined_heads(weights: Parameters, layer: str, state: Tensor) -> Tensor:
    """Query, key and value of every head: (tokens, 3, heads, size)."""
    parts = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
    weight = torch.cat([weights[f"{part}.weight"] for part in parts])
    bias = torch.cat([weights[f"{part}.bias"] for part in parts])
    return _linear(state, weight, bias).view(len(state), 3, HEADS, -1)


def _block_weights(weights: Parameters, layer: str) -> list[Tensor]:
    return [weights[f"{layer}{module}.{end}"] for module in BLOCK for end in ("weight", "bias")]


def _block(context: Tensor, state: Tensor, dropout: float, *weights: Tensor) -> Tensor:
    """What comes after attention in one layer."""
    mix, mix_bias, norm, norm_bias, wide, wide_bias, narrow, narrow_bias, last, last_bias = weights
    kept = dropout > 0
    mixed = functional.dropout(_linear(context, mix, mix_bias), dropout, training=kept)
    state = _norm(state + mixed, norm, norm_bias)
    inner = functional.gelu(_linear(state, wide, wide_bias))
    outer = functional.dropout(_linear(inner, narrow, narrow_bias), dropout, training=kept)
    return _norm(state + outer, last, last_bias)


_COMPILED: list[Callable[..., Tensor]] = []


def _compiled_block() -> Callable[..., Tensor]:
    """One compilation serves every layer and step: their shapes are equal."""
    if not _COMPILED:
        _COMPILED.append(torch.compile(_block, dynamic=False))
    return _COMPILED[0]


def _heads(weights: Parameters, state: Tensor, rows: Rows, glances: dict[int, Tensor]) -> Outputs:
    """In float32, as the product's graph computes them."""
    span = _linear(state.float(), weights["span.weight"], weights["span.bias"])
    allowed = (rows.types == 1) | (rows.position == 0)
    span = span.masked_fill(~allowed[:, None], OUTSIDE)
    start, end = (_padded(span[:, side], rows, OUTSIDE)[: rows.real] for side in (0, 1))
    first = _firsts(state, rows)
    both = torch.cat([first, _answer_mean(state, start, rows)], dim=-1)
    return Outputs(
        start=start,
        end=end,
        relevance=_head(weights, "rel", first),
        answerable=_head(weights, "ans", both),
        support=_head(weights, "sup", both),
        glances=glances,
    )


def _firsts(state: Tensor, rows: Rows) -> Tensor:
    return state[rows.bounds[: rows.real].long()].float()


def _padded(values: Tensor, rows: Rows, fill: float) -> Tensor:
    """(tokens, ...) -> (rows, longest, ...)"""
    shape = (rows.count * rows.longest, *values.shape[1:])
    spread = torch.full(shape, fill, dtype=values.dtype, device=values.device)
    return spread.index_copy(0, rows.slot, values).view(rows.count, rows.longest, *shape[1:])


def _answer_mean(state: Tensor, start: Tensor, rows: Rows) -> Tensor:
    """The mean of the passage's tokens, weighted by how likely each one starts the answer."""
    inside = start.clone()
    inside[:, 0] = OUTSIDE
    share = torch.softmax(inside, dim=-1).to(state.dtype)
    spread = _padded(state, rows, 0.0)[: rows.real]
    return torch.bmm(share[:, None], spread)[:, 0].float()


def _head(weights: Parameters, head: str, value: Tensor) -> Tensor:
    inner = torch.tanh(_linear(value, weights[f"{head}.0.weight"], weights[f"{head}.0.bias"]))
    return _linear(inner, weights[f"{head}.2.weight"], weights[f"{head}.2.bias"])[:, 0]


def attend_padded(heads: Tensor, rows: Rows, mask: Tensor = None) -> Tensor:
    """Works everywhere: rows side by side, filled up to the longest."""
    spread = _padded(heads, rows, 0.0)
    query, key, value = spread.permute(2, 0, 3, 1, 4)
    mask = _there(rows) if mask is None else mask
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    flat = mixed.transpose(1, 2).reshape(rows.count * rows.longest, *heads.shape[2:])
    return flat[rows.slot]


def _there(rows: Rows) -> Tensor:
    """Which places of each row hold a token: (rows, 1, 1, longest)."""
    places = torch.arange(rows.longest, device=rows.bounds.device)
    return (places < rows.bounds.diff()[:, None])[:, None, None]


def _attend_by_distance(weights: Parameters, rows: Rows, engine: Engine) -> Attend:
    """MPNet's attention. What a distance counts stays as it was published."""
    places = torch.arange(rows.longest, device=rows.bounds.device)
    away = places[:, None] - places
    heed = weights[RELATIVE].detach()[_bucket(away)].permute(2, 0, 1)
    mask = heed.to(engine.number).masked_fill(~_there(rows), OUTSIDE)
    return partial(attend_padded, mask=mask)


def _bucket(away: Tensor, buckets: int = 32, furthest: int = 128) -> Tensor:
    """Half of the buckets for each side: the nearest distances one each, then ever wider ones."""
    side, near = buckets // 2, buckets // 4
    distance = away.abs()
    wide = torch.log(distance.clamp(min=1) / near) / math.log(furthest / near) * (side - near)
    far = (near + wide.long()).clamp(max=side - 1)
    return (away < 0) * side + torch.where(distance < near, distance, far)


def attend_packed(heads: Tensor, rows: Rows) -> Tensor:
    """Flash attention over rows of any length, on the GPU alone."""
    from torch.nn.attention.varlen import varlen_attn

    query, key, value = (part.contiguous() for part in heads.unbind(1))
    return varlen_attn(query, key, value, rows.bounds, rows.bounds, rows.longest, rows.longest)


def attend_flash(heads: Tensor, rows: Rows) -> Tensor:
    """The operator behind `attend_packed`, for versions of torch where that does not work."""
    query, key, value = (part.contiguous() for part in heads.unbind(1))
    made = torch.ops.aten._flash_attention_forward(  # noqa: SLF001 no public name
        query,
        key,
        value,
        rows.bounds,
        rows.bounds,
        rows.longest,
        rows.longest,
        0.0,
        False,  # noqa: FBT003 not causal
        False,  # noqa: FBT003 no debug mask
        scale=1 / math.sqrt(query.shape[-1]),
    )
    return made[0]
