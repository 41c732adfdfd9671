"""What benchmarks of searching share: queries, one hybrid search, timing, recall, memory."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.search_data import load_embedder, questions
from secondlook.retrieval.fusion import fuse
from secondlook.retrieval.index.port import EVERYTHING
from secondlook.retrieval.terms import query_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from secondlook.retrieval.index.port import Filter, Index

    Vectors = NDArray[np.float32]

K, POOL = 10, 100


@dataclass(frozen=True, slots=True)
class Query:
    vector: Vectors
    terms: tuple[str, ...]


def some_queries(embedder: str, count: int) -> list[Query]:
    model = load_embedder(embedder)
    return [Query(model.embed_query(text), query_terms(text)) for text in questions(count)]


def hybrid(index: Index, query: Query, where: Filter = EVERYTHING) -> object:
    dense = index.dense(query.vector, POOL, where)
    lexical = index.lexical(query.terms, POOL, where)
    return fuse(dense, lexical, dense_weight=0.5, lexical_weight=0.5)[:K]


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds per query: on the clock, and of processor time in all threads. On a busy
    machine the second says more."""

    wall: list[float]
    cpu: list[float]


def timed(mode: Callable[[Query], object], queries: Sequence[Query]) -> Times:
    times = Times([], [])
    for query in queries:
        started, worked = time.perf_counter(), time.process_time()
        mode(query)
        times.wall.append((time.perf_counter() - started) * 1000)
        times.cpu.append((time.process_time() - worked) * 1000)
    return times


def nearest(similarities: Vectors) -> list[int]:
    best = np.argpartition(-similarities, K)[:K]
    return [int(place) for place in best[np.argsort(-similarities[best])]]


def summary(times: Times) -> dict[str, float]:
    return {
        "p50_ms": round(float(np.median(times.wall)), 2),
        "p95_ms": round(float(np.percentile(times.wall, 95)), 2),
        "cpu_p50_ms": round(float(np.median(times.cpu)), 2),
    }


def ratio(taken: Sequence[float], base: Sequence[float]) -> float:
    return round(float(np.median(taken)) / float(np.median(base)), 2)


def share_of_best(scores: NDArray[Any], found: Sequence[int]) -> float:
    """How much of the best ten (or fewer, if no more score) was found; what ties with the
    last of them counts as well."""
    wanted = min(K, int(np.sum(scores > 0)))
    last = np.partition(scores, -wanted)[-wanted] - 1e-5 * np.max(scores) if wanted else 0
    return float(np.sum(scores[list(found)] >= last)) / max(1, wanted)


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def load_average() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def resident() -> int:
    """Bytes this process holds in memory now; where that is not told, the most it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf("SC_PAGE_SIZE")
