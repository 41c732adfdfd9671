"""Probabilities of answers and searches: what they rise with, and what they refuse to judge."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files

import pytest

from benchmarks.common import RESULTS
from secondlook.reading.calibration import (
    Candidate,
    load_calibration,
)
from secondlook.reading.weights import find_weights

SHIPPED = json.loads(
    files("secondlook.reading").joinpath("calibration.json").read_text(encoding="utf-8")
)
READER = SHIPPED["reader"]

GOOD = Candidate(
    relevance=7.0,
    answerable=4.5,
    span_score=9.0,
    null_score=0.5,
    score=0.8,
    fusion_score=1.0,
    dense_rank=1,
    lexical_rank=1,
)
POOR = Candidate(
    relevance=-6.0,
    answerable=-5.0,
    span_score=-3.0,
    null_score=6.0,
    score=0.4,
    fusion_score=0.6,
    dense_rank=9,
    lexical_rank=None,
)


def probability(one: Candidate, reader: str = READER) -> float:
    found = load_calibration(reader).answer_probability([one], 0)
    assert found is not None
    return found


def quality(*candidates: Candidate) -> float:
    found = load_calibration(READER).retrieval_quality(candidates)
    assert found is not None
    return found


def test_the_shipped_numbers_belong_to_the_shipped_reader() -> None:
    assert find_weights("reader").identity == READER
    assert load_calibration(READER).label == "calibrated"


def test_the_shipped_numbers_are_those_of_the_saved_results() -> None:
    assert json.loads((RESULTS / "calibration.json").read_text("utf-8"))["made"] == SHIPPED


def test_a_clear_answer_is_given_and_a_poor_one_withheld() -> None:
    limit = load_calibration(READER).min_answer
    assert probability(POOR) < limit < probability(GOOD)


def test_a_good_search_is_trusted_and_a_poor_one_repeated() -> None:
    found = load_calibration(READER)
    assert quality(GOOD, POOR, POOR) > found.min_quality
    assert quality(POOR, POOR, POOR) < found.min_web_quality


def test_another_reader_gets_no_probabilities_but_still_a_choice() -> None:
    other = load_calibration("another@000000000000")
    assert other.label == "uncalibrated"
    assert other.answer_probability([GOOD], 0) is None
    assert other.retrieval_quality([GOOD]) is None
    assert other.best_answer([POOR, GOOD]) == load_calibration(READER).best_answer([POOR, GOOD])
    assert other.min_answer == load_calibration(READER).min_answer
    assert "another@000000000000" in other.reasons([GOOD], 0)[-1]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_passage_whose_scores_are_no_numbers_is_passed_over(wrong: float) -> None:
    broken = replace(GOOD, relevance=wrong)
    found = load_calibration(READER)
    assert found.best_answer([broken]) is None
    assert found.best_answer([broken, POOR]) == 1
    assert found.answer_probability([broken], 0) is None
    assert found.retrieval_quality([broken]) == 0.0
    assert found.retrieval_quality([broken, GOOD]) == found.retrieval_quality([GOOD])
    assert found.reasons([broken, POOR], 1)
