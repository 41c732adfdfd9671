"""What growth costs: building, disk, memory, speed and exactness of the index from 20,000 to
700,000 passages, and 100 million on paper.

    SECONDLOOK_DATA=... python -m benchmarks.scale [--sizes 20000,200000,700000] [--vectors 20000]
    python -m benchmarks.scale --paper

Texts and terms are those of every corpus under SECONDLOOK_DATA as far as they reach (about 104,000
passages) and noisy copies beyond: terms drawn from all terms of the original's document. Vectors
are those of a random draw of real passages, as many as are embedded (kept in `.cache/scale`, an
interrupted run goes on), and beyond that copies, moved as far as passages typically are from their
nearest neighbours. Words and meaning are filled up apart, for the two searches meet in ids alone.

Each size is built in a process of its own, so that its memory is told, and searched in fresh ones:
alone, by several at once, and for the first time. Every latency is also given as a ratio to brute
force in numpy over the same vectors in the same run. Writes benchmarks/results/scale.json.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import CACHE, RESULTS, data_folder, parser, read_lines, save, spread
from secondlook.reading import load_embedder
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter
from secondlook.retrieval.search import Searcher, fuse
from secondlook.retrieval.terms import query_terms, terms
from tests.support.oracle import ReferenceBm25

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Mode = Callable[["Query"], object]

FOLDER = CACHE / "scale"
REAL = 20_000
"""The draw of passages that vectors are made of, as far as they are made."""
BATCH, BLOCK = 2000, 256
QUERIES, WARMING = 200, 5
K, POOL = 10, 100
READERS = (2, 4)
EXCLUSIONS = 200
RARE = Filter(labels=frozenset({"slice=rare"}))
"""One document in twenty."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Lance searches with one thread, and on a busy machine more make numpy slower."""


# The passages


def all_rows() -> list[dict[str, Any]]:
    files = sorted(data_folder().glob("*/corpus.jsonl.gz"))
    return [row | {"set": file.parent.name} for file in files for row in read_lines(file)]


def whole(row: dict[str, Any]) -> str:
    """The passage as the library embeds and analyses it: below its title."""
    return with_context(row["title"] or "", (), row["text"])


def as_entry(row: dict[str, Any]) -> Entry:
    document = hashlib.sha256(f"{row['set']}/{row['title']}".encode()).hexdigest()[:16]
    rare = "slice=rare" if int(document, 16) % 20 == 0 else "slice=common"
    size, name = len(row["text"]), f"{row['set']}/{row['id']}"
    return Entry(name, document, row["text"], terms(whole(row)), 0, size, labels=(rare,))


def questions(count: int) -> list[str]:
    """A fixed draw from the questions of every set that has a corpus."""
    files = sorted(data_folder().glob("*/corpus.jsonl.gz"))
    found = [
        row["question"]
        for file in files
        for row in read_lines(file.with_name("queries.jsonl.gz"))
        if row["answerable"]
    ]
    return random.Random(0).sample(found, min(count, len(found)))


def base_vectors(rows: Sequence[dict[str, Any]], count: int) -> Vectors:
    """Of a random draw of real passages, in an order in which every beginning is a random draw."""
    places = random.Random(REAL).sample(range(len(rows)), min(REAL, len(rows)))
    texts = [whole(rows[place]) for place in places[:count]]
    model = load_embedder("embedded")
    digest = hashlib.sha256(f"{model.name} {len(rows)} {texts[0]}".encode()).hexdigest()[:8]
    file = FOLDER / f"vectors-{digest}.npy"
    vectors = np.load(file) if file.exists() else np.empty((0, model.dimensions), np.float32)
    while len(vectors) < len(texts):
        block = texts[len(vectors) : len(vectors) + BLOCK]
        vectors = np.concatenate([vectors, model.embed_passages(block)])
        np.save(file, vectors)
        print(f"embedded {len(vectors)} of {len(texts)}", flush=True)
    return vectors[: len(texts)]


@dataclass(frozen=True, slots=True)
class Real:
    """What every size is made from."""

    entries: list[Entry]
    vectors: Vectors
    distance: float
    """The median distance of a vector to its nearest neighbour: how far a copy is moved."""


