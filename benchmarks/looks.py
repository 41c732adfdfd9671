"""How many passages the reader should look at, and how much its word should count.

    export SECONDLOOK_DATA=...
    python -m benchmarks.reader_quality prepare
    python -m benchmarks.looks [--questions 200]

The shipped reader looks at all candidates of some answerable questions of each set, which also
gives the glance at each. From that every number of looks and every share in the blend is played
through: what would have been looked at, and in which order all would have come. Writes
`benchmarks/results/looks.json`.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reader_quality_cases import ranking_of
from benchmarks.reader_quality_read import Competitor
from benchmarks.reader_quality_store import Store
from secondlook.reading import load_reader
from secondlook.reading.port import glimpse
from secondlook.retrieval.rerank import best_looks
from secondlook.retrieval.search import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.reader_quality_store import Question
    from secondlook.reading.port import Reading

RESULTS = Path(__file__).parent / "results" / "looks.json"
SETS = ("squad2-dev", "hotpot", "scifact")
BLENDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LOOKS = (3, 4, 5, 6, 8, 10, 20)
METRICS = ("recall@1", "recall@5", "ndcg@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=200, help="of each set")
    given = parser.parse_args()
    store = Store()
    whole = Competitor("looks at all", load_reader(), None)
    read = {name: list(_looked_at(store, whole, name, given.questions)) for name in SETS}
    found: dict[str, Any] = {
        "reader": whole.reader.name,
        "questions": {name: len(pairs) for name, pairs in read.items()},
        "default": {"looks": DEFAULT_OPTIONS.looks, "blend": DEFAULT_OPTIONS.blend},
        "grid": [
            {"looks": looks, "blend": blend, **_figures(read, looks=looks, blend=blend)}
            for looks, blend in itertools.product(LOOKS, BLENDS)
        ],
    }
    store.close()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in sorted(found["grid"], key=lambda row: -row["average"])[:12]:
        print(json.dumps(row))


def _looked_at(
    store: Store, whole: Competitor, name: str, most: int
) -> Iterator[tuple[Question, list[Reading]]]:
    texts = store.texts()
    asked = [one for one in store.questions(name) if one.answerable and one.gold]
    for at, question in enumerate(asked[:most]):
        if at % 50 == 0:
            print(f"{name}: {at} of {min(most, len(asked))}", flush=True)
        yield question, whole.read(question, texts)


def _figures(
    read: dict[str, list[tuple[Question, list[Reading]]]], *, looks: int, blend: float
) -> dict[str, Any]:
    made = {
        name: np.mean([_ranked(*pair, looks=looks, blend=blend) for pair in pairs], axis=0)
        for name, pairs in read.items()
        if pairs
    }
    average = float(np.mean([row[METRICS.index("ndcg@10")] for row in made.values()]))
    cells = {name: [round(float(value), 4) for value in row] for name, row in made.items()}
    return {"average": round(average, 4), **cells}


def _ranked(
    question: Question, readings: Sequence[Reading], *, looks: int, blend: float
) -> list[float]:
    """Recall and nDCG of the order that so many looks and such a blend give."""
    fusion = [one.fusion_score for one in question.found]
    choose = best_looks(fusion, blend=blend, looks=looks)
    chosen = set(choose([_glance(one) for one in readings]))
    seen = [
        one if at in chosen else glimpse(_glance(one), windows=one.windows)
        for at, one in enumerate(readings)
    ]
    found = ranking_of(question, seen, blend=blend)
    return [found[name] for name in METRICS]


def _glance(one: Reading) -> float:
    if one.glance is None:
        raise SystemExit("this reader does not glance: there is nothing to choose")
    return one.glance


if __name__ == "__main__":
    main()
