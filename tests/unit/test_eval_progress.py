"""The lines that a running evaluation leaves in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.progress import evaluation_lines as lines
from secondlook.evaluation.runner import Progress
from secondlook.library.report import Progress as Indexed

if TYPE_CHECKING:
    from collections.abc import Iterable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def told(steps: Iterable[tuple[float, Progress]]) -> list[str]:
    said: list[str] = []
    clock = Clock()
    listen = lines(said.append, clock=clock)
    for seconds, progress in steps:
        clock.now += seconds
        listen(progress)
    return said


def indexing(done: int, *, failed: int = 0) -> Progress:
    return Progress(indexed=Indexed("indexing", done, 600, 2 * done, failed=failed))


def test_each_line_says_what_remains() -> None:
    assert told([(1, indexing(0)), (20, indexing(100)), (20, indexing(400, failed=2))]) == [
        "indexing: 100 of 600 documents, 200 passages, about 2 min left",
        "indexing: 400 of 600 documents, 800 passages, 2 failed, about 20 s left",
    ]


def test_answers_of_an_earlier_run_do_not_make_it_look_fast() -> None:
    first = Progress(30, 40, "linear", reused=30)
    then = Progress(32, 40, "linear", failed=1, reused=30)
    assert told([(0, first), (20, then)]) == ["linear: 32 of 40 answers, 1 failed, about 80 s left"]
