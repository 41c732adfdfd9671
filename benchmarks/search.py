"""How fast the index searches, how exactly, and what it costs to keep.

Takes every corpus under SECONDLOOK_DATA (about 104,000 passages), embeds it once (cached in
`.cache/search/`, resumable), and builds an index of 20,000 passages, of all, and of 200,000
made with noisy copies (docs/search.md says how). Every latency is also given as a ratio
to brute force in numpy over the same vectors, measured in the same run.

    python -m benchmarks.search [--sizes 20000,all,200000] [--queries 200]
                                [--embedder embedded | random-projection | ...]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.search_data import (
    CACHE,
    Collection,
    all_passages,
    batches_of_documents,
    noisy_copies,
    sample,
)
from benchmarks.search_timing import (
    K,
    Times,
    hybrid,
    load_average,
    machine,
    nearest,
    ratio,
    resident,
    share_of_best,
    some_queries,
    summary,
    timed,
)
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Filter
from tests.support.oracle import ReferenceBm25

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.search_timing import Query, Vectors

RESULTS = Path(__file__).parent / "results" / "search.json"
EXCLUSIONS = 200
RARE = Filter(labels=frozenset({"slice=rare"}))
OVERLAP_QUERIES = 50


def main() -> None:
    options = arguments()
    if options.measure:
        print(json.dumps(searching(Path(options.measure), options.embedder, options.queries)))
        return
    collection = all_passages(options.embedder)
    runs = []
    for size in sizes(options.sizes, len(collection.entries)):
        runs.append(one_size(collection, size, options))
        print(table(runs), flush=True)
    result = {
        "embedder": collection.embedder,
        "machine": machine(),
        "load_average": load_average(),
        "queries": options.queries,
        "runs": runs,
    }
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="20000,all,200000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedder", default="embedded")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def sizes(asked: str, available: int) -> list[int]:
    return [available if size == "all" else int(size) for size in asked.split(",")]


def one_size(everything: Collection, size: int, options: argparse.Namespace) -> dict[str, Any]:
    fewer = size <= len(everything.entries)
    collection = sample(everything, size) if fewer else noisy_copies(everything, size)
    folder = CACHE / f"index-{size}"
    shutil.rmtree(folder, ignore_errors=True)
    built = build(collection, folder / "index")
    np.save(folder / "vectors.npy", collection.vectors)
    np.save(folder / "rare.npy", ["slice=rare" in entry.labels for entry in collection.entries])
    (folder / "ids.json").write_text(json.dumps([e.id for e in collection.entries]))
    measured = in_fresh_process(folder, options)
    measured["lexical_overlap_at_10"] = lexical_overlap(collection, folder / "index", options)
    shutil.rmtree(folder)
    return {"passages": size, "noisy_copies": max(0, size - len(everything.entries))} | (
        built | measured
    )


def build(collection: Collection, path: Path) -> dict[str, Any]:
    started = time.perf_counter()
    index = LanceIndex.open(path, dimensions=collection.vectors.shape[1], create=True)
    for batch in batches_of_documents(collection.entries):
        index.add([collection.entries[place] for place in batch], collection.vectors[batch])
    added = time.perf_counter() - started
    index.compact(purge=True)
    count = len(collection.entries)
    if index.stats().passages != count:
        raise SystemExit(f"the index holds {index.stats().passages} passages, not {count}")
    return {
        "add_seconds": round(added, 1),
        "compact_seconds": round(time.perf_counter() - started - added, 1),
        "build_ms_per_passage": round((time.perf_counter() - started) * 1000 / count, 3),
        "disk_bytes_per_passage": round(index.stats().bytes / count),
    }


def in_fresh_process(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Search in a process that did not build, so that its memory tells what searching takes."""
    command = [sys.executable, "-m", "benchmarks.search", "--measure", str(folder)]
    command += ["--embedder", options.embedder, "--queries", str(options.queries)]
    # one thread each: Lance searches with one, and on a busy machine more make numpy slower
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    measured: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return measured


