"""Why the vector index is what it is: kinds of Lance index by build time, latency and recall.

    python -m benchmarks.search_choices [--passages 20000] [--embedder random-projection]

Uses the vectors that `benchmarks.search` keeps; writes `benchmarks/results/search_choices.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.search_data import all_passages, sample
from benchmarks.search_timing import K, share_of_best, some_queries
from secondlook.retrieval.index.lance_upkeep import engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance import LanceDataset

    from benchmarks.search_data import Vectors
    from benchmarks.search_timing import Query

RESULTS = Path(__file__).parent / "results" / "search_choices.json"
LIMIT = K + 16  # what the index asks for, to settle ties
KINDS: dict[str, dict[str, Any]] = {
    "IVF_RQ, 1 bit": {"index_type": "IVF_RQ", "num_bits": 1},
    "IVF_RQ, 2 bits": {"index_type": "IVF_RQ", "num_bits": 2},
    "IVF_RQ, 4 bits": {"index_type": "IVF_RQ", "num_bits": 4},
    "IVF_SQ": {"index_type": "IVF_SQ"},
    "IVF_PQ": {"index_type": "IVF_PQ", "num_sub_vectors": 48},
    "IVF_HNSW_SQ": {"index_type": "IVF_HNSW_SQ"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--embedder", default="random-projection")
    options = parser.parse_args()
    collection = sample(all_passages(options.embedder), options.passages)
    queries = some_queries(options.embedder, 100)
    with tempfile.TemporaryDirectory() as folder:
        found = compare(collection.vectors, queries, folder)
    result = {"embedder": collection.embedder, "passages": options.passages, "kinds": found}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def compare(vectors: Vectors, queries: Sequence[Query], folder: str) -> dict[str, Any]:
    dimensions = vectors.shape[1]
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimensions)
    rows = pa.table({"place": np.arange(len(vectors)), "vector": column})
    dataset = engine().write_dataset(rows, folder, mode="overwrite")
    found = {"every vector compared": tried(dataset, vectors, queries, {"use_index": False})}
    for name, kind in KINDS.items():
        started = time.perf_counter()
        partitions = max(1, len(vectors) // 4096)
        dataset.create_index(
            "vector", metric="cosine", num_partitions=partitions, replace=True, name="v", **kind
        )
        built = {"build_seconds": round(time.perf_counter() - started, 1)}
        effort = {"search_effort": 0.85, "refine_factor": 4}
        found[name] = built | tried(dataset, vectors, queries, effort)
        print(name, found[name], flush=True)
    return found


def tried(
    dataset: LanceDataset, vectors: Vectors, queries: Sequence[Query], effort: dict[str, Any]
) -> dict[str, float]:
    times, shares = [], []
    for query in queries:
        nearest = {"column": "vector", "q": query.vector, "k": LIMIT, "metric": "cosine"} | effort
        started = time.perf_counter()
        table = dataset.scanner(columns=["place", "_distance"], nearest=nearest).to_table()
        times.append((time.perf_counter() - started) * 1000)
        places = table["place"].to_pylist()[:K]
        shares.append(share_of_best(vectors @ query.vector, places))
    return {
        "p50_ms": round(float(np.median(times)), 2),
        "recall_at_10": round(float(np.mean(shares)), 4),
    }


if __name__ == "__main__":
    main()
