"""The understander: an encoder and a decoder of the T5 family (Raffel et al., JMLR 2020; gated, as
in Flan-T5), small enough for a processor.

Written out here so that training, a step of decoding with what was kept of the steps before, and
the ONNX export share one description.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 as everybody calls it

PAD, END = 0, 1
"""The decoder begins with PAD."""


@dataclass(frozen=True, slots=True)
class Shape:
    vocabulary: int
    width: int = 512
    inner: int = 1024
    heads: int = 6
    head: int = 64
    encoder: int = 8
    decoder: int = 8
    buckets: int = 32
    farthest: int = 128


class Norm(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * scale).to(x.dtype)


class Attention(nn.Module):  # type: ignore[misc]
    """Unscaled, as T5 has it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        inner = shape.heads * shape.head
        self.heads, self.head = shape.heads, shape.head
        self.q, self.k, self.v = (nn.Linear(shape.width, inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, shape.width, bias=False)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], -1, self.heads, self.head).transpose(1, 2)

    def keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.split(self.k(x)), self.split(self.v(x))

    def forward(self, x: Tensor, kept: tuple[Tensor, Tensor], bias: Tensor | None) -> Tensor:
        scores = self.split(self.q(x)) @ kept[0].transpose(2, 3)
        scores = scores if bias is None else scores + bias
        mixed = torch.softmax(scores.float(), -1).to(scores.dtype) @ kept[1]
        return self.o(mixed.transpose(1, 2).reshape(x.shape[0], -1, self.heads * self.head))


class Feed(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.wi_0, self.wi_1 = (nn.Linear(shape.width, shape.inner, bias=False) for _ in range(2))
        self.wo = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.wo(F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape, *, decodes: bool) -> None:
        super().__init__()
        self.norm, self.own = Norm(shape.width), Attention(shape)
        if decodes:
            self.cross_norm, self.cross = Norm(shape.width), Attention(shape)
        self.feed_norm, self.feed = Norm(shape.width), Feed(shape)


class Understander(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape, self.dropout = shape, dropout
        self.embed = nn.Embedding(shape.vocabulary, shape.width)
        self.near = nn.Embedding(shape.buckets, shape.heads)
        self.near_out = nn.Embedding(shape.buckets, shape.heads)
        self.encoder = nn.ModuleList(Block(shape, decodes=False) for _ in range(shape.encoder))
        self.decoder = nn.ModuleList(Block(shape, decodes=True) for _ in range(shape.decoder))
        self.encoder_norm, self.decoder_norm = Norm(shape.width), Norm(shape.width)
        self.out = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x

    def read(self, given: Tensor, mask: Tensor | None = None) -> Tensor:
        """The encoder's last layer; `mask` is 0 on what only pads."""
        length = torch.arange(given.shape[1], device=given.device)
        bias = self._bias(self.near, length[None, :] - length[:, None], both=True)
        bias = bias if mask is None else bias + hidden(mask)
        x = self.drop(self.embed(given))
        for block in self.encoder:
            inner = block.norm(x)
            x = x + self.drop(block.own(inner, block.own.keys(inner), bias))
            x = x + self.drop(block.feed(block.feed_norm(x)))
        return self.drop(self.encoder_norm(x))

    def forward(self, given: Tensor, mask: Tensor, written: Tensor) -> Tensor:
        """Scores of every next token, all at once."""
        read, shut = self.read(given, mask), hidden(mask)
        length = torch.arange(written.shape[1], device=given.device)
        distance = length[None, :] - length[:, None]
        bias = self._bias(self.near_out, distance, both=False)
        bias = bias + (distance > 0) * -1e9
        x = self.drop(self.embed(written))
        for block in self.decoder:
            inner = block.norm(x)
            x = x + self.drop(block.own(inner, block.own.keys(inner), bias))
            x = x + self.drop(block.cross(block.cross_norm(x), block.cross.keys(read), shut))
            x = x + self.drop(block.feed(block.feed_norm(x)))
        return self.out(self.drop(self.decoder_norm(x)))

    def remembered(self, read: Tensor) -> list[Tensor]:
        """Keys and values of what was read, for every layer of the decoder."""
        return [one for block in self.decoder for one in block.cross.keys(read)]

    def step(self, token: Tensor, remembered: list[Tensor], past: list[Tensor]) -> list[Tensor]:
        """Scores of the next token, and what to keep for the step after."""
        place = past[0].shape[2]
        distance = torch.arange(place + 1, device=token.device)[None, :] - place
        bias = self._bias(self.near_out, distance, both=False)
        x = self.embed(token)
        kept: list[Tensor] = []
        for at, block in enumerate(self.decoder):
            inner = block.norm(x)
            own = tuple(
                torch.cat([before, now], 2)
                for before, now in zip(
                    past[2 * at : 2 * at + 2], block.own.keys(inner), strict=True
                )
            )
            kept += own
            x = x + block.own(inner, own, bias)
            cross = (remembered[2 * at], remembered[2 * at + 1])
            x = x + block.cross(block.cross_norm(x), cross, None)
            x = x + block.feed(block.feed_norm(x))
        return [self.out(self.decoder_norm(x))[:, -1], *kept]

    def _bias(self, table: nn.Embedding, distance: Tensor, *, both: bool) -> Tensor:
        return table(self._bucket(distance, both=both)).permute(2, 0, 1)[None]

    def _bucket(self, distance: Tensor, *, both: bool) -> Tensor:
        """Near distances each have a bucket, far ones share them by their logarithm."""
        buckets = self.shape.buckets // 2 if both else self.shape.buckets
        start = (distance > 0).long() * buckets if both else torch.zeros_like(distance)
        far = distance.abs() if both else (-distance).clamp(min=0)
        exact = buckets // 2
        scaled = torch.log(far.clamp(min=1).float() / exact)
        scaled = scaled / math.log(self.shape.farthest / exact) * (buckets - exact)
        late = (exact + scaled.long()).clamp(max=buckets - 1)
        return start + torch.where(far < exact, far, late)


def hidden(mask: Tensor) -> Tensor:
    return (1.0 - mask[:, None, None, :].float()) * -1e9
