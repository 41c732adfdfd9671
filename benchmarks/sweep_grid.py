"""Ranks all questions under many configurations at once, from pools and reader scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.sweep_pools import TIERS, pool_file
from benchmarks.sweep_sets import load, read_lines, shuffled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from benchmarks.sweep_sets import Given

    Floats = NDArray[np.float64]
    Form = Callable[[Floats, Floats], Floats]

METRICS = ("ndcg10", "recall1", "recall5", "recall20", "mrr")
DEEP = TIERS[-1]
_DISCOUNTS = 1 / np.log2(np.arange(2, 12))


@dataclass(frozen=True, slots=True)
class Pool:
    """One set: a row per question, a column per candidate (in order of id, padded)."""

    name: str
    dense_rank: Floats
    lexical_rank: Floats
    relevance: Floats
    gold: Floats
    gold_count: Floats
    chosen_on: NDArray[np.bool_]
    """Questions the choice is made on; the others only report."""


@dataclass(frozen=True, slots=True)
class Config:
    dense: float
    k: int
    candidates: int = 0
    """How many the reader sees; 0 is fusion alone."""
    form: str = ""
    blend: float = 0.0


Scores = dict[str, dict[str, dict[str, float]]]
"""Set, then "all", "chosen" or "held", then metric."""


def load_pool(
    name: str, given: Given, scores: dict[tuple[str, str], dict[str, float]], limit: int | None
) -> Pool:
    """The pool of the questions whose passages the reader has seen to the full depth."""
    data = load(name)
    rows = list(zip(data.queries, read_lines(pool_file(name, given)), strict=True))
    rows.sort(key=lambda pair: shuffled(pair[0].id))
    rows = [(q, row) for q, row in rows if not scores or (name, q.id) in scores][:limit]
    width = max((len(_ids(row)) for _, row in rows), default=1)
    shape = (len(rows), width)
    dense, lexical = np.full(shape, np.inf), np.full(shape, np.inf)
    relevance, gold = np.full(shape, np.nan), np.zeros(shape)
    for at, (query, row) in enumerate(rows):
        column = {passage: place for place, passage in enumerate(_ids(row))}
        for ranks, hits in ((dense, row["dense"]), (lexical, row["lexical"])):
            for rank, (passage, _) in enumerate(hits, start=1):
                ranks[at, column[passage]] = rank
        for passage, value in scores.get((name, query.id), {}).items():
            if passage in column:
                relevance[at, column[passage]] = value
        for passage in query.gold & column.keys():
            gold[at, column[passage]] = 1
    counts = np.array([len(query.gold) for query, _ in rows], dtype=float)
    half = np.array([int(shuffled(query.id)[-1], 16) % 2 == 0 for query, _ in rows])
    return Pool(name, dense, lexical, relevance, gold, counts, half)


def _ids(row: dict[str, Any]) -> list[str]:
    return sorted({passage for passage, _ in [*row["dense"], *row["lexical"]]})


def evaluate(pools: list[Pool], configs: Iterable[Config]) -> Iterator[tuple[Config, Scores]]:
    """The scores of each configuration; those that share a fusion should come together."""
    fused: dict[tuple[float, int], list[tuple[Floats, Floats, Floats]]] = {}
    for config in configs:
        key = (config.dense, config.k)
        if key not in fused:
            fused = {key: [fusion_order(pool, *key) for pool in pools]}
        scores = {}
        for pool, (fusion, relevance, gold) in zip(pools, fused[key], strict=True):
            ranked = gold if not config.candidates else _reranked(config, fusion, relevance, gold)
            scores[pool.name] = _measure(pool, ranked)
        yield config, scores


def fusion_order(pool: Pool, dense: float, k: int) -> tuple[Floats, Floats, Floats]:
    """Fusion score, relevance and gold of the first passages, in the order of fusion."""
    score = dense * (k + 1) / (k + pool.dense_rank)
    score = score + (1 - dense) * (k + 1) / (k + pool.lexical_rank)
    order = np.argsort(-score, axis=1, kind="stable")[:, :DEEP]
    return (
        np.take_along_axis(score, order, 1),
        np.take_along_axis(pool.relevance, order, 1),
        np.take_along_axis(np.where(score > 0, pool.gold, 0.0), order, 1),
    )


def _reranked(config: Config, fusion: Floats, relevance: Floats, gold: Floats) -> Floats:
    seen = config.candidates
    # A passage that neither search found has a fusion score of zero and is padding.
    read = np.where(fusion[:, :seen] > 0, relevance[:, :seen], -50.0)
    final = FORMS[config.form](fusion[:, :seen], read, config.blend)
    order = np.argsort(-final, axis=1, kind="stable")
    return np.concatenate([np.take_along_axis(gold[:, :seen], order, 1), gold[:, seen:]], axis=1)


def _sigmoid(scale: float) -> Callable[[Floats, Floats, float], Floats]:
    def form(fusion: Floats, relevance: Floats, blend: float) -> Floats:
        squashed: Floats = 1 / (1 + np.exp(-relevance / scale))
        return (1 - blend) * fusion + blend * squashed

    return form


def _zscore(fusion: Floats, relevance: Floats, blend: float) -> Floats:
    def standard(values: Floats) -> Floats:
        spread = values.std(axis=1, keepdims=True) + 1e-9
        scaled: Floats = (values - values.mean(axis=1, keepdims=True)) / spread
        return scaled

    return (1 - blend) * standard(fusion) + blend * standard(relevance)


def _ranks(k: int) -> Callable[[Floats, Floats, float], Floats]:
    def form(fusion: Floats, relevance: Floats, blend: float) -> Floats:
        by_reader = np.argsort(np.argsort(-relevance, axis=1, kind="stable"), axis=1) + 1
        by_fusion = np.arange(1, fusion.shape[1] + 1)
        mixed: Floats = (1 - blend) / (k + by_fusion) + blend / (k + by_reader)
        return mixed

    return form


FORMS: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    **{f"sigmoid/{scale}": _sigmoid(scale) for scale in (2, 4, 8)},
    "zscore": _zscore,
    **{f"ranks/{k}": _ranks(k) for k in (5, 60)},
}
Part = Literal["all", "chosen", "held"]


def _measure(pool: Pool, ranked: Floats) -> dict[str, dict[str, float]]:
    ideal = np.cumsum(_DISCOUNTS)[np.minimum(pool.gold_count, 10).astype(int) - 1]
    found = np.cumsum(ranked[:, :20], axis=1)
    depth = found.shape[1]
    best = np.argmax(ranked, axis=1)
    first = ranked[np.arange(len(ranked)), best] / (1 + best)
    columns = [
        ranked[:, :10] @ _DISCOUNTS[: min(10, depth)] / ideal,
        *(found[:, min(k, depth) - 1] / pool.gold_count for k in (1, 5, 20)),
        first,
    ]
    parts = {"all": slice(None), "chosen": pool.chosen_on, "held": ~pool.chosen_on}
    return {
        part: {
            metric: round(float(column[which].mean()), 4) if column[which].size else 0.0
            for metric, column in zip(METRICS, columns, strict=True)
        }
        for part, which in parts.items()
    }
