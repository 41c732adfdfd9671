"""Which way of turning text into terms ranks best, by plain BM25 on four evaluation sets.

    python -m benchmarks.analysis

Prints nDCG@10 per set and on average for the analysis as it is and for each other choice, and
writes `benchmarks/results/analysis.json`. Needs SECONDLOOK_DATA.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.sweep_sets import SETS, load
from secondlook.retrieval import analyse
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.retrieval.stopwords import STOP_WORDS
from tests.support.oracle import ReferenceBm25

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.sweep_sets import EvaluationSet

RESULTS = Path(__file__).parent / "results" / "analysis.json"
MOST_QUERIES = 1500


@dataclass(frozen=True, slots=True)
class Variant:
    passage: Callable[[str], Sequence[str]] = terms
    query: Callable[[str], Sequence[str]] = query_terms
    title: bool = True
    patches: dict[str, Any] = field(default_factory=dict)


def without_stemming(text: str) -> list[str]:
    words = terms(text, "none")
    return [word for word in words if word not in STOP_WORDS["english"]] or list(words)


def parts_alone(token: str, language: str) -> Iterator[str]:
    for part in analyse._HYPHENS.split(token):  # noqa: SLF001
        yield from analyse._without_apostrophes(part, language)  # noqa: SLF001


VARIANTS = {
    "as it is": Variant(),
    "stop words stay in queries": Variant(query=terms),
    "stop words go from passages too": Variant(passage=query_terms),
    "no stemming": Variant(lambda text: terms(text, "none"), without_stemming),
    "compounds as parts alone": Variant(patches={"_compound": parts_alone}),
    "without the title": Variant(title=False),
}


def main() -> None:
    sets = [load(name) for name in SETS]
    results = {}
    for name, variant in VARIANTS.items():
        with patched(variant.patches):
            found = {data.name: round(mean_ndcg(data, variant), 4) for data in sets}
        results[name] = found | {"mean": round(float(np.mean(list(found.values()))), 4)}
        print(f"{name:34}", *(f"{key} {value:.4f}" for key, value in results[name].items()))
    result = {"measure": "nDCG@10 of BM25 (k1 1.2, b 0.75)", "variants": results}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


@contextmanager
def patched(changes: dict[str, Any]) -> Iterator[None]:
    analyse._analyser.cache_clear()  # noqa: SLF001
    with patch.multiple(analyse, **changes) if changes else patch.dict({}):
        yield
    analyse._analyser.cache_clear()  # noqa: SLF001


def mean_ndcg(data: EvaluationSet, variant: Variant) -> float:
    shown = {
        row.id: variant.passage(f"{row.title}\n{row.text}" if variant.title else row.text)
        for row in data.passages
    }
    reference = ReferenceBm25(shown)
    queries = data.queries[:: max(1, len(data.queries) // MOST_QUERIES)]
    found = [(reference.best(variant.query(query.question), 10), query.gold) for query in queries]
    return float(np.mean([ndcg(ranking, gold) for ranking, gold in found]))


def ndcg(ranking: Sequence[str], gold: frozenset[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, id_ in enumerate(ranking) if id_ in gold)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))


if __name__ == "__main__":
    main()
