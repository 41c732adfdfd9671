"""What an index ought to answer, computed by brute force: the judge of every engine."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

K1, B = 1.2, 0.75


class ReferenceBm25:
    """BM25 by the book over a fixed collection: every statistic is of what is held now.
    Documents without any term do not count, as in Lucene, unless `wordless` says so."""

    def __init__(
        self,
        documents: Mapping[str, Sequence[str]],
        *,
        only: Collection[str] | None = None,
        wordless: bool = False,
    ) -> None:
        """With `only`, it can score queries of these terms and no others: that saves memory."""
        if not wordless:
            documents = {id_: terms for id_, terms in documents.items() if terms}
        self.ids = list(documents)
        lengths = np.array([len(terms) for terms in documents.values()], dtype=np.float64)
        mean = lengths.mean() if len(lengths) else 1.0
        self._norms = K1 * (1 - B + B * lengths / max(mean, 1e-12))
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, terms in enumerate(documents.values()):
            for term, count in Counter(terms).items():
                if only is None or term in only:
                    postings[term].append((place, count))
        self._postings = {term: np.array(held).T for term, held in postings.items()}

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """One score per document. A term that the query repeats counts each time."""
        total = np.zeros(len(self.ids))
        for term, times in Counter(query).items():
            if term not in self._postings:
                continue
            places, counts = self._postings[term]
            rarity = math.log(1 + (len(self.ids) - len(places) + 0.5) / (len(places) + 0.5))
            total[places] += times * rarity * counts * (K1 + 1) / (counts + self._norms[places])
        return total

    def best(self, query: Sequence[str], k: int) -> list[str]:
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        return [self.ids[place] for place in order if scores[place] > 0]


class Oracle:
    """An index that cannot be wrong, and is too slow to use."""

    def __init__(self, *, wordless: bool = False) -> None:
        self._wordless = wordless
        self.entries: dict[str, Entry] = {}
        self.held: dict[str, Vectors] = {}
        self._bm25: ReferenceBm25 | None = None

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, replacing: Collection[str] = ()
    ) -> None:
        self.delete({entry.document for entry in entries} | set(replacing))
        for entry, vector in zip(entries, vectors, strict=True):
            self.entries[entry.id] = entry
            self.held[entry.id] = vector

    def delete(self, documents: Collection[str]) -> None:
        self._bm25 = None
        for id_ in [id_ for id_, entry in self.entries.items() if entry.document in documents]:
            del self.entries[id_], self.held[id_]

    def documents(self) -> dict[str, int]:
        return dict(Counter(entry.document for entry in self.entries.values()))

    def allowed(self, where: Filter) -> list[str]:
        return [id_ for id_, entry in self.entries.items() if _passes(entry, where)]

    def dense(self, vector: Vectors, where: Filter = EVERYTHING) -> list[Scored]:
        """Every allowed entry, best first."""
        ids = self.allowed(where)
        return _ranked({id_: float(np.dot(self.held[id_], vector)) for id_ in ids}, 6)

    def lexical(self, terms: Sequence[str], where: Filter = EVERYTHING) -> list[Scored]:
        """Every allowed entry that scores, best first; statistics are of the whole library."""
        if self._bm25 is None:
            held = {id_: entry.terms for id_, entry in self.entries.items()}
            self._bm25 = ReferenceBm25(held, wordless=self._wordless)
        scores = dict(zip(self._bm25.ids, self._bm25.scores(terms).tolist(), strict=True))
        allowed = self.allowed(where)
        return _ranked({id_: scores[id_] for id_ in allowed if scores.get(id_, 0) > 0}, 5)


def _passes(entry: Entry, where: Filter) -> bool:
    return (
        (where.documents is None or entry.document in where.documents)
        and where.labels <= set(entry.labels)
        and entry.id not in where.excluded
    )


def _ranked(scores: Mapping[str, float], digits: int) -> list[Scored]:
    found = [Scored(id_, round(score, digits)) for id_, score in scores.items()]
    return sorted(found, key=lambda hit: (-hit.score, hit.id))
