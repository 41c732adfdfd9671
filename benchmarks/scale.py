"""What growth costs: building, disk, memory and speed from 20,000 to 700,000 passages, and what
adding files takes, survives and does to those who search meanwhile.

Indices are made in `.cache/search/scale/` and kept, so that they can be measured again when the
machine is quiet; what is built or embedded is not done twice. Every latency is also given as a
ratio to brute force in numpy over the same vectors in the same run. docs/scale.md has the figures.

    SECONDLOOK_DATA=... python -m benchmarks.scale [--sizes 20000,200000,700000]
        [--vectors 20000] [--articles 5] [--build-only | --measure-only]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import scale_ingest
from benchmarks.scale_build import FIGURES
from benchmarks.scale_data import REAL, base_vectors
from benchmarks.scale_page import table
from benchmarks.scale_search import QUESTIONS, VECTORS, compared, forget
from benchmarks.search_data import CACHE, load_embedder, questions
from benchmarks.search_timing import Times, load_average, machine, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = CACHE / "scale"
RESULTS = Path(__file__).parent / "results" / "scale.json"
READERS = (2, 4)
SIZES = [20_000, 200_000, 700_000]
FEWEST = 100
"""The best ten are looked for among more than the hundred that each search contributes."""
MOST_QUERIES = 200
QUESTION = "When was the harbour dredged?"


def main() -> None:
    options = arguments()
    results = Results(options.output)
    if not options.measure_only:
        prepare(options)
        for size in options.sizes:
            results.put(build(size, options), "sizes", str(size), "build")
    if not options.build_only:
        for size in options.sizes:
            measure(FOLDER / str(size), results, options)
        if options.articles:
            results.put(scale_ingest.measured(options.articles, FOLDER / "ingest"), "ingest")
        if options.sizes:
            print(table(results.held))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="may be empty")
    parser.add_argument("--vectors", type=int, default=REAL, help="passages to embed")
    parser.add_argument("--queries", type=int, default=MOST_QUERIES)
    parser.add_argument("--seconds", type=float, default=10, help="of search by several at once")
    parser.add_argument("--rounds", type=int, default=5, help="of cold starts")
    parser.add_argument("--articles", type=int, default=0, help="to add as files; 442 are all")
    parser.add_argument("--output", type=Path, default=RESULTS)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--build-only", action="store_true")
    only.add_argument("--measure-only", action="store_true")
    options = parser.parse_args()
    for problem in problems(options):
        parser.error(problem)
    return options


def numbers(given: str) -> list[int]:
    return [int(size) for size in given.split(",") if size]


def problems(options: argparse.Namespace) -> Iterator[str]:
    """What would fail only after hours, or mean something else than was asked for."""
    if not 1 <= options.vectors <= REAL:
        yield f"--vectors must lie between 1 and {REAL}: {options.vectors}"
    if not 1 <= options.queries <= MOST_QUERIES:
        yield f"--queries must lie between 1 and {MOST_QUERIES}: {options.queries}"
    if min(options.seconds, options.rounds) <= 0 or options.articles < 0:
        yield "--seconds and --rounds must be above 0, --articles not below it"
    if any(size <= FEWEST for size in options.sizes):
        yield f"a size must be above {FEWEST}: {options.sizes}"
    if options.measure_only:
        missing = [size for size in options.sizes if not (FOLDER / str(size) / FIGURES).exists()]
        if missing:
            yield f"no index of {missing} has been built: leave --measure-only out first"


class Results:
    """What has been measured, on disk after each step."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.held: dict[str, Any] = {
            "machine": machine(),
            "embedder": load_embedder("embedded").name,
        }
        if file.exists():
            self.held |= json.loads(file.read_text(encoding="utf-8"))

    def put(self, value: Any, *where: str) -> None:
        inside = self.held
        for name in where[:-1]:
            inside = inside.setdefault(name, {})
        inside[where[-1]] = value
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_text(json.dumps(self.held, indent=1) + "\n", encoding="utf-8")
        told(f"{' '.join(where)}: {json.dumps(value)[:300]}")


