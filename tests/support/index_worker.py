"""A process that works on an index until it is done or killed; see the conformance suite."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from secondlook.retrieval.index.port import Entry
from tests.support.index_engines import DIMENSIONS, ENGINES, steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.retrieval.index.port import Index

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
