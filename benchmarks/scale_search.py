"""Searching an index of one size for `benchmarks/scale.py`, each time in fresh processes: alone, by
several at once, and for the first time.

    python -m benchmarks.scale_search (alone | reader | cold) FOLDER ...
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.search_timing import (
    K,
    Query,
    Times,
    hybrid,
    load_average,
    nearest,
    ratio,
    resident,
    share_of_best,
    summary,
    timed,
)
from secondlook.retrieval.index.lance import LanceIndex, disk_bytes, engine
from secondlook.retrieval.search import Searcher
from secondlook.retrieval.terms import query_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.search_timing import Vectors

QUESTIONS, VECTORS = "questions.json", "questions.npy"
WARMING = 5


@dataclass(frozen=True, slots=True)
class Known:
    """An embedder that has seen all these questions: what a search takes is then the engine's."""

    vectors: dict[str, Vectors]

    def embed_query(self, text: str) -> Vectors:
        return self.vectors[text]


@dataclass(frozen=True, slots=True)
class Place:
    """An index of one size, with the questions that are put to it."""

    index: LanceIndex
    texts: list[str]
    queries: list[Query]
    vectors: Vectors
    """Mapped, not read: processes that search by brute force share one copy."""


def opened(folder: Path, count: int | None = None) -> Place:
    texts = json.loads((folder.parent / QUESTIONS).read_text(encoding="utf-8"))[:count]
    asked = np.load(folder.parent / VECTORS)[:count]
    queries = [Query(vector, query_terms(text)) for vector, text in zip(asked, texts, strict=True)]
    index = LanceIndex.open(folder / "index", dimensions=asked.shape[1])
    return Place(index, texts, queries, np.load(folder / "vectors.npy", mmap_mode="r"))


def found_by_product(place: Place) -> Callable[[Query], object]:
    """As a question is searched, without embedding it: both at once, fused, the best fetched."""
    known = {text: query.vector for text, query in zip(place.texts, place.queries, strict=True)}
    text_of = {id(query): text for text, query in zip(place.texts, place.queries, strict=True)}
    searcher = Searcher(index=place.index, embedder=Known(known))  # type: ignore[arg-type]
    return lambda query: searcher.find(text_of[id(query)])


def alone(folder: Path, count: int) -> dict[str, Any]:
    place = opened(folder, count)
    before, load = resident(), load_average()
    modes: dict[str, Callable[[Query], object]] = {
        "dense": lambda query: place.index.dense(query.vector, K),
        "lexical": lambda query: place.index.lexical(query.terms, K),
        "hybrid": lambda query: hybrid(place.index, query),
        "find": found_by_product(place),
    }
    times = {name: warmed(mode, place.queries) for name, mode in modes.items()}
    after = resident()  # before brute force touches the vectors
    brute = warmed(by_brute_force(place), place.queries)
    return {
        "load_average": load,
        "queries": len(place.queries),
        "resident_mb": after >> 20,
        "index_resident_mb": (after - before) >> 20,
        "brute_force_numpy": summary(brute),
        "search": {name: compared(taken, brute) for name, taken in times.items()},
        "recall_at_10": recall(folder, place),
        "disk": disk_by_part(folder / "index"),
    }


def warmed(mode: Callable[[Query], object], queries: Sequence[Query]) -> Times:
    timed(mode, queries[:WARMING])
    return timed(mode, queries)


def by_brute_force(place: Place) -> Callable[[Query], object]:
    return lambda query: nearest(place.vectors @ query.vector)


def compared(taken: Times, brute: Times) -> dict[str, float]:
    return summary(taken) | {
        "p50_to_brute_force": ratio(taken.wall, brute.wall),
        "p95_to_brute_force": round(
            float(np.percentile(taken.wall, 95) / np.percentile(brute.wall, 95)), 2
        ),
        "cpu_to_brute_force": ratio(taken.cpu, brute.cpu),
    }


def disk_by_part(index: Path) -> dict[str, int]:
    """Bytes of the rows (texts, terms, vectors as they are) and of each search structure."""
    dataset = engine().dataset(str(index))
    parts = {"rows": disk_bytes(index / "data")}
    for held in dataset.describe_indices():
        folders = [index / "_indices" / segment.uuid for segment in held.segments]
        parts[held.name] = sum(disk_bytes(folder) for folder in folders)
    return parts


def recall(folder: Path, place: Place) -> float:
    """Of the approximate dense search against brute force over the same vectors."""
    ids = (folder / "ids.txt").read_text(encoding="utf-8").splitlines()
    place_of = {id_: at for at, id_ in enumerate(ids)}
    shares = [
        share_of_best(
            place.vectors @ query.vector,
            [place_of[hit.id] for hit in place.index.dense(query.vector, K)],
        )
        for query in place.queries
    ]
    return round(float(np.mean(shares)), 4)


def reader(folder: Path, number: int, seconds: float) -> None:
    """One of several: told by a line what to search by, it does so for a while and says how long
    each search took."""
    place = opened(folder)
    modes = {"hybrid": lambda query: hybrid(place.index, query), "brute": by_brute_force(place)}
    for mode in modes.values():
        timed(mode, place.queries[:WARMING])
    start = number * len(place.queries) // 8  # not all of them the same question at once
    order = place.queries[start:] + place.queries[:start]
    print("ready", flush=True)
    for line in sys.stdin:
        taken = for_a_while(modes[line.strip()], order, seconds)
        print(json.dumps({"wall": taken.wall, "cpu": taken.cpu}), flush=True)


def for_a_while(mode: Callable[[Query], object], queries: Sequence[Query], seconds: float) -> Times:
    taken, until, at = Times([], []), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        one = timed(mode, [queries[at % len(queries)]])
        taken.wall.extend(one.wall)
        taken.cpu.extend(one.cpu)
        at += 1
    return taken


def cold(folder: Path, question: str) -> None:
    """What a fresh process does until its first answer; it says how long the index took."""
    from secondlook.reading import load_embedder

    embedder = load_embedder()
    vector = embedder.embed_query(question)
    started = time.perf_counter()
    index = LanceIndex.open(folder / "index", dimensions=len(vector))
    searcher = Searcher(index=index, embedder=Known({question: vector}))  # type: ignore[arg-type]
    hits = searcher.find(question)
    print(json.dumps({"hits": len(hits), "index_seconds": time.perf_counter() - started}))


def forget(folder: Path) -> None:
    """Let the system drop what it keeps of these files in memory, as after a restart."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*"):
        if path.is_file():
            held = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(held, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(held)


def main() -> None:
    what, folder, *rest = sys.argv[1:]
    if what == "alone":
        print(json.dumps(alone(Path(folder), int(rest[0]))))
    elif what == "reader":
        reader(Path(folder), int(rest[0]), float(rest[1]))
    else:
        cold(Path(folder), rest[0])


if __name__ == "__main__":
    main()
