"""The whole preparation on a small data folder: its rows, its bytes, and what it must refuse."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.training_sets import write_sets
from training import prepare
from training.data.leakage import Guard
from training.data.report import Leak, report
from training.data.rows import (
    read_claims,
    read_lines,
    read_passages,
    read_questions,
    without,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a text of a test set hidden in each training source."""
    return write_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def prepared(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    assert prepare.main(["--data", str(data), "--out", str(out)]) == 0
    return out


def test_spans_say_the_answer_and_negatives_never_hold_it(prepared: Path) -> None:
    passages = read_passages(prepared)
    rows = list(read_questions(prepared)) + list(read_questions(prepared, "dev"))
    assert Counter(row.source for row in rows)["squad"] == 180
    for row in rows:
        for positive in row.positives:
            if positive.span:
                start, end = positive.span
                assert passages[positive.passage].text[start:end] == row.answers[0]
        if row.source == "squad":
            assert 2 <= len(row.negatives) <= 12
            assert row.positives[0].passage not in row.negatives
            texts = [passages[number].text for number in row.negatives]
            assert not any(row.answers[0] in text for text in texts)


def test_unanswerable_rows_do_not_say_the_answer_or_ask_something_else(prepared: Path) -> None:
    passages = read_passages(prepared)
    kinds: Counter[str] = Counter()
    for row in read_questions(prepared):
        for made in row.unanswerable:
            kinds[made.how] += 1
            text = without(passages[made.passage].text, made.cut)
            if made.question:
                assert made.question != row.question
            elif row.source == "squad":
                assert row.answers[0] not in text
    assert {"number changed", "sentence removed", "no such opinion"} <= set(kinds)


def test_held_out_articles_are_in_no_training_row(prepared: Path) -> None:
    passages = read_passages(prepared)
    dev = [row for row in read_questions(prepared, "dev") if row.source == "squad"]
    held = {passages[row.positives[0].passage].title for row in dev}
    assert held
    for row in read_questions(prepared):
        used = {p.passage for p in row.positives} | set(row.negatives)
        used |= {made.passage for made in row.unanswerable}
        assert not held & {passages[number].title for number in used}
    claims = [claim for claim in read_claims(prepared) if claim.passage is not None]
    assert not held & {passages[claim.passage].title for claim in claims if claim.passage}


def test_no_text_of_a_test_set_is_in_it(prepared: Path, data: Path) -> None:
    texts = "".join(
        json.dumps(row) for file in prepared.glob("*.gz") for row in read_lines(file)
    ).lower()
    assert "lisbon" not in texts
    assert "hidden harbour" not in texts
    found = json.loads((prepared / prepare.REPORT_FILE).read_text("utf-8"))
    assert found["texts_of_test_sets"] == 0
    assert found["left_out"]["squad: passage with text of a test set"] == 1
    assert found["left_out"]["squad: question of a test set"] == 1
    assert found["left_out"]["squad: passage left out"] == 1
    assert found["left_out"]["squad: answer not at its place"] == 1
    assert found["left_out"]["snli: text of a test set"] == 1
    assert found["left_out"]["halueval: text of a test set"] == 1
    assert found["left_out"]["hotpot: needs a passage of a test set"] == 1


def test_the_report_stops_where_something_leaks(prepared: Path) -> None:
    guard = Guard()
    guard.forbid_question("Who built mill number 3 in 1803 near the river?")
    guard.forbid(next(iter(read_passages(prepared))).text)
    with pytest.raises(Leak, match="texts of test sets"):
        report(prepared, guard)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    data: Path, prepared: Path, tmp_path: Path
) -> None:
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "same")]) == 0
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "b"), "--seed", "1"]) == 0
    for file in sorted(prepared.iterdir()):
        assert (tmp_path / "same" / file.name).read_bytes() == file.read_bytes()
    changed = (tmp_path / "b" / "qa.jsonl.gz").read_bytes()
    assert changed != (prepared / "qa.jsonl.gz").read_bytes()
