"""One system in a process of its own: one JSON request per line in, one JSON answer per line out.

    python -m benchmarks.peers_worker SYSTEM CORPUS FOLDER [--kept VECTORS]

Requests: `{"do": "build"}`, `{"do": "embed", "count": 10, "turn": 0}`,
`{"do": "ask", "mode": ..., "question": ...}`, `{"do": "leave"}`.
Any connection beyond loopback is refused and reported, whatever a system's telemetry is set to.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from benchmarks.peers_contract import Text, first_of_each

if TYPE_CHECKING:
    from benchmarks.peers_contract import Make, System
    from benchmarks.peers_vectors import SharedEmbedding

MAKERS = {
    "secondlook": ("benchmarks.peers_secondlook", "default"),
    "secondlook, whole texts": ("benchmarks.peers_secondlook", "whole"),
    "llamaindex": ("benchmarks.peers_llamaindex", "make"),
    "haystack": ("benchmarks.peers_haystack", "make"),
    "langchain": ("benchmarks.peers_langchain", "make"),
    "txtai": ("benchmarks.peers_txtai", "make"),
}
LOOPBACK = ("127.", "::1", "localhost")
refused: list[str] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=MAKERS)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kept", type=Path)
    options = parser.parse_args()
    answers = own_output()
    sys.addaudithook(refuse_network)
    started = time.perf_counter()
    module, maker = MAKERS[options.system]
    make: Make = getattr(importlib.import_module(module), maker)
    from benchmarks.peers_vectors import SharedEmbedding

    embedding = SharedEmbedding(options.kept)
    system = make(read_texts(options.corpus), embedding, options.folder)
    tell(answers, described(system) | {"start_seconds": time.perf_counter() - started})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "leave":
            break
        tell(answers, answered(request, system, embedding))
    for close in system.closing:
        close()
    tell(answers, {"refused": refused, "peak_mb": peak_mb()})


def own_output() -> TextIO:
    """The pipe for answers. What a library prints goes where errors go, not between them."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def tell(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def refuse_network(event: str, details: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = details[1]
        host = address[0] if isinstance(address, tuple) else ""  # a path: a local socket
    elif event == "socket.getaddrinfo":
        host = details[0]
    else:
        return
    if host and not str(host).startswith(LOOPBACK):
        refused.append(str(host))
        raise PermissionError(f"no connection leaves the benchmark: {host!r}")


def read_texts(corpus: Path) -> list[Text]:
    with corpus.open(encoding="utf-8") as lines:
        return [Text(**json.loads(line)) for line in lines]


def described(system: System) -> dict[str, Any]:
    return {
        "versions": {name: version_of(name) for name in system.distributions},
        "parts": list(system.parts),
        "modes": {name: list(mode.parts) for name, mode in system.modes.items()},
        "durable": system.durable,
    }


def version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def answered(request: dict[str, Any], system: System, embedding: SharedEmbedding) -> dict[str, Any]:
    if request["do"] == "build":
        return built(system, embedding)
    if request["do"] == "embed":
        return {"seconds_per_passage": embedding.sample_seconds(request["count"], request["turn"])}
    mode = system.modes[request["mode"]]
    started, worked = time.perf_counter(), time.process_time()
    ids = mode.search(request["question"])
    took, work = time.perf_counter() - started, time.process_time() - worked
    return {"ids": first_of_each(ids), "ms": took * 1000, "cpu_ms": work * 1000}


def built(system: System, embedding: SharedEmbedding) -> dict[str, Any]:
    """Each part: seconds on the clock, how many of them in the embedder, and what was embedded."""
    parts = {}
    for name, part in system.parts.items():
        embedding.start_over()
        seconds = timed(part.build)
        parts[name] = {
            "seconds": seconds,
            "embedding_seconds": embedding.seconds,
            "embedded": len(embedding.texts),
            "made": embedding.made,
            "digest": embedding.digest(),
            "save_seconds": timed(part.save) if part.save else None,
        }
    return {"parts": parts, "passages": system.passages()}


def timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mb() -> int | None:
    """The most memory this process ever held; None where that is not told."""
    try:
        import resource
    except ImportError:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


if __name__ == "__main__":
    main()
