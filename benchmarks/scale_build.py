"""Build the index of one size for `benchmarks/scale.py`, in a process of its own: what it took at
most in memory is then what building takes.

    python -m benchmarks.scale_build SIZE FOLDER VECTORS
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.scale_data import batches, made_of, real_passages
from benchmarks.search_timing import load_average
from secondlook.retrieval.index.lance import LanceIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.search_data import Vectors
    from secondlook.retrieval.index.port import Entry

    Made = Iterator[tuple[list[Entry], Vectors]]

FIGURES = "built.json"
_TOLD_EVERY = 20


def main() -> None:
    size, folder, vectors = int(sys.argv[1]), Path(sys.argv[2]), np.load(sys.argv[3])
    real = real_passages(vectors, size)
    load = load_average()
    index = LanceIndex.open(folder / "index", dimensions=vectors.shape[1], create=True)
    took = filled(index, batches(real, size), (size, vectors.shape[1]), folder)
    took |= compacted(index, folder)
    found = made_of(real, size) | {"load_average": load} | took
    (folder / FIGURES).write_text(json.dumps(found), encoding="utf-8")


def filled(index: LanceIndex, made: Made, shape: tuple[int, int], folder: Path) -> dict[str, Any]:
    """Add everything; only the index's own part is timed. Vectors and ids are kept in the order
    in which they were added, for brute force and recall."""
    size = shape[0]
    kept = np.lib.format.open_memmap(
        folder / "vectors.npy", mode="w+", dtype=np.float32, shape=shape
    )
    seconds = worked = 0.0
    done = 0
    with (folder / "ids.txt").open("w", encoding="utf-8") as ids:
        for number, (entries, vectors) in enumerate(made):
            started, before = time.perf_counter(), processor()
            index.add(entries, vectors)
            seconds += time.perf_counter() - started
            worked += processor() - before
            kept[done : done + len(entries)] = vectors
            ids.writelines(f"{entry.id}\n" for entry in entries)
            done += len(entries)
            if number % _TOLD_EVERY == 0:
                print(f"{size}: {done} passages added, {seconds:.0f} s", flush=True)
    kept.flush()
    if done != size:
        raise SystemExit(f"{done} passages were made, not {size}")
    return {"add_seconds": round(seconds, 1), "add_processor_seconds": round(worked, 1)}


def compacted(index: LanceIndex, folder: Path) -> dict[str, Any]:
    started, before = time.perf_counter(), processor()
    index.compact(purge=True)
    seconds, worked = time.perf_counter() - started, processor() - before
    stats = index.stats()
    ids = (folder / "ids.txt").read_text(encoding="utf-8").count("\n")
    if stats.passages != ids:
        raise SystemExit(f"the index holds {stats.passages} passages, not {ids}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return {
        "compact_seconds": round(seconds, 1),
        "compact_processor_seconds": round(worked, 1),
        "disk_bytes": stats.bytes,
        "build_resident_mb": most >> 20,
    }


def processor() -> float:
    return sum(os.times()[:2])


if __name__ == "__main__":
    main()
