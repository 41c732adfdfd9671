"""Secondlook's search beside LlamaIndex, Haystack, LangChain and txtai, in one run.

All systems get the same texts, the same questions and the same embedder, each through its own
embedding interface; docs/results.md says what can and what cannot be compared. The peers live in a
virtual environment of their own under `.cache/peers`; none is a dependency.

    python -m benchmarks.peers install
    SECONDLOOK_DATA=... python -m benchmarks.peers run [--sets squad2-dev,scifact] [--questions 300]

Systems are built by turns, then asked the same question one after the other, in another order for
every question. Building is told without the embedder's part, which is the same for all; the first
round makes the vectors and is not counted. Writes benchmarks/results/peers.json.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import venv
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

from benchmarks.common import CACHE, ROOT, SEED, parser, rows, save, spread
from benchmarks.peers_systems import SYSTEMS, Text
from secondlook.evaluation.metrics import retrieval_metrics
from secondlook.evaluation.statistics import paired
from secondlook.retrieval.chunk import with_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOME = CACHE / "peers"
PYTHON = HOME / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PEERS = {
    "llamaindex": ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"),
    "haystack": ("haystack-ai==3.4.0",),
    "langchain": (
        "langchain-core==1.7.2",
        "langchain-community==0.4.2",
        "langchain-classic==1.0.8",
        "faiss-cpu==1.15.1",
        "rank-bm25==0.2.2",
    ),
    # Where an index offers a build of torch for processors alone (2.13.0+cpu), pip takes that one.
    "txtai": ("txtai==9.14.0", "torch==2.13.0", "faiss-cpu==1.15.1"),
}
EMBEDDER = ("numpy", "onnxruntime", "tokenizers")
"""What the shared embedder runs on: in the very versions that Secondlook itself runs on here."""
SILENT = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""No system reports to its makers; a worker refuses connections besides."""
BASE, ALIKE = "secondlook: hybrid + rerank", "secondlook, whole texts"
"""The product as it comes, and over the same passages as the peers."""
WARM_UP = 3
"""Questions that are asked before any time is taken."""


