"""The comparison of readers: what is kept, how it is decoded, what the figures mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.reader_quality import (
    fit,
    report,
)
from benchmarks.readings import (
    Competitor,
    Read,
    read_all,
)
from secondlook.reading.calibration import read_calibration
from secondlook.reading.port import Reading
from tests.support.reader_quality import SKILL, made_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.reading.port import Choose


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    return Read(made_store(tmp_path_factory.mktemp("store") / "readings.db"), tuple(SKILL))


class Counting:
    """A reader that says how long each text is, and counts what it was given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @property
    def name(self) -> str:
        return "counting@0000"

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        self.seen.append(question)
        kept = set(range(len(passages))) if choose is None else set(choose([0.0] * len(passages)))
        return [
            Reading(float(len(text)), 0.0, 9, 12, 1.0, 0.0, looked=at in kept)
            for at, text in enumerate(passages)
        ]


def test_reading_is_resumed_and_glances_leave_the_rest_unread(tmp_path: Path) -> None:
    store, reader = made_store(tmp_path / "a.db", questions=8), Counting()
    one = Competitor("shipped", reader, 3)
    wanted = {"squad2-dev": 8, "clapnq": 2}
    read_all(store, [one], wanted, seconds=0.0)
    assert store.done(one.identity) == set()
    read_all(store, [one], wanted, seconds=60.0)
    assert len(store.done(one.identity)) == 10
    passes = len(reader.seen)
    read_all(store, [one], wanted, seconds=60.0)
    assert len(reader.seen) == passes
    kept = store.read(one.identity, "squad2-dev")
    assert {sum(reading.looked for reading in read) for read in kept.values()} == {3}
    # The reader sees title and text; spans count from the text.
    assert {reading.start for read in kept.values() for reading in read} == {0}


def test_report_and_fit_of_what_was_read(read: Read, tmp_path: Path) -> None:
    found = report(read, tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["readers"] == found["readers"]
    assert set(found["elsewhere"]) == {"shift-new_wiki", "hotpot", "scifact", "clapnq"}
    assert found["elsewhere"]["scifact"]["hybrid"]["shipped"]["difference"]["difference"] > 0
    assert found["calibration"]["area below"]["value"] > 0
    fitted = fit(
        read, "shipped", file=tmp_path / "calibration.json", results=tmp_path / "fitted.json"
    )
    calibration = read_calibration(tmp_path / "calibration.json", reader="new@0000")
    assert 0 < calibration.min_web_quality <= calibration.min_quality < 1
    assert calibration.risk is not None
    assert dict(calibration.choice) == fitted["made"]["choice"]
    assert fitted["searches"]["hotpot"]["auroc_taken_out"] > 0.8
    assert fitted["answers"]["squad2-dev"]["questions"] == 120
