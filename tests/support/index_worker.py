"""A process that works on an index until it is done or killed; see the conformance suite."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.milvus import MilvusIndex
from secondlook.retrieval.index.port import Entry, Index
from tests.support import milvus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

DIMENSIONS = 8


def _milvus(path: Path, dimensions: int) -> MilvusIndex:
    name = milvus.name_for(path)
    return MilvusIndex.open(milvus.address(), name, dimensions=dimensions, create=True)


ENGINES: dict[str, Callable[[Path, int], Index]] = {
    "lance": lambda path, dimensions: LanceIndex.open(path, dimensions=dimensions, create=True),
    "milvus": _milvus,
}
"""How to open each engine's index in a folder, making it if need be."""
SLOW = {"milvus"}
"""Engines whose server for tests is a hundred times slower than the one for work."""
COUNTS_WORDLESS = {"milvus"}
"""Engines whose BM25 counts passages without any term among all passages."""
DISKS: dict[str, Callable[[Path], Path]] = {
    "lance": lambda path: path,
    "milvus": lambda _: milvus.folder(),
}
"""The folder under which an index that was opened at a path keeps its bytes."""

DOCUMENTS = ("plain", "it's", "''; --", 'q"uo\\te', "日本語", "a b\tc", "%25;x", "é" * 40, "{}")
LABELS = ("lang=en", "who=O'Brien", 'tag="x"', "путь=/a\\b", "k=")
WORDS = (*"abcdefgh", "two words", "50%", "naïve", "検索", "o'clock", "x" * 200, "A", "new\nline")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a writer does."""

    kind: Literal["add", "delete", "compact", "purge"]
    entries: tuple[Entry, ...] = ()
    vectors: Vectors | None = None
    documents: tuple[str, ...] = ()
    """Replaced by an add, or deleted."""

    def apply(self, index: Index) -> None:
        if self.kind == "add":
            assert self.vectors is not None
            index.add(self.entries, self.vectors, replacing=self.documents)
        elif self.kind == "delete":
            index.delete(self.documents)
        else:
            index.compact(purge=self.kind == "purge")


def steps(seed: int) -> Iterator[Step]:
    """The same endless work for the same seed."""
    chance = random.Random(seed)
    while True:
        yield random_step(chance)


def random_step(chance: random.Random) -> Step:
    kind = chance.choices(("add", "delete", "compact", "purge"), (6, 2, 1, 1))[0]
    documents = tuple(chance.sample(DOCUMENTS, chance.randint(0, 2)))
    if kind != "add":
        return Step(kind, documents=documents)  # type: ignore[arg-type]
    added = chance.sample(DOCUMENTS, chance.randint(0, 3))
    entries = tuple(entry for document in added for entry in random_entries(chance, document))
    return Step("add", entries, random_vectors(chance, len(entries)), documents)


def random_entries(chance: random.Random, document: str, most: int = 5) -> Iterator[Entry]:
    for place in range(chance.randint(0, most)):
        words = chance.choices(WORDS, k=chance.randint(0, 12))
        yield Entry(
            id=f"{document}#{chance.randint(0, 1)}:{place}",
            document=document,
            text=" ".join(words) + chance.choice(("", "\n'\"\\", "\U0001f600")),
            terms=tuple(words),
            start=place * 10,
            end=place * 10 + len(words),
            page=chance.choice((None, 0, 7)),
            heading=tuple(chance.choices(WORDS, k=chance.randint(0, 2))),
            labels=tuple(chance.sample(LABELS, chance.randint(0, 3))),
        )


def random_vectors(chance: random.Random, count: int, dimensions: int = DIMENSIONS) -> Vectors:
    """Unit vectors from a small stock, so that some are equal and ties happen."""
    rows = [_stock(chance.randint(0, 30), dimensions) for _ in range(count)]
    return np.stack(rows) if rows else np.zeros((0, dimensions), dtype=np.float32)


def _stock(number: int, dimensions: int) -> Vectors:
    row = np.random.default_rng(number).standard_normal(dimensions)
    return (row / np.linalg.norm(row)).astype(np.float32)


GENERATION_SIZE = 40


def main() -> None:
    role, engine, path, *rest = sys.argv[1:]
    index = ENGINES[engine](Path(path), DIMENSIONS)
    _say("open")
    numbers = [int(value) for value in rest]
    ROLES[role](index, *numbers)


def _work(index: Index, seed: int, skipped: int) -> None:
    """Take step after step, saying so before and after each."""
    for number, step in enumerate(islice(steps(seed), skipped, None), start=skipped):
        _say(f"begin {number}")
        step.apply(index)
        _say(f"end {number}")


def generation(number: int) -> list[Entry]:
    """What a library looks like after commit `number`: everything in it bears that number."""
    return [
        Entry(f"{number}/{place}", f"d{place % 4}", str(number), ("word", f"g{number}"), 0, 1)
        for place in range(GENERATION_SIZE)
    ]


def _write_generations(index: Index, count: int) -> None:
    vectors = np.tile(np.eye(1, DIMENSIONS, dtype=np.float32), (GENERATION_SIZE, 1))
    for number in range(count):
        index.add(generation(number), vectors)
        if number % 5 == 4:
            index.compact(purge=number % 10 == 9)
        _say(f"wrote {number}")


def _read(index: Index, last: int) -> None:
    """Read until the last generation shows, failing on any half-made state."""
    vector = np.eye(1, DIMENSIONS, dtype=np.float32)[0]
    seen = -1
    while seen < last:
        found = index.dense(vector, GENERATION_SIZE, exact=True)
        numbers = {int(hit.id.split("/")[0]) for hit in found}
        assert len(numbers) <= 1, f"a read saw generations {numbers}"
        assert len(found) in {0, GENERATION_SIZE}, f"a read saw {len(found)} entries"
        assert len(index.lexical(["word"], 100)) in {0, GENERATION_SIZE}
        assert sum(index.documents().values()) in {0, GENERATION_SIZE}
        assert not numbers or max(numbers) >= seen, "a read went back in time"
        seen = max(numbers, default=seen)
    _say(f"saw {seen}")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the parent process reads it


ROLES: dict[str, Callable[..., None]] = {
    "work": _work,
    "generations": _write_generations,
    "read": _read,
}

if __name__ == "__main__":
    main()