def told(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} load {load_average()}: {what}", flush=True)


def prepare(options: argparse.Namespace) -> None:
    """Vectors of passages and questions: nothing after this needs the embedder's time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.save(FOLDER / "base.npy", base_vectors("embedded", options.vectors))
    texts, model = questions(MOST_QUERIES), load_embedder("embedded")
    held = FOLDER / QUESTIONS
    if not held.exists() or json.loads(held.read_text(encoding="utf-8")) != texts:
        np.save(FOLDER / VECTORS, np.stack([model.embed_query(text) for text in texts]))
        held.write_text(json.dumps(texts), encoding="utf-8")
    told(f"{options.vectors} real vectors are there")


def build(size: int, options: argparse.Namespace) -> dict[str, Any]:
    folder = FOLDER / str(size)
    figures = folder / FIGURES
    if figures.exists():
        known: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
        if known["real_vectors"] == min(size, options.vectors):
            return known
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run("scale_build", str(size), str(folder), str(FOLDER / "base.npy"), show=True)
    made: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return made


def run(module: str, *arguments: str, show: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        check=True,
        stdout=None if show else subprocess.PIPE,
        text=True,
        env=one_thread(),
    )
    return done.stdout or ""


def one_thread() -> dict[str, str]:
    """Numpy with one thread: Lance searches with one, and on a busy machine more are slower."""
    return os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def measure(folder: Path, results: Results, options: argparse.Namespace) -> None:
    size = folder.name
    said = run("scale_search", "alone", str(folder), str(options.queries))
    results.put(json.loads(said.splitlines()[-1]), "sizes", size, "alone")
    for count in READERS:
        found = several(folder, count, options.seconds)
        results.put(found, "sizes", size, "readers", str(count))
    results.put(cold_start(folder, options.rounds), "sizes", size, "cold_start")


def several(folder: Path, count: int, seconds: float) -> dict[str, Any]:
    """So many processes that search at once, then as many that compare every vector."""
    load = load_average()
    readers = [started_reader(folder, number, seconds) for number in range(count)]
    try:
        for reader in readers:
            if answered(reader) != "ready":
                raise SystemExit("a reader did not start")
        taken, brute = together(readers, "hybrid"), together(readers, "brute")
    finally:
        for reader in readers:
            reader.communicate()
    return {
        "load_average": load,
        "searches_per_second": round(len(taken.wall) / seconds, 1),
        "hybrid": compared(taken, brute),
        "brute_force_numpy": summary(brute),
    }


def started_reader(folder: Path, number: int, seconds: float) -> subprocess.Popen[str]:
    command = ["benchmarks.scale_search", "reader", str(folder), str(number), str(seconds)]
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=one_thread(),
    )


def answered(reader: subprocess.Popen[str]) -> str:
    return reader.stdout.readline().strip() if reader.stdout else ""


def together(readers: list[subprocess.Popen[str]], mode: str) -> Times:
    for reader in readers:
        if reader.stdin:
            reader.stdin.write(f"{mode}\n")
            reader.stdin.flush()
    told_by_each = [json.loads(answered(reader)) for reader in readers]
    return Times(
        [taken for each in told_by_each for taken in each["wall"]],
        [taken for each in told_by_each for taken in each["cpu"]],
    )


def cold_start(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds from starting a process to the answer to its first question, median."""
    found = {}
    for name, before in {"cached": lambda _: None, "uncached": forget}.items():
        whole, index = [], []
        for _ in range(rounds):
            before(folder / "index")
            started = time.perf_counter()
            said = json.loads(run("scale_search", "cold", str(folder), QUESTION))
            whole.append(time.perf_counter() - started)
            index.append(said["index_seconds"])
        found[f"{name}_seconds"] = round(statistics.median(whole), 2)
        found[f"{name}_index_seconds"] = round(statistics.median(index), 3)
    return found


if __name__ == "__main__":
    main()
