"""Blends what the reader thinks of a passage with what the two searches thought of it.

The reader was trained on one kind of question and is not to be trusted alone on others. Its
relevance passes through a sigmoid: where it is sure it decides, and among passages none of which
it finds relevant the order of the searches stays. docs/search.md has the sweep behind this.

The reader may glance at a passage before it looks at it. Glances are blended in the same way to
choose what is worth the look; what was looked at ranks above what was only glanced at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.reading.port import Choose
    from secondlook.retrieval.fuse import Fused

RELEVANCE_SCALE = 8.0
"""Logits of relevance are divided by this before the sigmoid."""
_UNREAD = -math.inf
_MOSTLY = 0.5
Place = tuple[str, int, int]
"""Document, first and last character."""
Item = TypeVar("Item")


def best_looks(
    fusion: Sequence[float], *, blend: float, looks: int, rivals: Sequence[float] = ()
) -> Choose:
    """Chooses, by a glance at each, which of the passages with these fusion scores are among the
    best `looks`; `rivals` are the final scores of what was looked at before. Ties go to the first.
    """

    def choose(glances: Sequence[float]) -> list[int]:
        scored = [
            (blended(score, glance, blend), score)
            for score, glance in zip(fusion, glances, strict=True)
        ]
        places = sorted(range(len(scored)), key=lambda at: (-scored[at][0], -scored[at][1], at))
        better = [sum(rival >= scored[at][0] for rival in rivals) for at in places]
        return [at for rank, at in enumerate(places) if rank + better[rank] < looks]

    return choose


def rerank(
    fused: Sequence[Fused],
    relevance: Mapping[str, float],
    *,
    blend: float,
    glanced: Collection[str] = (),
) -> list[tuple[Fused, float]]:
    """The entries with their final scores, best first, ties by id.

    `relevance` holds the reader's logits by id. Those in `glanced` are first guesses: they rank
    below what was looked at, and score no more. An entry that the reader has not seen counts as
    not relevant and ranks below both.
    """
    if not 0 <= blend <= 1:
        raise UsageError(
            f"the share of the reranker must lie between 0 and 1: {blend!r}",
            hint="0 keeps the order of the searches, 1 takes that of the reader",
        )
    floors: list[list[tuple[Fused, float]]] = [[], [], []]
    for entry in fused:
        floor = 2 if entry.id not in relevance else 1 if entry.id in glanced else 0
        score = blended(entry.score, relevance.get(entry.id, _UNREAD), blend)
        floors[floor].append((entry, score))
    placed: list[tuple[Fused, float]] = []
    for scored in floors:
        scored.sort(key=lambda item: (-item[1], -item[0].score, item[0].id))
        ceiling = placed[-1][1] if placed else math.inf
        placed += [(entry, min(score, ceiling)) for entry, score in scored]
    return placed


def distinct(ranked: Sequence[Item], *, place: Callable[[Item], Place]) -> list[Item]:
    """Without passages most of whose text a better one of the same document already shows.

    Neighbours that share a sentence both stay: most of what each says is its own.
    """
    kept: dict[str, list[Place]] = {}
    found = []
    for item in ranked:
        at = place(item)
        better = kept.setdefault(at[0], [])
        if not any(_repeats(at, other) for other in better):
            better.append(at)
            found.append(item)
    return found


def _repeats(at: Place, better: Place) -> bool:
    shared = min(at[2], better[2]) - max(at[1], better[1])
    return shared > _MOSTLY * (at[2] - at[1])


def blended(fusion: float, relevance: float, blend: float) -> float:
    """Between the fusion score (blend 0) and the reader's relevance (blend 1), both in 0..1."""
    return (1 - blend) * fusion + blend * _sigmoid(relevance / RELEVANCE_SCALE)


def _sigmoid(value: float) -> float:
    if math.isnan(value):  # a model gone wrong must not scramble the order
        return 0.0
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
