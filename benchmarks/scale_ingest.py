"""Adding files for `benchmarks/scale.py`: how fast, how much of it is embedding, what a kill costs,
and what those who search meanwhile notice.

Embedding takes nearly all of the time, and on a small machine 20,000 passages take hours of it. So
the whole is measured on some articles, and everything but embedding on all of them (20,000
passages), with vectors drawn at random in place of computed ones.

    python -m benchmarks.scale_ingest (add | search) LIBRARY ...
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.ingest import write_articles
from benchmarks.search_data import questions
from benchmarks.search_timing import load_average
from secondlook.library.library import Library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.library.report import AddReport
    from secondlook.reading.port import Embedder

    Held = dict[str, tuple[tuple[str, str, bytes], ...]]

ALL_ARTICLES = 442
KILLS = 3
QUIET_SECONDS = 15


class Timed:
    """An embedder, or one that draws vectors at random from the text's hash; either way it says
    how long it took."""

    def __init__(self, real: Embedder, *, drawn: bool) -> None:
        self._real, self._drawn = real, drawn
        self.name, self.dimensions, self.max_tokens = real.name, real.dimensions, real.max_tokens
        self.token_starts, self.embed_query = real.token_starts, real.embed_query
        self.seconds = self.worked = 0.0

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        started, before = time.perf_counter(), time.process_time()
        vectors = self._draw(texts) if self._drawn else self._real.embed_passages(texts)
        self.seconds += time.perf_counter() - started
        self.worked += time.process_time() - before
        return vectors

    def _draw(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for at, text in enumerate(texts):
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            vectors[at] = np.random.default_rng(seed).standard_normal(self.dimensions)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class TimedLibrary(Library):
    """The product's own library with an embedder that is timed."""

    drawn = False
    timed: Timed | None = None

    def embedder(self) -> Embedder:
        self.timed = self.timed or Timed(super().embedder(), drawn=self.drawn)
        return self.timed


def add(library: Path, folder: Path, *, drawn: bool) -> None:
    """In a process of its own: each file is said once it is stored, and at last what it took."""
    TimedLibrary.drawn = drawn
    with TimedLibrary.open(library) as opened:
        report = opened.add([folder], done=lambda change: print("stored", change.path, flush=True))
        timed = opened.timed
    if report.failed or timed is None:
        raise SystemExit(f"these files failed: {report.failed}")
    print(json.dumps(figures(report, timed)))


def figures(report: AddReport, timed: Timed) -> dict[str, float]:
    """Processor time is of all cores and processes: on a busy machine it says more."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "files": len(report.changes),
        "passages": report.passages,
        "seconds": round(report.seconds, 1),
        "processor_seconds": round(sum(os.times()[:4]), 1),
        "embedding_seconds": round(timed.seconds, 1),
        "embedding_processor_seconds": round(timed.worked, 1),
        "passages_per_second": round(report.passages / report.seconds, 1),
        "embedding_share": round(timed.seconds / report.seconds, 3),
        "resident_mb": most >> 10,
    }


def search(library: Path) -> None:
    """Search from the line `begin` to the line `end`, again and again; say how it went."""
    asked = questions(50)
    with Library.open(library, create=False) as opened:
        opened.search(asked[0], rerank=False)
        print("ready", flush=True)
        while sys.stdin.readline().strip() == "begin":
            taken: list[float] = []
            errors: list[str] = []
            while not select.select([sys.stdin], [], [], 0)[0]:
                started = time.perf_counter()
                try:
                    opened.search(asked[len(taken) % len(asked)], rerank=False)
                except Exception as error:  # noqa: BLE001 - any of them is what is looked for
                    errors.append(repr(error))
                taken.append((time.perf_counter() - started) * 1000)
            sys.stdin.readline()
            print(json.dumps(noticed(taken, errors)), flush=True)


def noticed(taken: Sequence[float], errors: Sequence[str]) -> dict[str, Any]:
    return {
        "searches": len(taken),
        "p50_ms": round(float(np.median(taken)), 1),
        "p95_ms": round(float(np.percentile(taken, 95)), 1),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
    }


def measured(articles: int, folder: Path) -> dict[str, Any]:
    """Everything about adding, `articles` of them with the real embedder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    some, others = folder / "some", folder / "others"
    write_articles(others, max(articles, ALL_ARTICLES))
    some.mkdir()
    for file in sorted(others.iterdir())[:articles]:
        file.rename(some / file.name)
    found: dict[str, Any] = {"articles": articles, "load_average": load_average()}
    found["embedded"] = added(folder / "calm", some, drawn=False)
    found["killed"] = killed(folder / "killed", some, folder / "calm", found["embedded"])
    found["without_embedding"] = added(folder / "large", others, drawn=True)
    found["searched"] = searched(folder / "large", some)
    return found


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale_ingest", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def adding(library: Path, folder: Path, *, drawn: bool) -> subprocess.Popen[str]:
    return started("add", str(library), str(folder), "drawn" if drawn else "embedded")


