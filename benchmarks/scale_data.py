"""Passages for `benchmarks/scale.py`, made in batches: 700,000 need not be in memory at once.

Words and meaning are filled up apart, for the two searches meet in ids alone. Texts and terms
are of real passages as far as those reach (about 104,000) and noisy copies of them beyond. Vectors
are of as many real passages as somebody had the time to embed, and noisy copies of those beyond.
docs/search.md says what a noisy copy is and why.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.search_data import (
    all_rows,
    as_entry,
    batches_of_documents,
    copied_entries,
    embedded,
    load_embedder,
    moved,
    neighbour_distance,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.search_data import Vectors
    from secondlook.retrieval.index.port import Entry

REAL = 20_000
"""The draw of passages that vectors are made of, as far as they are made."""


@dataclass(frozen=True, slots=True)
class Real:
    """What every size is made from."""

    entries: list[Entry]
    vectors: Vectors
    distance: float
    """The median distance of a vector to its nearest neighbour: how far a copy is moved."""


def base_vectors(embedder: str, count: int) -> Vectors:
    """Of a random draw of real passages, in an order in which every beginning is a random draw."""
    rows = all_rows()
    places = random.Random(REAL).sample(range(len(rows)), REAL)
    texts = [whole(rows[place]) for place in places]
    return embedded(texts, load_embedder(embedder), first=count)


def real_passages(vectors: Vectors, most: int) -> Real:
    """At most so many of the real passages, in their order, with these vectors."""
    rows = all_rows()
    chosen = rows
    if most < len(rows):
        chosen = [
            rows[place] for place in sorted(random.Random(most).sample(range(len(rows)), most))
        ]
    return Real([as_entry(row) for row in chosen], vectors, neighbour_distance(vectors))


def batches(real: Real, size: int) -> Iterator[tuple[list[Entry], Vectors]]:
    """All passages of a collection of `size`, some thousands at a time. A document is in one batch,
    for adding it again would replace it."""
    chance = np.random.default_rng(size)
    copies = copies_of_each(len(real.entries), size, chance)
    made = copied = 0
    for places in batches_of_documents(real.entries, copies):
        entries = [real.entries[place] for place in places]
        repeated = [at for at, place in enumerate(places) for _ in range(copies[place])]
        entries += copied_entries(entries, repeated, first=copied)
        yield entries, some_vectors(real, made, len(entries), chance)
        copied += len(repeated)
        made += len(entries)


def copies_of_each(real: int, size: int, chance: np.random.Generator) -> list[int]:
    """How many copies each real passage gets, so that there are `size` in all."""
    drawn = chance.integers(0, real, max(0, size - real))
    counted: list[int] = np.bincount(drawn, minlength=real).tolist()
    return counted


def some_vectors(real: Real, made: int, count: int, chance: np.random.Generator) -> Vectors:
    """Vectors for `count` passages after `made` others: each real one once, then copies."""
    known = real.vectors[made : made + count]
    places = chance.integers(0, len(real.vectors), count - len(known))
    return np.concatenate([known, moved(real.vectors[places], real.distance, chance)])


def made_of(real: Real, size: int) -> dict[str, Any]:
    """What is real in a collection of `size`, for the record."""
    return {
        "passages": size,
        "real_texts": min(size, len(real.entries)),
        "real_vectors": min(size, len(real.vectors)),
    }