class Worker:
    """A process that holds one system and answers one request at a time."""

    def __init__(self, system: str, corpus: Path, folder: Path) -> None:
        self.system = system
        HOME.joinpath("logs").mkdir(parents=True, exist_ok=True)
        self._log = (HOME / "logs" / f"{folder.name}.log").open("w", encoding="utf-8")
        python = str(PYTHON) if system in PEERS else sys.executable
        command = [python, "-m", "benchmarks.peers_systems", system, str(corpus), str(folder)]
        # Secondlook is found by its path: it is not installed beside the peers.
        paths = os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "weights" / "src")))
        self._process = subprocess.Popen(
            [*command, str(HOME / "vectors.sqlite")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            cwd=ROOT,
            env=os.environ | SILENT | {"PYTHONPATH": paths},
        )
        self.about = self._answer()

    def request(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise SystemExit(f"{self.system} ended without an answer: see {self._log.name}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._log.close()


def measured(name: str, systems: Sequence[str], questions: int, builds: int) -> dict[str, Any]:
    corpus = rows(name, "corpus")
    known = {str(row["id"]) for row in corpus}
    asked = [
        (row["question"], gold)
        for row in rows(name, "queries")
        if row["answerable"] and (gold := {*map(str, row["gold"])} & known)
    ]
    drawn = random.Random(SEED).sample(asked, min(questions, len(asked)))
    folder = HOME / "runs" / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "corpus.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in corpus:
            whole = with_context(row["title"] or "", (), row["text"])
            text = Text(str(row["id"]), row["title"] or "", row["text"], whole)
            out.write(json.dumps(asdict(text)) + "\n")
    found: dict[str, list[dict[str, Any]]] = {}
    told: dict[str, Any] = {}
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(system, file, folder / system.replace(", ", "-")))
            for system in systems
        ]
        built: dict[str, list[dict[str, Any]]] = {system: [] for system in systems}
        for _ in range(builds + 1):
            for worker in workers:
                built[worker.system].append(worker.request(do="build"))
                print(f"{name}: {worker.system} built", flush=True)
        ways = [(worker, mode) for worker in workers for mode in built[worker.system][-1]["modes"]]
        for number, (question, _) in enumerate([*drawn[:WARM_UP], *drawn]):
            # Another order each time: none always comes after the same other one.
            for worker, mode in random.Random(number).sample(ways, len(ways)):
                answer = worker.request(do="ask", mode=mode, question=question)
                if number >= WARM_UP:
                    found.setdefault(f"{worker.system}: {mode}", []).append(answer)
            print(f"\r{name}: {number} of {len(drawn)} questions", end="", flush=True)
        for worker in workers:
            own = [one["own_seconds"] for one in built[worker.system][1:]]
            told[worker.system] = worker.about | worker.request(do="leave")
            told[worker.system]["passages"] = built[worker.system][-1]["embedded"]
            told[worker.system]["own_build_seconds"] = round(statistics.median(own), 3)
    return {
        "documents": len(corpus),
        "questions": len(drawn),
        "systems": told,
        "ways": compared([gold for _, gold in drawn], found),
    }


def compared(
    gold: Sequence[set[str]], found: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Each way of searching: quality, times, and both beside the product as it comes and beside
    its search of the same kind over the same passages."""
    scores = {
        way: [
            retrieval_metrics(dict.fromkeys(right, 1), answer["ids"])
            for right, answer in zip(gold, answers, strict=True)
        ]
        for way, answers in found.items()
    }
    told: dict[str, dict[str, Any]] = {}
    for way, answers in found.items():
        told[way] = {
            metric: round(statistics.fmean(one[metric] for one in scores[way]), 4)
            for metric in ("recall@5", "ndcg@10")
        }
        told[way]["query_ms"] = spread([answer["ms"] for answer in answers], 2)
        told[way]["query_cpu_ms"] = spread([answer["cpu_ms"] for answer in answers], 2)
    for way, one in told.items():
        for name, base in (("to_secondlook", BASE), ("to_alike", counterpart(way))):
            if base not in told or base == way:
                continue
            ours, theirs = ([row["ndcg@10"] for row in scores[key]] for key in (base, way))
            change = paired(ours, theirs, yes_no=False, seed=SEED)
            one[name] = {
                "ndcg_difference": round(change.difference, 4),
                "low": round(change.low, 4),
                "high": round(change.high, 4),
                "times_p50": round(one["query_ms"]["p50"] / told[base]["query_ms"]["p50"], 3),
            }
    return told


def counterpart(way: str) -> str:
    """Secondlook's search of the same kind, over whole texts."""
    return f"{ALIKE}: {way.split(': ', 1)[1].split(',', maxsplit=1)[0]}"


def install(peers: Sequence[str]) -> None:
    if not PYTHON.exists():
        venv.create(HOME / "venv", with_pip=True)
    wanted = [requirement for peer in peers for requirement in PEERS[peer]]
    wanted += [f"{name}=={version(name)}" for name in EMBEDDER]
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("command", choices=("install", "run"))
    options.add_argument("--peers", default=",".join(PEERS), help="none: Secondlook alone")
    options.add_argument("--sets", default="squad2-dev,scifact")
    options.add_argument("--questions", type=int, default=300)
    options.add_argument("--builds", type=int, default=3, help="builds counted; the median is told")
    given = options.parse_args()
    peers = [peer for peer in given.peers.split(",") if peer in PEERS]
    if given.command == "install":
        install(peers)
        return
    if peers and not PYTHON.exists():
        raise SystemExit("the peers are not installed: python -m benchmarks.peers install")
    systems = [system for system in SYSTEMS if system not in PEERS or system in peers]
    sets = {
        name: measured(name, systems, given.questions, given.builds)
        for name in given.sets.split(",")
    }
    save("peers", {"sets": sets})


if __name__ == "__main__":
    main()
