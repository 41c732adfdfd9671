"""How long a person waits for a cold command, as ratios to what cannot be avoided.

`--help` is compared with importing the command line library alone; a cold `search` with
importing the engines and one forward pass of the embedder, and with the same plus every pass
of the reader that it makes; a cold `ask` with importing the engines and langgraph and making its
passes. Every command is a fresh process, rounds are interleaved so that a busy moment hits all of
them, and medians are compared.

    python -m benchmarks.startup [--rounds 15] [--library PATH]

Without --library the documentation and source of this repository are indexed first.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import ROOT, parser, save
from secondlook.library.library import Library

SECONDLOOK = ("-m", "secondlook")
QUERY = "where does a setting come from"
WITHHELD = 3
RUNS = str(Path(tempfile.gettempdir()) / "secondlook-startup-runs.db")
"""The record of the runs that are timed, apart from one's own."""
# The session is opened as the product opens it: graph optimisation would only slow this down.
ONE_FORWARD = """
import lance, numpy, onnxruntime, secondlook_weights
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
file = secondlook_weights.path("embedder") / "model.onnx"
session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
given = {}
for item in session.get_inputs():
    words = numpy.full([16] if len(item.shape) == 1 else [1, 16], 1, dtype=numpy.int64)
    given[item.name] = words * 0 if "type" in item.name else words
session.run(None, given)
"""
# The same with every pass that a search with its second look makes.
ITS_FORWARDS = """
import json, sys, lance
from secondlook.reading import load_embedder, load_reader
query, file = sys.argv[1:]
load_embedder().embed_query(query)
passages, looks = json.load(open(file, encoding="utf-8"))
load_reader().read(query, passages, choose=lambda glances: range(min(looks, len(glances))))
"""
# And with the library that workflows are graphs of.
GRAPH_AND_ITS_FORWARDS = f"import langgraph.graph\n{ITS_FORWARDS}"
GOALS = {
    "ask / engines, langgraph and its forward passes": 2.0,
    "help / import typer": 2.0,
    "command help / import typer": 2.0,
    "search / engines and one forward pass": 1.5,
}


def commands(library: str, candidates: str) -> dict[str, tuple[str, ...]]:
    search = (*SECONDLOOK, "search", QUERY, "--json", "--library", library)
    return {
        "python": ("-c", "pass"),
        "import typer": ("-c", "import typer"),
        "help": (*SECONDLOOK, "--help"),
        "command help": (*SECONDLOOK, "search", "--help"),
        "engines and one forward pass": ("-c", ONE_FORWARD),
        "engines and its forward passes": ("-c", ITS_FORWARDS, QUERY, candidates),
        "engines, langgraph and its forward passes": (
            "-c",
            GRAPH_AND_ITS_FORWARDS,
            QUERY,
            candidates,
        ),
        "ask": (*SECONDLOOK, "ask", QUERY, "--json", "--library", library),
        "search": search,
        "search without reranking": (*search, "--no-rerank"),
        "search for a person": tuple(part for part in search if part != "--json"),
    }


def run(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Seconds on the clock and seconds of processor time of one fresh process."""
    before = os.times()
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SECONDLOOK_RUNS_PATH": RUNS},
    )
    if done.returncode not in {0, WITHHELD}:
        raise SystemExit(f"{arguments!r} failed with {done.returncode}")
    elapsed = time.perf_counter() - started
    after = os.times()
    worked = after.children_user + after.children_system
    return elapsed, worked - before.children_user - before.children_system


def middle(pairs: list[tuple[float, float]], which: int) -> float:
    return round(statistics.median(pair[which] for pair in pairs), 4)


def ratios(medians: dict[str, float]) -> dict[str, float]:
    pairs = [(name, "import typer") for name in ("help", "command help")]
    searches = ("search", "search without reranking", "search for a person")
    pairs += [(name, "engines and one forward pass") for name in searches]
    pairs += [("search", "engines and its forward passes")]
    pairs += [("ask", "engines, langgraph and its forward passes")]
    return {f"{one} / {base}": round(medians[one] / medians[base], 3) for one, base in pairs}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--library", help="instead of docs and source of this repository")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = given.library or str(Path(folder) / "library")
        if not given.library:
            sources = [str(ROOT / "docs"), str(ROOT / "src" / "secondlook")]
            run((*SECONDLOOK, "add", "-q", *sources, "--library", library))
        # What the reader is given in this search, and how many of them it looks at.
        with Library.open(library, create=False) as opened:
            chosen = opened.settings.search
            hits = opened.search(QUERY, k=chosen.candidates, rerank=False)
        file = Path(folder) / "candidates.json"
        texts = [hit.passage.text for hit in hits]
        file.write_text(json.dumps([texts, chosen.looks]), encoding="utf-8")
        asked = commands(library, str(file))
        for arguments in asked.values():  # fill the disk cache and write .pyc files
            run(arguments)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
        for _ in range(given.rounds):
            for name, arguments in asked.items():
                taken[name].append(run(arguments))
    clock, work = ({name: middle(pairs, i) for name, pairs in taken.items()} for i in (0, 1))
    found = {
        "rounds": given.rounds,
        "median_seconds": clock,
        "median_processor_seconds": work,
        "ratios": ratios(clock),
        "ratios_of_processor_time": ratios(work),
        "goals": GOALS,
    }
    save("startup", found)


if __name__ == "__main__":
    main()
