"""What every engine behind the `Index` port must do, judged by a brute-force oracle."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from secondlook.errors import UsageError
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, Index, Scored
from tests.support.index_worker import (
    COUNTS_WORDLESS,
    DIMENSIONS,
    DISKS,
    DOCUMENTS,
    ENGINES,
    LABELS,
    SLOW,
    WORDS,
    Step,
    random_step,
    random_vectors,
    steps,
)
from tests.support.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Open = Callable[[], Index]

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
ROOT = Path(__file__).parents[2]


def rounds(most: int, *, soak: int, slow: int) -> list[tuple[str, int]]:
    """Each engine with each of its seeds."""
    counts = {name: soak if SOAK else slow if name in SLOW else most for name in ENGINES}
    return [(name, seed) for name, count in counts.items() for seed in range(count)]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(engine: str, tmp_path: Path) -> Open:
    return lambda: ENGINES[engine](tmp_path / "index", DIMENSIONS)


@pytest.fixture
def oracle(engine: str) -> Oracle:
    return Oracle(wordless=engine in COUNTS_WORDLESS)


def apply_to_oracle(oracle: Oracle, step: Step) -> None:
    if step.kind == "add":
        assert step.vectors is not None
        oracle.add(step.entries, step.vectors, step.documents)
    elif step.kind == "delete":
        oracle.delete(step.documents)


def random_filter(chance: random.Random, oracle: Oracle) -> Filter:
    documents = frozenset(chance.sample(DOCUMENTS, chance.randint(0, 6)))
    held = sorted(oracle.entries)
    return Filter(
        documents=chance.choice((None, None, documents)),
        labels=frozenset(chance.sample(LABELS, chance.choice((0, 0, 1, 2)))),
        excluded=frozenset(chance.sample(held, chance.randint(0, len(held)))),
    )


def assert_holds(index: Index, oracle: Oracle) -> None:
    """Live documents, entries and vectors, and nothing that is gone."""
    assert index.documents() == oracle.documents()
    ids = sorted(oracle.entries)
    assert index.fetch([*ids, "never held"]) == [oracle.entries[id_] for id_ in ids]
    vectors = index.vectors(ids)
    assert sorted(vectors) == ids
    assert all(np.array_equal(vectors[id_], oracle.held[id_]) for id_ in ids)


def assert_same_ranking(found: Sequence[Scored], wanted: Sequence[Scored], k: int) -> None:
    """Equal scores place by place, and each id with the score it deserves."""
    deserved = {hit.id: hit.score for hit in wanted}
    assert {hit.id for hit in found} <= set(deserved)
    assert len({hit.id for hit in found}) == len(found) == min(k, len(wanted))
    scores = [hit.score for hit in found]
    assert scores == pytest.approx([hit.score for hit in wanted[:k]], abs=1e-4)
    assert scores == pytest.approx([deserved[hit.id] for hit in found], abs=1e-4)
    assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.id))


def assert_searches(index: Index, oracle: Oracle, chance: random.Random, *, exact: bool) -> None:
    """Exact dense search always agrees; the lexical ranking does after a compaction, before it
    at least the set of what may be found is right."""
    for where in (EVERYTHING, random_filter(chance, oracle), random_filter(chance, oracle)):
        k = chance.randint(1, 12)
        vector = random_vectors(chance, 1)[0]
        dense = oracle.dense(vector, where)
        assert_same_ranking(index.dense(vector, k, where, exact=True), dense, k)
        assert_same_ranking(index.dense(vector, k, where), dense, k)
        query = chance.choices(WORDS, k=chance.randint(0, 5))
        found, wanted = index.lexical(query, k, where), oracle.lexical(query, where)
        if exact:
            assert_same_ranking(found, wanted, k)
        else:
            assert {hit.id for hit in found} <= {hit.id for hit in wanted}
            assert len(found) == min(k, len(wanted))


@pytest.mark.parametrize(("engine", "seed"), rounds(3, soak=200, slow=1))
def test_any_sequence_of_work_equals_the_oracle(opened: Open, oracle: Oracle, seed: int) -> None:
    chance, index = random.Random(seed), opened()
    for _ in range(18):
        if chance.random() < 0.15:
            index = opened()
        step = random_step(chance)
        step.apply(index)
        apply_to_oracle(oracle, step)
        assert_holds(index, oracle)
        assert_searches(index, oracle, chance, exact=step.kind in {"compact", "purge"})


def worker(engine: str, path: Path, role: str, *numbers: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.index_worker", role, engine, str(path)]
    return subprocess.Popen(
        [*command, *map(str, numbers)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_somewhere(process: subprocess.Popen[str], chance: random.Random) -> list[str]:
    """Kill it a random while after a random line it said; all lines it said."""
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [process.stdout.readline() for _ in range(chance.randint(1, 14))]
    try:
        process.wait(timeout=chance.random() * 0.08)
    except subprocess.TimeoutExpired:
        process.kill()
    # Not communicate(): what readline has read ahead would be lost to it.
    rest, complaint = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    process.wait()
    assert not complaint
    return [*lines, *rest.splitlines()]


@pytest.mark.parametrize("seed", range(10 if SOAK else 1))
def test_a_killed_writer_leaves_each_commit_whole_or_undone(
    engine: str, opened: Open, oracle: Oracle, tmp_path: Path, seed: int
) -> None:
    chance, done = random.Random(seed), 0
    for _ in range(12 if SOAK else 1 if engine in SLOW else 3):
        process = worker(engine, tmp_path / "index", "work", seed, done)
        finished = sum(line.startswith("end") for line in kill_somewhere(process, chance))
        for step in islice(steps(seed), done, done + finished):
            apply_to_oracle(oracle, step)
        done += finished
        index = opened()
        in_flight = next(islice(steps(seed), done, None))
        if index.documents() != oracle.documents() or not holds(index, oracle):
            apply_to_oracle(oracle, in_flight)
            done += 1
        assert_holds(index, oracle)
        assert_searches(index, oracle, chance, exact=False)
    index.compact()
    assert_searches(index, oracle, chance, exact=True)


def holds(index: Index, oracle: Oracle) -> bool:
    ids = sorted(oracle.entries)
    return index.fetch(ids) == [oracle.entries[id_] for id_ in ids]


def test_two_readers_see_whole_commits_while_one_writes(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "index"
    count = 6 if engine in SLOW else 200 if SOAK else 20
    ENGINES[engine](path, DIMENSIONS)
    crew = [
        worker(engine, path, "generations", count),
        worker(engine, path, "read", count - 1),
        worker(engine, path, "read", count - 1),
    ]
    ends = [process.communicate(timeout=60) for process in crew]
    assert [complaint for _, complaint in ends] == ["", "", ""]
    assert ends[1][0].splitlines()[-1] == f"saw {count - 1}"


def an_entry(id_: str, document: str = "d", **changes: object) -> Entry:
    values: dict[str, object] = {"text": "a", "terms": ("a",), "start": 0, "end": 1}
    return Entry(id=id_, document=document, **(values | changes))  # type: ignore[arg-type]


def some_vectors(count: int, dimensions: int = DIMENSIONS, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions))
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def test_what_cannot_be_stored_is_refused_before_anything_changes(opened: Open) -> None:
    index = opened()
    with pytest.raises(UsageError, match="same id"):
        index.add([an_entry("1"), an_entry("1")], some_vectors(2))
    with pytest.raises(UsageError, match="dimensions"):
        index.add([an_entry("1")], some_vectors(1, 5))
    with pytest.raises(UsageError, match="unit length"):
        index.add([an_entry("1")], some_vectors(1) * 2)
    with pytest.raises(UsageError, match="unit length"):
        index.add([an_entry("1")], some_vectors(1) * np.float32("nan"))
    assert index.documents() == {}


def test_approximate_search_finds_what_exact_search_finds(engine: str, tmp_path: Path) -> None:
    count, dimensions = 600 if engine in SLOW else 60_000 if SOAK else 12_000, 64
    index = ENGINES[engine](tmp_path / "index", dimensions)
    chance = np.random.default_rng(5)
    centres = chance.standard_normal((count // 60, dimensions))
    rows = centres[chance.integers(0, len(centres), count)]
    rows = rows + 0.6 * chance.standard_normal((count, dimensions))
    vectors: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    labels = (("rare=no",), ("rare=yes",))
    for start in range(0, count, 5000):
        entries = [
            an_entry(f"p{number}", f"d{number // 50}", labels=labels[number % 20 == 0])
            for number in range(start, min(count, start + 5000))
        ]
        index.add(entries, vectors[start : start + 5000])
    index.compact()
    index.add([an_entry("late", "late")], -vectors[:1])
    assert index.dense(-vectors[0], 1)[0].id == "late"
    excluded = frozenset(f"p{number}" for number in range(0, count // 5, 20))
    rare, one = Filter(labels=frozenset({"rare=yes"})), Filter(documents=frozenset({"d3"}))
    for where in (EVERYTHING, Filter(excluded=excluded), rare, one):
        assert recall(index, vectors, where) >= 0.95


def recall(index: Index, vectors: Vectors, where: Filter) -> float:
    shares = []
    for number in range(0, len(vectors) // 5, max(20, len(vectors) // 100)):
        exact = {hit.id for hit in index.dense(vectors[number], 10, where, exact=True)}
        found = {hit.id for hit in index.dense(vectors[number], 10, where)}
        assert len(found) == len(exact) == 10
        shares.append(len(exact & found) / 10)
    return float(np.mean(shares))


def secrets(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [f"{chance.getrandbits(120):030x}" for _ in range(count)]


def bytes_under(path: Path) -> bytes:
    return b"\n".join(_content(file) for file in sorted(path.rglob("*")) if file.is_file())


def _content(file: Path) -> bytes:
    """Milvus packs its files: words in them are looked for in what they unpack to."""
    raw = file.read_bytes()
    if file.suffix == ".parquet":
        raw += repr(pq.read_table(file).to_pylist()).encode()
    return raw


@pytest.mark.parametrize("compacted", [False, True] if SOAK else [True])
def test_a_purge_leaves_no_byte_of_what_was_deleted(
    engine: str, opened: Open, tmp_path: Path, *, compacted: bool
) -> None:
    index, disk = opened(), DISKS[engine](tmp_path)
    told, kept = secrets(1, 200), secrets(2, 200)
    for place in range(0, 200, 50):
        for words, document in ((told, "gone"), (kept, "kept")):
            index.add(
                [
                    an_entry(f"id{word}", f"{document}{place}", text=word, terms=(f"t{word}",),
                             labels=(f"l={word}",))
                    for word in words[place : place + 50]
                ],
                some_vectors(50),
            )  # fmt: skip
    if compacted:
        index.compact()
    before = bytes_under(disk)
    assert all(word.encode() in before for word in told)
    index.delete([f"gone{place}" for place in range(0, 200, 50)])
    index.compact(purge=True)
    after = bytes_under(disk)
    assert not [word for word in told if word.encode() in after]
    assert all(word.encode() in after for word in kept)
    assert index.documents() == {f"kept{place}": 50 for place in range(0, 200, 50)}