def added(library: Path, folder: Path, *, drawn: bool) -> dict[str, Any]:
    began, child = time.perf_counter(), adding(library, folder, drawn=drawn)
    output = child.communicate()[0]
    if child.returncode:
        raise SystemExit(f"adding {folder} failed")
    told: dict[str, Any] = json.loads(output.splitlines()[-1])
    return told | {"process_seconds": round(time.perf_counter() - began, 1)}


def killed(library: Path, folder: Path, calm: Path, undisturbed: dict[str, Any]) -> dict[str, Any]:
    """Add with kill -9 in between, until it is through; compare with the undisturbed library."""
    chance, seconds, lost = random.Random(11), 0.0, 0
    for _ in range(KILLS):
        moment = chance.uniform(0.2, 0.4) * undisturbed["process_seconds"]
        began, child = time.perf_counter(), adding(library, folder, drawn=False)
        said = killed_after(child, moment)
        seconds += time.perf_counter() - began
        lost += len(said - set(held(library)))
    last = added(library, folder, drawn=False)
    seconds += last["process_seconds"]
    wanted, found = held(calm), held(library)
    return {
        "kills": KILLS,
        "process_seconds": round(seconds, 1),
        "to_undisturbed": round(seconds / undisturbed["process_seconds"], 2),
        "reported_and_lost": lost,
        "files_missing": len(wanted.keys() - found.keys()),
        "files_different": sum(found.get(path) != entries for path, entries in wanted.items()),
        "passages_twice": passages(library) - passages(calm),
    }


def killed_after(child: subprocess.Popen[str], moment: float) -> set[str]:
    """The files it said were stored."""
    try:
        child.wait(moment)
    except subprocess.TimeoutExpired:
        child.kill()
    output = child.communicate()[0]
    lines = [line for line in output.splitlines() if line.startswith("stored ")]
    return {line.removeprefix("stored ") for line in lines}


def held(library: Path) -> Held:
    """Each file with its passages: id, text and vector."""
    found: Held = {}
    if not (library / "library.json").exists():  # killed before it had made one
        return found
    with Library.open(library, create=False) as opened:
        for document in opened.documents():
            ids = [f"{document.id}.{number}" for number in range(document.passages)]
            vectors = opened.index.vectors(ids)
            entries = tuple(
                (entry.id, entry.text, vectors[entry.id].tobytes())
                for entry in opened.index.fetch(ids)
            )
            found |= dict.fromkeys(document.paths, entries)
    return found


def passages(library: Path) -> int:
    with Library.open(library, create=False) as opened:
        return opened.index.stats().passages


def searched(library: Path, folder: Path) -> dict[str, Any]:
    """One process searches the large library, first in peace, then while files are added."""
    before = passages(library)
    reader = started("search", str(library))
    try:
        if answer(reader) != "ready":
            raise SystemExit("the reader did not start")
        quiet = begun(reader)
        time.sleep(QUIET_SECONDS)
        in_peace = ended(quiet)
        meanwhile = begun(reader)
        report = added(library, folder, drawn=False)
        while_adding = ended(meanwhile)
    finally:
        reader.communicate()
    return {
        "passages_before": before,
        "passages_after": passages(library),
        "quiet": in_peace,
        "while_adding": while_adding,
        "p50_to_quiet": round(while_adding["p50_ms"] / in_peace["p50_ms"], 2),
        "p95_to_quiet": round(while_adding["p95_ms"] / in_peace["p95_ms"], 2),
        "added": report,
    }


def begun(reader: subprocess.Popen[str]) -> subprocess.Popen[str]:
    return said_to(reader, "begin")


def ended(reader: subprocess.Popen[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(said_to(reader, "end")))
    return found


def said_to(reader: subprocess.Popen[str], line: str) -> subprocess.Popen[str]:
    if reader.stdin:
        reader.stdin.write(f"{line}\n")
        reader.stdin.flush()
    return reader


def answer(reader: subprocess.Popen[str]) -> str:
    return reader.stdout.readline().strip() if reader.stdout else ""


def main() -> None:
    what, library, *rest = sys.argv[1:]
    if what == "add":
        add(Path(library), Path(rest[0]), drawn=rest[1] == "drawn")
    else:
        search(Path(library))


if __name__ == "__main__":
    main()