def real_passages(rows: Sequence[dict[str, Any]], vectors: Vectors, size: int) -> Real:
    places = range(len(rows))
    if size < len(rows):
        places = sorted(random.Random(size).sample(places, size))  # type: ignore[assignment]
    probes = np.random.default_rng(1).choice(len(vectors), min(1000, len(vectors)), replace=False)
    alike = vectors[probes] @ vectors.T
    alike[np.arange(len(probes)), probes] = -1
    nearest = np.sqrt(np.maximum(0, 2 - 2 * alike.max(axis=1)))
    return Real([as_entry(rows[at]) for at in places], vectors, float(np.median(nearest)))


def batches(real: Real, size: int) -> Iterator[tuple[list[Entry], Vectors]]:
    """All passages of a collection of `size`, some thousands at a time. A document is in one batch,
    for adding it again would replace it."""
    chance, draw = np.random.default_rng(size), random.Random(2)
    drawn = chance.integers(0, len(real.entries), max(0, size - len(real.entries)))
    copies = np.bincount(drawn, minlength=len(real.entries))
    documents: dict[str, list[int]] = {}
    for place, entry in enumerate(real.entries):
        documents.setdefault(entry.document, []).append(place)
    batch: list[Entry] = []
    made = 0
    for number, places in enumerate(documents.values(), 1):
        originals = [real.entries[place] for place in places]
        words = [term for entry in originals for term in entry.terms] or [""]
        batch += originals
        for place, entry in zip(places, originals, strict=True):
            for at in range(copies[place]):
                noisy = tuple(draw.choices(words, k=len(entry.terms)))
                batch.append(replace(entry, id=f"copy{at}/{entry.id}", terms=noisy))
        if len(batch) >= BATCH or number == len(documents):
            # Each real vector once, then copies.
            known = real.vectors[made : made + len(batch)]
            of = chance.integers(0, len(real.vectors), len(batch) - len(known))
            moves = chance.standard_normal((len(of), real.vectors.shape[1])).astype(np.float32)
            moves *= real.distance / np.linalg.norm(moves, axis=1, keepdims=True)
            moved = real.vectors[of] + moves
            moved /= np.linalg.norm(moved, axis=1, keepdims=True)
            yield batch, np.concatenate([known, moved])
            made += len(batch)
            batch = []


