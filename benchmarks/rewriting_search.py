"""What queries by code find: the gold passages among the candidates after each further query.

The search is by words alone, as the product's second searches mostly are, and nobody grades: terms
come from the five best of all candidates so far. Each query adds its best 20 to the candidates.
Beside it stands what the same number of candidates holds where the question itself is searched
deeper: more words must find more than more depth does.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.condense import interval, mean
from benchmarks.sweep_sets import load, shown
from secondlook.nodes.rewriting import expanded
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.sweep_sets import EvaluationSet, Query

SETS = ("squad2-dev", "hotpot")
DEPTH = 20
"""Candidates of each query."""
BEST = 5
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Searched:
    """One question: shares of its gold after the question itself and after each further query."""

    best: tuple[float, ...]
    """Among the five best of the query alone."""
    pooled: tuple[float, ...]
    deeper: tuple[float, ...]


def measure(most: int) -> dict[str, Any]:
    return {name: _figures([*_searched(_some(load(name), most))]) for name in SETS}


def _some(data: EvaluationSet, most: int) -> EvaluationSet:
    mixed = sorted(data.queries, key=lambda query: hashlib.sha256(query.id.encode()).hexdigest())
    return type(data)(data.name, data.passages, mixed[:most])


def _searched(data: EvaluationSet) -> Iterator[Searched]:
    texts = {row.id: row.text for row in data.passages}
    with tempfile.TemporaryDirectory() as folder:
        index = _index(data, Path(folder))
        for number, query in enumerate(data.queries, 1):
            yield _attempts(index, query, texts)
            print(f"\r{data.name}: {number} of {len(data.queries)}", end="", flush=True)
    print()


def _index(data: EvaluationSet, folder: Path) -> LanceIndex:
    index = LanceIndex.open(folder, dimensions=8, create=True)
    entries = [
        Entry(row.id, row.id, row.text, terms(shown(row, "context")), 0, len(row.text))
        for row in data.passages
    ]
    index.add(entries, np.full((len(entries), 8), 8**-0.5, dtype=np.float32))
    index.compact()
    return index


def _attempts(index: LanceIndex, query: Query, texts: dict[str, str]) -> Searched:
    deep = _found(index, query.question, DEPTH * (1 + ATTEMPTS))
    pool = deep[:DEPTH]
    best, pooled, deeper = ([_share(deep[:size], query)] for size in (BEST, DEPTH, DEPTH))
    earlier = [query.question]
    for _ in range(ATTEMPTS):
        said = expanded(
            query.question,
            [texts[one] for one in pool[:BEST]],
            [1 / rank for rank in range(1, len(pool[:BEST]) + 1)],
            earlier=earlier,
            others=[texts[one] for one in pool[BEST:DEPTH]],
        )
        found = _found(index, said, DEPTH) if said else []
        earlier += [said] if said else []
        pool = list(dict.fromkeys([*pool, *found]))
        best.append(_share(found[:BEST], query))
        pooled.append(_share(pool, query))
        deeper.append(_share(deep[: len(pool)], query))
    return Searched(tuple(best), tuple(pooled), tuple(deeper))


def _found(index: LanceIndex, query: str, k: int) -> list[str]:
    return [hit.id for hit in index.lexical(query_terms(query), k)]


def _share(found: Sequence[str], query: Query) -> float:
    return len(query.gold.intersection(found)) / len(query.gold)


def _figures(searched: Sequence[Searched]) -> dict[str, Any]:
    hard = [one for one in searched if one.pooled[0] < 1]
    return {"all": _table(searched), "not_all_gold_found_at_first": _table(hard)}


def _table(searched: Sequence[Searched]) -> dict[str, Any]:
    if not searched:
        return {"questions": 0}
    last = [one.pooled[-1] - one.deeper[-1] for one in searched]
    return {
        "questions": len(searched),
        "gold_in_five_best_by_attempt": _by_attempt([one.best for one in searched]),
        "gold_in_candidates_by_attempt": _by_attempt([one.pooled for one in searched]),
        "gold_in_as_many_by_depth": _by_attempt([one.deeper for one in searched]),
        "words_over_depth": mean(last),
        "words_over_depth_95_percent": interval(last),
    }


def _by_attempt(rows: Sequence[tuple[float, ...]]) -> list[float]:
    return [mean(list(column)) for column in zip(*rows, strict=True)]
