"""The reader as it was given, an export that nobody fused, run as fast as it can be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reading_speed import session
from secondlook.reading.session import Workers, allowed_cores
from secondlook.reading.wordpieces import CLS, SEP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Pair = tuple[list[int], list[int]]
    """Tokens of a question and of a window of a passage."""

BATCHES = (1, 2, 4, 8)


class Given:
    """One way to run it: how many pairs share a pass, and how passes share the cores."""

    def __init__(self, file: Path, *, batch: int, wide: bool) -> None:
        self._batch = batch
        self._opened = session(str(file), threads=allowed_cores() if wide else 1)
        self._workers = Workers(1 if wide else allowed_cores())

    def run(self, pairs: Sequence[Pair]) -> list[Any]:
        ordered = sorted(pairs, key=lambda pair: -len(pair[0]) - len(pair[1]))
        batches = [ordered[at : at + self._batch] for at in range(0, len(ordered), self._batch)]
        return self._workers.map(self._pass, batches)

    def _pass(self, pairs: Sequence[Pair]) -> Any:
        return self._opened.run(None, _feed(pairs))


def ways(file: Path) -> dict[str, Callable[[Sequence[Pair]], Any]]:
    """Every way that is tried, by name."""
    return {
        f"given, batches of {batch}, {how}": partial(Given.run, Given(file, batch=batch, wide=wide))
        for batch in BATCHES
        for wide, how in ((True, "all threads in a pass"), (False, "passes side by side"))
    }


def _feed(pairs: Sequence[Pair]) -> dict[str, NDArray[np.int64]]:
    longest = max(len(question) + len(passage) for question, passage in pairs) + 3
    ids = np.zeros((len(pairs), longest), np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, (question, passage) in enumerate(pairs):
        tokens = [CLS, *question, SEP, *passage, SEP]
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        types[row, len(question) + 2 : len(tokens) - 1] = 1
    return {"ids": ids, "mask": mask, "tt": types}