def build(size: int, folder: Path) -> None:
    """Only the index's own part is timed. Vectors and ids are kept in the order in which they were
    added, for brute force and recall."""
    rows, vectors = all_rows(), np.load(FOLDER / "base.npy")
    real = real_passages(rows, vectors, size)
    index = LanceIndex.open(folder / "index", dimensions=vectors.shape[1], create=True)
    shape = (size, vectors.shape[1])
    kept = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    took: dict[str, float] = {"add_seconds": 0.0, "add_processor_seconds": 0.0}
    held: list[dict[str, Any]] = []
    for entries, some in batches(real, size):
        began, worked = time.perf_counter(), time.process_time()
        index.add(entries, some)
        took["add_seconds"] += time.perf_counter() - began
        took["add_processor_seconds"] += time.process_time() - worked
        kept[len(held) : len(held) + len(entries)] = some
        held += [{"id": one.id, "rare": one.labels == ("slice=rare",)} for one in entries]
    began, worked = time.perf_counter(), time.process_time()
    index.compact(purge=True)
    took["compact_seconds"] = time.perf_counter() - began
    took["compact_processor_seconds"] = time.process_time() - worked
    stats = index.stats()
    if not stats.passages == len(held) == size:
        raise SystemExit(f"the index holds {stats.passages} passages, not {size}")
    (folder / "ids.json").write_text(json.dumps(held), encoding="utf-8")
    found = {
        "passages": size,
        "real_texts": min(size, len(rows)),
        "real_vectors": min(size, len(vectors)),
        **{name: round(value, 1) for name, value in took.items()},
        "disk_bytes": stats.bytes,
        "build_resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    (folder / "built.json").write_text(json.dumps(found), encoding="utf-8")


# Searching


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    vector: Vectors
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """An embedder that has seen all these questions: what a search takes is then the engine's."""

    vectors: dict[str, Vectors]

    def embed_query(self, text: str) -> Vectors:
        return self.vectors[text]


@dataclass(slots=True)
class Place:
    """An index of one size, with the questions that are put to it."""

    folder: Path
    index: LanceIndex
    queries: list[Query]

    @classmethod
    def open(cls, folder: Path, count: int | None = None) -> Place:
        texts = json.loads((FOLDER / "questions.json").read_text("utf-8"))[:count]
        asked = np.load(FOLDER / "questions.npy")[:count]
        index = LanceIndex.open(folder / "index", dimensions=asked.shape[1])
        pairs = zip(texts, asked, strict=True)
        return cls(folder, index, [Query(text, one, query_terms(text)) for text, one in pairs])

    def modes(self) -> dict[str, Mode]:
        index = self.index
        held = json.loads((self.folder / "ids.json").read_text("utf-8"))
        some = [one["id"] for one in held[:: max(1, len(held) // EXCLUSIONS)][:EXCLUSIONS]]
        known = Known({query.text: query.vector for query in self.queries})
        searcher = Searcher(index=index, embedder=known)  # type: ignore[arg-type]

        def hybrid(query: Query, where: Filter = EVERYTHING) -> object:
            dense = index.dense(query.vector, POOL, where)
            lexical = index.lexical(query.terms, POOL, where)
            return fuse(dense, lexical, dense_weight=0.5, lexical_weight=0.5)[:K]

        return {
            "dense": lambda query: index.dense(query.vector, K),
            "lexical": lambda query: index.lexical(query.terms, K),
            "hybrid": hybrid,
            "hybrid_200_exclusions": lambda q: hybrid(q, Filter(excluded=frozenset(some))),
            "hybrid_5_percent_filter": lambda query: hybrid(query, RARE),
            # As a question is searched: both at once, fused, the best fetched.
            "find": lambda query: searcher.find(query.text),
        }

    def brute(self) -> Mode:
        # Mapped, not read: processes that search by brute force share one copy.
        vectors: Vectors = np.load(self.folder / "vectors.npy", mmap_mode="r")

        def nearest(query: Query) -> object:
            alike = vectors @ query.vector
            best = np.argpartition(-alike, K)[:K]
            return best[np.argsort(-alike[best])]

        return nearest


def timed(mode: Mode, queries: Sequence[Query]) -> dict[str, list[float]]:
    """Milliseconds per query: on the clock, and of processor time in all threads. On a busy
    machine the second says more."""
    times: dict[str, list[float]] = {"wall": [], "cpu": []}
    for query in queries:
        began, worked = time.perf_counter(), time.process_time()
        mode(query)
        times["wall"].append(1000 * (time.perf_counter() - began))
        times["cpu"].append(1000 * (time.process_time() - worked))
    return times


def compared(
    taken: dict[str, list[float]], brute: dict[str, list[float]]
) -> dict[str, float | dict[str, float]]:
    ours, theirs = spread(taken["wall"], 2), spread(brute["wall"], 2)
    cpu, base = float(np.median(taken["cpu"])), float(np.median(brute["cpu"]))
    return {
        "ms": ours,
        "cpu_p50_ms": round(cpu, 2),
        "to_brute_force": {name: round(ours[name] / theirs[name], 2) for name in ours},
        "cpu_to_brute_force": round(cpu / base, 2),
    }


def alone(folder: Path, count: int) -> dict[str, Any]:
    place = Place.open(folder, count)
    before = resident_mb()
    times = {}
    for name, mode in place.modes().items():
        timed(mode, place.queries[:WARMING])
        times[name] = timed(mode, place.queries)
    after = resident_mb()  # before brute force touches the vectors
    brute = timed(place.brute(), place.queries)
    return {
        "queries": len(place.queries),
        "resident_mb": after,
        "index_resident_mb": after - before,
        "brute_force_ms": spread(brute["wall"], 2),
        "search": {name: compared(taken, brute) for name, taken in times.items()},
        **exactness(place),
    }


def exactness(place: Place) -> dict[str, float]:
    """Of the best ten (or fewer, if no more score) how many are found, and what ties with the last
    of them: by meaning against brute force, plain and filtered, and by words against BM25."""

    def share(scores: Any, found: Sequence[int]) -> float:
        wanted = min(K, int(np.sum(scores > 0)))
        last = np.partition(scores, -wanted)[-wanted] - 1e-5 * np.max(scores) if wanted else 0
        return float(np.sum(scores[list(found)] >= last)) / max(1, wanted)

    held = json.loads((place.folder / "ids.json").read_text("utf-8"))
    at = {one["id"]: number for number, one in enumerate(held)}
    rare = np.array([one["rare"] for one in held])
    vectors = np.load(place.folder / "vectors.npy", mmap_mode="r")
    plain, filtered = [], []
    for query in place.queries:
        alike = vectors @ query.vector
        plain.append(share(alike, [at[hit.id] for hit in place.index.dense(query.vector, K)]))
        hits = place.index.dense(query.vector, K, RARE)
        filtered.append(share(np.where(rare, alike, -2), [at[hit.id] for hit in hits]))
    told = {"recall_at_10": plain, "recall_at_10_filtered": filtered}
    if len(held) <= 200_000:  # the words of every passage are in memory here
        needed = {term for query in place.queries[:50] for term in query.terms}
        entries = {one.id: one.terms for one in place.index.fetch(list(at))}
        reference = ReferenceBm25(entries, only=needed)
        place_of = {name: number for number, name in enumerate(reference.ids)}
        told["lexical_overlap_at_10"] = [
            share(
                reference.scores(query.terms),
                [place_of[hit.id] for hit in place.index.lexical(query.terms, K)],
            )
            for query in place.queries[:50]
        ]
    return {name: round(float(np.mean(values)), 4) for name, values in told.items()}


def reader(folder: Path, number: int, seconds: float) -> None:
    """One of several: told by a line what to search by, it does so for a while and says how long
    each search took."""
    place = Place.open(folder)
    modes = {"hybrid": place.modes()["hybrid"], "brute": place.brute()}
    for mode in modes.values():
        timed(mode, place.queries[:WARMING])
    start = number * len(place.queries) // 8  # not all of them the same question at once
    order = place.queries[start:] + place.queries[:start]
    print("ready", flush=True)
    for line in sys.stdin:
        taken: dict[str, list[float]] = {"wall": [], "cpu": []}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            one = timed(modes[line.strip()], [order[len(taken["wall"]) % len(order)]])
            for name, values in one.items():
                taken[name] += values
        print(json.dumps(taken), flush=True)


def several(folder: Path, count: int, seconds: float) -> dict[str, Any]:
    """So many processes that search at once, then as many that compare every vector."""
    readers = [
        subprocess.Popen(
            [*_command("reader", folder), str(number), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        for number in range(count)
    ]

    def said(one: subprocess.Popen[str], line: str = "") -> str:
        if line and one.stdin:
            one.stdin.write(f"{line}\n")
            one.stdin.flush()
        return one.stdout.readline().strip() if one.stdout and not line else ""

    found: dict[str, dict[str, list[float]]] = {}
    try:
        if any(said(one) != "ready" for one in readers):
            raise SystemExit("a reader did not start")
        for mode in ("hybrid", "brute"):
            for one in readers:
                said(one, mode)
            each = [json.loads(said(one)) for one in readers]
            found[mode] = {key: [v for one in each for v in one[key]] for key in ("wall", "cpu")}
    finally:
        for one in readers:
            one.communicate()
    rate = round(len(found["hybrid"]["wall"]) / seconds, 1)
    return {"searches_per_second": rate, "hybrid": compared(found["hybrid"], found["brute"])}


def cold(folder: Path) -> None:
    """What a fresh process does until its first answer; it says how long the index took."""
    question = "When was the harbour dredged?"
    vector = load_embedder().embed_query(question)
    began = time.perf_counter()
    index = LanceIndex.open(folder / "index", dimensions=len(vector))
    searcher = Searcher(index=index, embedder=Known({question: vector}))  # type: ignore[arg-type]
    hits = searcher.find(question)
    print(json.dumps({"hits": len(hits), "index_seconds": time.perf_counter() - began}))


def cold_start(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds from starting a process to the answer to its first question, median: as it is, and
    after the system has dropped what it keeps of the files in memory, as after a restart."""
    found = {}
    for name in ("cached", "uncached"):
        seconds, index = [], []
        for _ in range(rounds):
            for path in folder.joinpath("index").rglob("*") if name == "uncached" else ():
                if path.is_file() and hasattr(os, "posix_fadvise"):
                    with path.open("rb") as file:
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            began = time.perf_counter()
            done = subprocess.run(_command("cold", folder), check=True, stdout=subprocess.PIPE)
            seconds.append(time.perf_counter() - began)
            index.append(json.loads(done.stdout)["index_seconds"])
        found[f"{name}_seconds"] = round(statistics.median(seconds), 2)
        found[f"{name}_index_seconds"] = round(statistics.median(index), 3)
    return found


def resident_mb() -> int:
    """What this process holds in memory now; where that is not told, the most it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def _command(step: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.scale", "--step", step, "--in", str(folder)]


def measured(size: int, options: Any) -> dict[str, Any]:
    """One size, built if it was not with these vectors."""
    folder, env = FOLDER / str(size), os.environ | ONE_THREAD
    figures = folder / "built.json"
    known = json.loads(figures.read_text("utf-8")) if figures.exists() else {}
    if known.get("real_vectors") != min(size, options.vectors):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run([*_command("build", folder), str(size)], check=True, env=env)
    command = [*_command("alone", folder), str(options.queries)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env).stdout
    return {
        "build": json.loads(figures.read_text("utf-8")),
        "alone": json.loads(said.splitlines()[-1]),
        "readers": {str(count): several(folder, count, options.seconds) for count in READERS},
        "cold_start": cold_start(folder, options.rounds),
    }


# On paper


@dataclass(frozen=True, slots=True)
class Assumed:
    """What nobody measured here: put in your own."""

    passages: int = 100_000_000
    replicas: int = 2
    node_gb: int = 64
    node_cores: int = 16
    usable: float = 0.7
    """Share of a node's memory that passages may fill."""
    embed_core_ms: float = 107.7
    """Of one passage, and of reading and storing it: benchmarks.ingest measures both."""
    parse_core_ms: float = 2.0
    words_bytes: float = 302.0
    """Of the search by words, per passage."""


def planned(sizes: dict[str, Any], assumed: Assumed) -> dict[str, float]:
    """Measured figures per passage times many. Nothing of that size was run. Search time is the
    straight line through the two largest sizes, bytes are those of the largest without copies."""
    ordered = sorted(sizes.values(), key=lambda size: size["build"]["passages"])
    real = [
        one["build"] for one in ordered if one["build"]["real_texts"] == one["build"]["passages"]
    ]
    small, large = ordered[-2:]
    x, y = (one["build"]["passages"] for one in (small, large))
    low, high = (one["alone"]["search"]["hybrid"]["cpu_p50_ms"] for one in (small, large))
    rise = (high - low) / (y - x)
    fixed = low - rise * x
    memory = assumed.passages * (4 * 384 + assumed.words_bytes) / 1e9
    shards = math.ceil(memory / (assumed.node_gb * assumed.usable))
    search = shards * fixed + rise * assumed.passages
    building = sum(large["build"][f"{part}_processor_seconds"] for part in ("add", "compact"))
    hours = assumed.passages / 3.6e6
    return {
        "memory_gb": memory,
        "shards": shards,
        "nodes": shards * assumed.replicas,
        "disk_gb": assumed.passages * assumed.replicas * real[-1]["disk_bytes"]
        / real[-1]["passages"] / 1e9,
        "embed_core_hours": hours * assumed.embed_core_ms,
        "parse_core_hours": hours * assumed.parse_core_ms,
        "index_core_hours": hours * 1000 * building / y,
        "search_core_ms": search,
        "searches_per_second": shards * assumed.replicas * assumed.node_cores * 1000 / search,
    }  # fmt: skip


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sizes", default="20000,200000,700000")
    options.add_argument("--vectors", type=int, default=REAL, help="passages to embed")
    options.add_argument("--queries", type=int, default=QUERIES)
    options.add_argument("--seconds", type=float, default=10, help="of search by several at once")
    options.add_argument("--rounds", type=int, default=5, help="of cold starts")
    options.add_argument("--paper", action="store_true", help="100 million from what was measured")
    options.add_argument("--step", help="of a process that this one starts")
    options.add_argument("--in", dest="folder", type=Path, help="its folder")
    options.add_argument("rest", nargs="*", help="and what else it is told")
    given = options.parse_args()
    if given.paper:
        sizes = json.loads((RESULTS / "scale.json").read_text("utf-8"))["sizes"]
        print(json.dumps(planned(sizes, Assumed()), indent=1))
    elif given.step == "build":
        build(int(given.rest[0]), given.folder)
    elif given.step == "alone":
        print(json.dumps(alone(given.folder, int(given.rest[0]))))
    elif given.step == "reader":
        reader(given.folder, int(given.rest[0]), float(given.rest[1]))
    elif given.step == "cold":
        cold(given.folder)
    else:
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.save(FOLDER / "base.npy", base_vectors(all_rows(), given.vectors))
        texts, model = questions(QUERIES), load_embedder("embedded")
        held = FOLDER / "questions.json"
        if not held.exists() or json.loads(held.read_text("utf-8")) != texts:
            np.save(FOLDER / "questions.npy", np.stack([model.embed_query(one) for one in texts]))
            held.write_text(json.dumps(texts), encoding="utf-8")
        found = {}
        for size in map(int, given.sizes.split(",")):
            found[str(size)] = measured(size, given)
            print(json.dumps({size: found[str(size)]}), flush=True)
        save("scale", {"embedder": model.name, "sizes": found})


if __name__ == "__main__":
    main()
