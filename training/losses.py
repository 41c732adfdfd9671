"""What a step should have said: from the labels, and from teachers where there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch.nn import functional

from training.arrays import NEGATIVE, POSITIVE, SUPPORTED, UNANSWERABLE
from training.model import sent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from training.batches import Batch
    from training.model import Outputs

Tensor: TypeAlias = Any

NEVER = -1e9
ANSWER_WEIGHT = {POSITIVE: 1.0, NEGATIVE: 0.3, UNANSWERABLE: 1.0}
"""Most negatives are easy to tell; without a smaller weight they would be all that counts."""
BESIDE_LISTWISE = 0.5
"""Of the yes-or-no loss on relevance, which gives the score a zero that means something."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The labels of a batch's real rows, on the device."""

    spans: Tensor
    kind: Tensor
    members: Tensor
    pair: Tensor

    @property
    def answer_weight(self) -> Tensor:
        """How much a row counts for span and answerability: not at all where nothing is known."""
        weight = torch.zeros(len(self.kind), device=self.kind.device)
        for kind, value in ANSWER_WEIGHT.items():
            weight = weight.masked_fill(self.kind == kind, value)
        return weight * (self.spans[:, 0, 0] >= 0)

    @property
    def support_weight(self) -> Tensor:
        return (self.kind >= SUPPORTED).float()


def targets_on(device: str, batch: Batch) -> Targets:
    given = (batch.spans, batch.kind, batch.members, batch.pair)
    spans, kind, members, pair = (sent(device, array) for array in given)
    return Targets(spans=spans, kind=kind, members=members, pair=pair)


def label_losses(outputs: Outputs, targets: Targets) -> dict[str, Tensor]:
    answer = (targets.kind == POSITIVE).float()
    support = (targets.kind == SUPPORTED).float()
    return {
        "span": mean(_span_loss(outputs, targets.spans), targets.answer_weight),
        "relevance": _relevance_loss(outputs.relevance, targets),
        "answerable": mean(_yes_or_no(outputs.answerable, answer), targets.answer_weight),
        "support": mean(_yes_or_no(outputs.support, support), targets.support_weight),
        **{
            f"glance{after}": _relevance_loss(made, targets)
            for after, made in outputs.glances.items()
        },
    }


def teacher_losses(outputs: Outputs, teacher: Outputs, targets: Targets) -> dict[str, Tensor]:
    """The same, against what the teachers say of the same rows."""
    parts = ((outputs.start, teacher.start), (outputs.end, teacher.end))
    span = sum(_divergence(given, taught) for given, taught in parts)
    answer = _yes_or_no(outputs.answerable, teacher.answerable.sigmoid())
    support = _yes_or_no(outputs.support, teacher.support.sigmoid())
    return {
        "span": mean(span, targets.answer_weight),
        "relevance": _taught_relevance(outputs.relevance, teacher.relevance, targets.members),
        "answerable": mean(answer, targets.answer_weight),
        "support": mean(support, targets.support_weight),
        **{
            f"glance{after}": _taught_relevance(made, teacher.relevance, targets.members)
            for after, made in outputs.glances.items()
        },
    }


def total(losses: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    return sum(weights.get(name, 1.0) * loss for name, loss in losses.items())


def mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp(min=1e-6)


def _yes_or_no(logits: Tensor, truth: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")


def _span_loss(outputs: Outputs, spans: Tensor) -> Tensor:
    """Minus the log of all the probability that right spans get together."""
    where = spans.clamp(min=0)
    start = outputs.start.log_softmax(-1).gather(1, where[..., 0])
    end = outputs.end.log_softmax(-1).gather(1, where[..., 1])
    return -(start + end).masked_fill(spans[..., 0] < 0, NEVER).logsumexp(-1).clamp(min=-1e4)


def _relevance_loss(relevance: Tensor, targets: Targets) -> Tensor:
    """Each right passage against all the wrong ones of its question."""
    there = targets.members >= 0
    where = targets.members.clamp(min=0)
    score, right = relevance[where], there & (targets.kind[where] == POSITIVE)
    wrong = score.masked_fill(~there | right, NEVER).logsumexp(-1, keepdim=True)
    listwise = mean(functional.softplus(wrong - score), right.float())
    each = mean(_yes_or_no(score, right.float()), there.float())
    return listwise + BESIDE_LISTWISE * each


def _taught_relevance(relevance: Tensor, taught: Tensor, members: Tensor) -> Tensor:
    there = members >= 0
    where = members.clamp(min=0)
    score, aim = (values[where].masked_fill(~there, NEVER) for values in (relevance, taught))
    listwise = _divergence(score, aim).sum() / max(len(members), 1)
    each = mean(_yes_or_no(relevance[where], taught[where].sigmoid()), there.float())
    return listwise + BESIDE_LISTWISE * each


def _divergence(given: Tensor, taught: Tensor) -> Tensor:
    """How far a distribution is from the teachers', per row."""
    aim = taught.log_softmax(-1)
    return (aim.exp() * (aim - given.log_softmax(-1))).sum(-1)
