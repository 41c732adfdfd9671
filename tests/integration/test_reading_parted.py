"""A reader in two stages: a glance at every passage, a look at those that are chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from secondlook.reading.reader import OnnxReader
from tests.support.parted_reader import built

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Reading
    from secondlook.reading.reader import _Window
    from secondlook.reading.session import Outputs
    from secondlook.reading.weights import Weights

QUESTION = "When was the observatory founded?"
LONG = "The harbour master kept a careful diary of every ship and its cargo. " * 60
PASSAGES = [
    "The observatory was founded in 1847 by a group of merchants.",
    "Bread rises because yeast turns sugar into carbon dioxide.",
    LONG,
    "",
    "A short one.",
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Weights]:
    return built(tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="module")
def looks(weights: dict[str, Weights]) -> list[Reading]:
    """Every passage looked at, in one go."""
    return OnnxReader(weights["parted"]).read(QUESTION, PASSAGES)


class Passing:
    """Counts the passes of every reader."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.glances = self.looks = 0
        glanced, looked = OnnxReader._glanced, OnnxReader._looked

        def glance(reader: OnnxReader, window: _Window) -> _Window:
            self.glances += 1
            return glanced(reader, window)

        def look(reader: OnnxReader, window: _Window) -> tuple[_Window, Outputs]:
            self.looks += 1
            return looked(reader, window)

        monkeypatch.setattr(OnnxReader, "_glanced", glance)
        monkeypatch.setattr(OnnxReader, "_looked", look)


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Passing:
    return Passing(monkeypatch)


def first_two(glances: Sequence[float]) -> list[int]:
    return sorted(range(len(glances)), key=lambda at: -glances[at])[:2]


def test_in_two_stages_and_whole_it_says_the_same_to_the_last_bit(
    weights: dict[str, Weights], looks: list[Reading]
) -> None:
    whole = OnnxReader(weights["whole"]).read(QUESTION, PASSAGES)
    assert [replace(one, glance=None) for one in looks] == whole
    assert all(one.looked and one.glance is not None for one in looks)
    assert looks[2].windows > 2


def test_only_what_is_chosen_is_looked_at(
    weights: dict[str, Weights], looks: list[Reading], passing: Passing
) -> None:
    given: list[float] = []

    def choose(glances: Sequence[float]) -> list[int]:
        given.extend(glances)
        return [4, 0]

    readings = OnnxReader(weights["parted"]).read(QUESTION, PASSAGES, choose=choose)
    assert given == [one.glance for one in looks]
    assert [one.looked for one in readings] == [True, False, False, False, True]
    assert (readings[0], readings[4]) == (looks[0], looks[4])
    for one, look in zip(readings[1:4], looks[1:4], strict=True):
        assert (one.relevance, one.glance) == (look.glance, look.glance)
        assert one.windows == look.windows
        assert (one.start, one.end, one.span_score, one.answerable) == (0, 0, 0.0, 0.0)
    assert passing.looks == 2
    assert passing.glances == 4 + looks[2].windows


def test_what_was_read_is_not_read_again(
    weights: dict[str, Weights], looks: list[Reading], passing: Passing
) -> None:
    reader = OnnxReader(weights["parted"])
    first = reader.read(QUESTION, PASSAGES, choose=first_two)
    counted = (passing.glances, passing.looks)
    assert reader.read(QUESTION, PASSAGES, choose=first_two) == first
    assert (passing.glances, passing.looks) == counted
    assert reader.read(QUESTION, PASSAGES) == looks
    assert reader.read(QUESTION, PASSAGES, choose=first_two) == first
    assert OnnxReader(weights["parted"], remembered=0).read(QUESTION, PASSAGES) == looks


def test_a_whole_reader_looks_at_everything(weights: dict[str, Weights]) -> None:
    reader = OnnxReader(weights["whole"])
    assert not reader.glances
    readings = reader.read(QUESTION, PASSAGES, choose=lambda _: [])
    assert readings == reader.read(QUESTION, PASSAGES)
    assert all(one.looked and one.glance is None for one in readings)


CLAIMS = [
    ("The observatory is old.", PASSAGES[0]),
    ("Bread rises.", PASSAGES[1]),
    ("The harbour master wrote a diary.", LONG),
]


def test_it_judges_claims_in_two_stages_as_in_one(weights: dict[str, Weights]) -> None:
    parted, whole = OnnxReader(weights["parted"]), OnnxReader(weights["whole"], threads=1)
    logits = parted.judge(CLAIMS)
    assert parted.judges
    assert logits == whole.judge(CLAIMS)
    assert logits == [parted.judge([pair])[0] for pair in CLAIMS]
    assert parted.judge([*CLAIMS[::-1], CLAIMS[0]]) == [*logits[::-1], logits[0]]
    assert len(set(logits)) == 3
    assert parted.judge([]) == []