def searching(folder: Path, embedder: str, count: int) -> dict[str, Any]:
    queries = some_queries(embedder, count)
    ids: list[str] = json.loads((folder / "ids.json").read_text())
    index = LanceIndex.open(folder / "index", dimensions=queries[0].vector.shape[0])
    before = resident()
    index.dense(queries[0].vector, K)
    index.lexical(queries[0].terms, K)
    excluded = Filter(excluded=frozenset(ids[:: max(1, len(ids) // EXCLUSIONS)][:EXCLUSIONS]))
    modes: dict[str, Callable[[Query], object]] = {
        "dense": lambda q: index.dense(q.vector, K),
        "lexical": lambda q: index.lexical(q.terms, K),
        "hybrid": lambda q: hybrid(index, q),
        "hybrid_200_exclusions": lambda q: hybrid(index, q, excluded),
        "hybrid_5_percent_filter": lambda q: hybrid(index, q, RARE),
    }
    times = {name: timed(mode, queries) for name, mode in modes.items()}
    after = resident()  # before the vectors for brute force are loaded
    return judged(index, folder, queries, ids) | {
        "resident_mb": round(after / 2**20),
        "resident_bytes_per_passage": round((after - before) / len(ids)),
    } | latencies(times, brute_force_times(folder, queries))  # fmt: skip


def brute_force_times(folder: Path, queries: Sequence[Query]) -> Times:
    vectors: Vectors = np.load(folder / "vectors.npy")
    return timed(lambda query: nearest(vectors @ query.vector), queries)


def latencies(times: dict[str, Times], brute: Times) -> dict[str, Any]:
    return {
        "brute_force_numpy": summary(brute),
        "search": {
            name: summary(taken)
            | {
                "p50_to_brute_force": ratio(taken.wall, brute.wall),
                "cpu_to_brute_force": ratio(taken.cpu, brute.cpu),
            }
            for name, taken in times.items()
        },
    }


def judged(
    index: LanceIndex, folder: Path, queries: Sequence[Query], ids: Sequence[str]
) -> dict[str, Any]:
    """Recall of the approximate dense search against brute force, plain and filtered."""
    vectors: Vectors = np.load(folder / "vectors.npy")
    rare = np.load(folder / "rare.npy")
    place_of = {id_: place for place, id_ in enumerate(ids)}
    plain, filtered = [], []
    for query in queries:
        similarities = vectors @ query.vector
        found = [place_of[hit.id] for hit in index.dense(query.vector, K)]
        plain.append(share_of_best(similarities, found))
        found = [place_of[hit.id] for hit in index.dense(query.vector, K, RARE)]
        filtered.append(share_of_best(np.where(rare, similarities, -2), found))
    return {
        "recall_at_10": round(float(np.mean(plain)), 4),
        "recall_at_10_filtered": round(float(np.mean(filtered)), 4),
        "rare_share": round(float(np.mean(rare)), 4),
    }


def lexical_overlap(collection: Collection, path: Path, options: argparse.Namespace) -> float:
    queries = some_queries(options.embedder, min(options.queries, OVERLAP_QUERIES))
    needed = {term for query in queries for term in query.terms}
    reference = ReferenceBm25({e.id: e.terms for e in collection.entries}, only=needed)
    index = LanceIndex.open(path, dimensions=collection.vectors.shape[1])
    place_of = {id_: place for place, id_ in enumerate(reference.ids)}
    shares = []
    for query in queries:
        found = [place_of[hit.id] for hit in index.lexical(query.terms, K)]
        shares.append(share_of_best(reference.scores(query.terms), found))
    return round(float(np.mean(shares)), 4)


def table(runs: Sequence[dict[str, Any]]) -> str:
    lines = []
    for run in runs:
        lines.append(
            f"{run['passages']} passages: add {run['add_seconds']} s, compact "
            f"{run['compact_seconds']} s, {run['disk_bytes_per_passage']} B/passage on disk, "
            f"{run['resident_mb']} MB resident, recall@10 {run['recall_at_10']} "
            f"(filtered {run['recall_at_10_filtered']}), "
            f"lexical overlap@10 {run['lexical_overlap_at_10']}"
        )
        lines.append(f"  {'numpy brute force':26} p50 {run['brute_force_numpy']['p50_ms']:8} ms")
        lines += [
            f"  {name:26} p50 {found['p50_ms']:8} ms  p95 {found['p95_ms']:8} ms  "
            f"{found['p50_to_brute_force']:6} x brute force "
            f"({found['cpu_to_brute_force']} x in processor time)"
            for name, found in run["search"].items()
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
