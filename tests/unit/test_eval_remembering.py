"""What an evaluation remembers of a reader changes nothing but the time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.evaluation import cache as remembering
from secondlook.evaluation.cache import SAVED, Memory, RememberingReader, Saved
from secondlook.reading.port import Reading, glimpse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from secondlook.reading.port import Choose

GLANCE, LOOK = 1.0, 2.0


@dataclass(slots=True)
class Clock:
    """Time passes only where a reader works."""

    now: float = 0.0

    def perf_counter(self) -> float:
        return self.now


@dataclass(slots=True)
class Numbers:
    """Reads numbers: the glance sees the first digit, the look the whole number."""

    clock: Clock
    at_once: bool = False
    name: str = "numbers@1"
    judges: bool = True
    passes: list[str] = field(default_factory=list)

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        if self.at_once:
            return [self._look(question, passage) for passage in passages]
        glances = [float(passage[0]) for passage in passages]
        self.passes += [f"glance {passage}" for passage in passages]
        self.clock.now += GLANCE * len(passages)
        places = range(len(passages)) if choose is None else choose(glances)
        chosen = {passages[at] for at in places}
        looks = {passage: self._look(question, passage) for passage in chosen}
        return [
            looks.get(passage) or glimpse(glance, windows=2)
            for passage, glance in zip(passages, glances, strict=True)
        ]

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        self.passes += [f"judge {claim}" for claim, _ in claims]
        self.clock.now += LOOK * len(claims)
        return [len(claim) - len(evidence) for claim, evidence in claims]

    def _look(self, question: str, passage: str) -> Reading:
        self.passes.append(f"look {passage}")
        self.clock.now += LOOK
        glance = None if self.at_once else float(passage[0])
        scores = (float(passage), float(len(question)), 1, 2, 0.5, -0.5)
        return Reading(*scores, windows=2, glance=glance)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(remembering, "time", clock)
    return clock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(tmp_path / "kept.sqlite")
    yield made
    made.close()


def best(count: int) -> Choose:
    def choose(glances: Sequence[float]) -> list[int]:
        return sorted(range(len(glances)), key=lambda at: (-glances[at], at))[:count]

    return choose


calls = st.lists(
    st.tuples(
        st.sampled_from(["who", "what"]),
        st.lists(st.integers(100, 130).map(str) | st.integers(300, 330).map(str), max_size=6),
        st.none() | st.integers(0, 4),
    ),
    max_size=6,
)


@settings(deadline=None)
@given(calls, st.booleans())
def test_with_and_without_memory_a_reader_says_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[tuple[str, list[str], int | None]],
    at_once: bool,
) -> None:
    memory = Memory(tmp_path_factory.mktemp("memory") / "kept.sqlite")
    plain, counted = Numbers(Clock(), at_once), Numbers(Clock(), at_once)
    remembering_reader = RememberingReader(counted, memory)
    for question, passages, count in asked:
        choose = None if count is None else best(count)
        expected = plain.read(question, passages, choose=choose)
        assert remembering_reader.read(question, passages, choose=choose) == expected
    done = [one for one in counted.passes if one.startswith("look")]
    assert len(done) <= 2 * len(set(done))  # twice at most: two questions
    memory.close()


def test_nothing_is_read_twice_and_what_it_took_is_counted(clock: Clock, memory: Memory) -> None:
    reader = Numbers(clock)
    passages = ["100", "200", "300"]
    saved = Saved()
    token = SAVED.set(saved)
    try:
        remembered = RememberingReader(reader, memory)
        first = remembered.read("who", passages, choose=best(1))
        assert (clock.now, saved.seconds) == (3 * GLANCE + LOOK, 0.0)
        assert remembered.read("who", passages, choose=best(1)) == first
        assert (clock.now, saved.seconds) == (3 * GLANCE + LOOK, 3 * GLANCE + LOOK)
    finally:
        SAVED.reset(token)
    assert reader.passes == ["glance 100", "glance 200", "glance 300", "look 300"]
    assert (memory.reader.made, memory.reader.remembered) == (3, 3)
