"""Hard negatives by BM25 over the terms of our own search.

Questions are scored in blocks against all passages at once as one sparse product.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from secondlook.retrieval.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from training.data.rows import Passage

BLOCK = 256
SATURATION, LENGTH_WEIGHT = 1.2, 0.75
"""k1 and b of BM25."""
COMMON_SHARE = 0.2
"""Terms in more of the passages than this tell nothing and cost most of the time."""


class Miner(Protocol):
    """Another way to find hard negatives than by words."""

    def hardest(
        self, passages: Sequence[Passage], questions: Sequence[str], count: int
    ) -> Iterator[list[int]]:
        """For each question in turn, the places of at most so many passages, best first."""


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    numbers: dict[str, int]
    """The number of each term."""
    weights: Any
    """Sparse: term x passage, the part of a passage's score that a term gives."""

    def scores(self, questions: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """For each question in turn, the score of every passage."""
        for start in range(0, len(questions), BLOCK):
            asked = self._asked(questions[start : start + BLOCK])
            yield from (asked @ self.weights).toarray()

    def _asked(self, questions: Sequence[str]) -> Any:
        pairs = [
            (row, self.numbers[term])
            for row, question in enumerate(questions)
            for term in set(query_terms(question))
            if term in self.numbers
        ]
        rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
        shape = (len(questions), len(self.numbers))
        ones = np.ones(len(pairs), dtype=np.float32)
        return sparse.csr_matrix((ones, (rows, columns)), shape=shape)


def lexical_index(passages: Sequence[Passage]) -> LexicalIndex:
    numbers: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    counts: list[int] = []
    for column, passage in enumerate(passages):
        for term, count in Counter(terms(f"{passage.title}. {passage.text}")).items():
            rows.append(numbers.setdefault(term, len(numbers)))
            columns.append(column)
            counts.append(count)
    shape = (len(numbers), len(passages))
    counted = sparse.csr_matrix((np.asarray(counts, np.float32), (rows, columns)), shape=shape)
    return LexicalIndex(numbers, _bm25(counted))


def _bm25(counted: Any) -> Any:
    """Term counts as BM25 weights, without terms that most passages share."""
    passages = counted.shape[1]
    frequency = np.diff(counted.indptr)
    rarity = np.log1p((passages - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    rarity[frequency > max(COMMON_SHARE * passages, 2)] = 0
    lengths = np.asarray(counted.sum(axis=0)).ravel()
    damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / lengths.mean())
    weighted = counted.copy()
    count = weighted.data
    weighted.data = count * (SATURATION + 1) / (count + damping[weighted.indices])
    weighted = sparse.diags(rarity) @ weighted
    weighted.eliminate_zeros()
    return weighted.tocsr().astype(np.float32)


def best(scores: NDArray[np.float32], count: int) -> list[int]:
    """The passages with the highest scores above nothing, best first, ties by number."""
    count = min(count, len(scores))
    top = np.argpartition(-scores, count - 1)[:count]
    ranked = sorted(top.tolist(), key=lambda index: (-scores[index], index))
    return [index for index in ranked if scores[index] > 0]
