"""The sweep ranks as the product does: its choice would mean nothing otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.sweep_grid import Config, Pool, evaluate
from secondlook.retrieval.fusion import RELEVANCE_SCALE, fuse, rerank
from secondlook.retrieval.index.port import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

PASSAGES = [f"p{n:03}" for n in range(60)]


def ranks(order: NDArray[np.int64]) -> NDArray[np.float64]:
    row = np.full((1, len(PASSAGES)), np.inf)
    row[0, order] = np.arange(1, len(order) + 1)
    return row


@pytest.mark.parametrize("candidates", [0, 5, 20])
@pytest.mark.parametrize("dense_weight", [0.0, 0.3, 1.0])
def test_sweep_and_product_find_the_gold_passage_at_the_same_rank(
    dense_weight: float, candidates: int
) -> None:
    random = np.random.default_rng(7)
    for _ in range(30):
        dense = random.permutation(60)[:25]
        lexical = random.permutation(60)[:25]
        relevance = random.normal(0, 5, 60)
        gold = int(random.choice(dense if dense_weight else lexical))
        gold_row = np.zeros((1, 60))
        gold_row[0, gold] = 1
        pool = Pool(
            "one", ranks(dense), ranks(lexical), relevance[None], gold_row,
            np.ones(1), np.ones(1, dtype=bool),
        )  # fmt: skip
        form = f"sigmoid/{RELEVANCE_SCALE:g}"
        config = Config(dense_weight, 20, candidates, form, 0.4 if candidates else 0.0)
        ((_, scores),) = evaluate([pool], [config])

        fused = fuse(
            [Scored(PASSAGES[at], 1.0) for at in dense],
            [Scored(PASSAGES[at], 1.0) for at in lexical],
            dense_weight=dense_weight,
            lexical_weight=1 - dense_weight,
            k=20,
        )
        seen = {entry.id: relevance[int(entry.id[1:])] for entry in fused[:candidates]}
        final = [entry.id for entry, _ in rerank(fused, seen, blend=config.blend)]
        rank = final.index(PASSAGES[gold]) + 1
        assert scores["one"]["all"]["mrr"] == pytest.approx(1 / rank, abs=1e-4)
        assert scores["one"]["all"]["recall5"] == float(rank <= 5)
        expected = 1 / np.log2(rank + 1) if rank <= 10 else 0.0
        assert scores["one"]["all"]["ndcg10"] == pytest.approx(expected, abs=1e-4)
