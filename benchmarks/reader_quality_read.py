"""Every reader on the candidates of every question, question by question; resumable."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.retrieval.fusion import best_looks
from secondlook.retrieval.search import DEFAULT_OPTIONS, read_in_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.reader_quality_store import Passage, Question, Store
    from secondlook.reading.port import Reader, Reading

_TELL_EVERY = 10.0


@dataclass(frozen=True, slots=True)
class Competitor:
    """A reader in the comparison, under the name that the figures give it."""

    label: str
    reader: Reader
    looks: int | None
    """How many candidates it reads to the end; None = all."""

    @property
    def identity(self) -> str:
        """Whose readings they are: of the same weights, looking at as many."""
        return f"{self.reader.name}/{'all' if self.looks is None else self.looks}"

    def read(self, question: Question, texts: Mapping[str, Passage]) -> list[Reading]:
        given = [texts[one.passage] for one in question.found]
        choose = None
        if self.looks is not None:
            fusion = [one.fusion_score for one in question.found]
            choose = best_looks(fusion, blend=DEFAULT_OPTIONS.blend, looks=self.looks)
        return read_in_context(
            self.reader,
            question.question,
            [(one.title, one.heading, one.text) for one in given],
            choose=choose,
        )


def read_all(
    store: Store,
    competitors: Sequence[Competitor],
    wanted: Mapping[str, int],
    *,
    seconds: float,
    tell: Callable[[str], None],
) -> None:
    """Read for so long at most; what is still missing is read by the next call."""
    for one in competitors:
        store.name_reader(one.label, one.identity)
    texts = store.texts()
    done = {one.label: store.done(one.identity) for one in competitors}
    queue = [
        (
            question,
            [one for one in competitors if (question.data, question.id) not in done[one.label]],
        )
        for question in _fairly(store, wanted)
    ]
    queue = [(question, missing) for question, missing in queue if missing]
    told = _Told(tell, total=len(queue))
    if queue:
        for one in competitors:  # the first pass of a process is slower than any other
            one.read(queue[0][0], texts)
    for at, (question, missing) in enumerate(queue):
        if told.elapsed > seconds:
            break
        # Load from elsewhere hits all readers alike, and none always comes second.
        for one in missing if at % 2 else reversed(missing):
            readings, took = _timed(one, question, texts)
            store.keep(one.identity, question, readings, took if len(missing) > 1 else None)
        told.advance(question.data)
    told.finish()


def time_all(
    store: Store,
    competitors: Sequence[Competitor],
    questions: Sequence[Question],
    *,
    tell: Callable[[str], None],
) -> None:
    """Read these questions once more, only to take the time of all readers side by side."""
    texts, told = store.texts(), _Told(tell, total=len(questions))
    for one in competitors:
        store.name_reader(one.label, one.identity)
        one.read(questions[0], texts)
    for at, question in enumerate(questions):
        for one in competitors if at % 2 else reversed(competitors):
            store.keep(one.identity, question, *_timed(one, question, texts))
        told.advance(question.data)
    told.finish()


def _timed(
    one: Competitor, question: Question, texts: Mapping[str, Passage]
) -> tuple[list[Reading], float]:
    began = time.perf_counter()
    readings = one.read(question, texts)
    return readings, time.perf_counter() - began


@dataclass(slots=True)
class _Told:
    tell: Callable[[str], None]
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def advance(self, data: str) -> None:
        self.done += 1
        if time.monotonic() - self.last >= _TELL_EVERY:
            self.last = time.monotonic()
            left = self.elapsed / self.done * (self.total - self.done)
            self.tell(f"{self.done} of {self.total} questions ({data}), {left / 60:.0f} min left")

    def finish(self) -> None:
        self.tell(f"read {self.done} of {self.total} questions in {self.elapsed / 60:.1f} min")


def _fairly(store: Store, wanted: Mapping[str, int]) -> Iterator[Question]:
    """All sets at the same pace, whatever their sizes."""
    asked = {name: store.questions(name, most) for name, most in wanted.items()}
    paced = [
        ((at + 0.5) / len(questions), question)
        for questions in asked.values()
        for at, question in enumerate(questions)
    ]
    return (question for _, question in sorted(paced, key=lambda item: item[0]))
