"""The comparison of readers: what is kept, how it is decoded, what the figures mean."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.reader_quality import (
    RISKS,
    Sample,
    answers,
    apart,
    calibration_error,
    chooses,
    fit,
    graded,
    judged,
    report,
    side_by_side,
)
from benchmarks.readings import (
    Competitor,
    Read,
    Store,
    case_of,
    held,
    hybrid,
    read_all,
    without_answer,
)
from secondlook.reading.calibration import read_calibration
from secondlook.reading.logistic import Outcome
from secondlook.reading.port import Reading, glimpse
from tests.support.reader_quality import ARTICLES, SKILL, made_store

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


def test_what_is_kept_comes_back_whole(read: Read) -> None:
    store = read.store
    question = store.questions("squad2-dev")[0]
    assert question.gold
    assert question.found[0].dense_rank == 1
    kept = store.read(SKILL["shipped"][0], "squad2-dev")[question.id]
    assert len(kept) == len(question.found)
    assert [one.looked for one in kept] == [True] * 8 + [False] * 4
    assert kept[-1].glance == kept[-1].relevance
    assert store.texts()[question.found[0].passage].title == "Ferries"


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


def test_passages_only_glanced_at_give_no_answer(read: Read) -> None:
    case = read.of("squad2-dev")["shipped"][0]
    assert len(case.best) == 5
    assert len(case.gold) == 5
    glanced = replace(read.store.questions("squad2-dev")[0], id="none")
    assert case_of(glanced, [glimpse(1.0)] * len(glanced.found), read.texts).best == ()


def test_the_better_reader_is_shown_as_better(read: Read) -> None:
    found = answers(held(read.of("squad2-dev")))
    assert found["questions"] == 60
    assert found["f1"]["shipped"]["value"] > found["f1"]["reader-12"]["value"]
    assert found["f1"]["difference"]["low"] > 0
    assert found["recall@1"]["difference"]["difference"] > 0


def test_without_its_gold_passage_a_question_has_no_answer_and_others_move_up(read: Read) -> None:
    questions = [one for one in read.store.questions("squad2-dev") if one.answerable]
    known = read.store.read(SKILL["shipped"][0], "squad2-dev")
    robbed = read.robbed("squad2-dev", "shipped")
    assert len(robbed) == len(questions)
    left, readings = without_answer(questions[0], known[questions[0].id])
    first = case_of(left, readings, read.texts)
    assert not first.answerable
    assert not first.found
    assert not first.retrieval
    assert first.question.found[0].dense_rank == 1
    assert first.question.found[0].fusion_score == pytest.approx(1.0)
    assert not any(first.gold)


def test_the_order_of_the_searches_alone(read: Read) -> None:
    question = read.store.questions("scifact")[1]
    assert hybrid(question)["recall@1"] == 1.0
    assert hybrid(replace(question, answerable=False)) == {}


def test_kinds_are_kept_in_the_proportion_of_the_set(tmp_path: Path) -> None:
    store = made_store(tmp_path / "a.db", questions=40)
    identity = "half@0000/all"
    for question in store.questions("squad2-dev"):
        if question.answerable or int(question.id[1:]) < 10:
            kept = store.read(SKILL["reader-12"][0], "squad2-dev")[question.id]
            store.keep(identity, question, kept)
    store.name_reader("half", identity)
    read = Read(store, ("half",))
    assert len(read.of("squad2-dev")["half"]) == 25
    mixed = read.mixed("squad2-dev")["half"]
    assert sum(case.answerable for case in mixed) == sum(not case.answerable for case in mixed) == 5


def test_calibration_error_has_bins_of_equal_size() -> None:
    p, right = np.linspace(0, 1, 100), np.zeros(100)
    assert calibration_error(p, right) == pytest.approx(0.5)
    assert calibration_error(np.full(10, 0.3), np.array([1.0] * 3 + [0.0] * 7)) > 0
    assert calibration_error(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0


def test_a_difference_says_what_it_cannot_exclude() -> None:
    rng = np.random.default_rng(3)
    base = rng.random(500)
    better = base + 0.02 + rng.normal(0, 0.05, 500)
    found = side_by_side({"new": better.tolist(), "old": base.tolist()})["difference"]
    assert found["low"] < found["bound"] < found["difference"] == pytest.approx(0.02, abs=0.01)
    positive = rng.random(500) < 0.5
    told = apart({"new": base + positive, "old": base}, {"new": positive, "old": positive})
    assert told["difference"]["low"] > 0


def made_sample(size: int, *, informed: float = 2.0) -> Sample:
    rng = np.random.default_rng(8)
    x = rng.normal(size=size)
    right = rng.random(size) < 1 / (1 + np.exp(-informed * x))
    rows = [
        {"margin": float(one), "answerable": float(rng.normal()), "fusion": float(rng.random())}
        for one in x
    ]
    return Sample(
        tuple(Outcome(row, right=bool(good)) for row, good in zip(rows, right, strict=True)),
        tuple(f"article {at % 20}" for at in range(size)),
    )


def test_promises_hold_where_the_questions_are_alike() -> None:
    found = judged(made_sample(3000))
    assert found["ece_mean"] < 0.04
    assert {float(risk) for risk in found["risk"]} == set(RISKS)
    coverages = [found["risk"][str(risk)]["coverage"] for risk in RISKS]
    assert coverages == sorted(coverages)
    promise = found["risk"]["0.2"]
    assert promise["exceeded"] <= 2
    assert 0 < promise["coverage"] <= promise["coverage_knowing"] + 0.1


def test_articles_lie_on_one_side_only() -> None:
    sides = {chooses(f"article {at}") for at in range(ARTICLES)}
    assert sides == {True, False}


def test_grades_are_made_on_one_half_and_judged_on_the_other(read: Read) -> None:
    found = graded(read.of("squad2-dev")["shipped"])
    assert found["precision"] > 0.8
    assert found["recall"] > 0.7
    assert 0 < found["gold"] < found["pairs"]


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


def test_one_reader_alone_is_reported_without_a_comparison(read: Read, tmp_path: Path) -> None:
    alone = Read(read.store, ("shipped",))
    found = report(alone, tmp_path / "report.json")
    assert "difference" not in found["answers"]["f1"]


def test_nothing_read_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.name_reader("shipped", "new@0000/8")
    with pytest.raises(SystemExit, match="read first"):
        report(Read(store, ("shipped",)))
    with pytest.raises(SystemExit, match="read first"):
        fit(Read(store, ("shipped",)), "shipped")
