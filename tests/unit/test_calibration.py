"""Probabilities of answers and searches: what they rise with, and what they refuse to judge."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from benchmarks.common import RESULTS
from secondlook.evaluation.calibration import RISKS, fit, judge
from secondlook.reading.calibration import (
    Calibration,
    CalibrationError,
    Candidate,
    calibration_data,
    load_calibration,
    read_calibration,
    save_calibration,
)
from secondlook.reading.logistic import Logistic, Outcome, cross_fitted, fit_logistic
from secondlook.reading.risk import binomial_tail, risk_table
from secondlook.reading.weights import find_weights
from tests.support.calibrating import outcomes, shipped
from tests.support.engine import CALIBRATED

SHIPPED = json.loads(
    files("secondlook.reading").joinpath("calibration.json").read_text(encoding="utf-8")
)

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


def probability(one: Candidate, reader: str = CALIBRATED) -> float:
    found = load_calibration(reader).answer_probability([one], 0)
    assert found is not None
    return found


def quality(*candidates: Candidate) -> float:
    found = load_calibration(CALIBRATED).retrieval_quality(candidates)
    assert found is not None
    return found


def test_the_shipped_numbers_belong_to_the_shipped_reader() -> None:
    assert find_weights("reader").identity == CALIBRATED
    assert load_calibration(CALIBRATED).label == "calibrated"


def test_the_shipped_numbers_are_those_of_the_saved_results() -> None:
    assert json.loads((RESULTS / "calibration.json").read_text("utf-8"))["made"] == SHIPPED


def test_a_clear_answer_is_given_and_a_poor_one_withheld() -> None:
    limit = load_calibration(CALIBRATED).min_answer
    assert probability(POOR) < limit < probability(GOOD)


def test_a_good_search_is_trusted_and_a_poor_one_repeated() -> None:
    found = load_calibration(CALIBRATED)
    assert quality(GOOD, POOR, POOR) > found.min_quality
    assert quality(POOR, POOR, POOR) < found.min_web_quality


def test_another_reader_gets_no_probabilities_but_still_a_choice() -> None:
    other = load_calibration("another@000000000000")
    assert other.label == "uncalibrated"
    assert other.answer_probability([GOOD], 0) is None
    assert other.retrieval_quality([GOOD]) is None
    assert other.best_answer([POOR, GOOD]) == load_calibration(CALIBRATED).best_answer([POOR, GOOD])
    assert other.min_answer == load_calibration(CALIBRATED).min_answer
    assert "another@000000000000" in other.reasons([GOOD], 0)[-1]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_passage_whose_scores_are_no_numbers_is_passed_over(wrong: float) -> None:
    broken = replace(GOOD, relevance=wrong)
    found = load_calibration(CALIBRATED)
    assert found.best_answer([broken]) is None
    assert found.best_answer([broken, POOR]) == 1
    assert found.answer_probability([broken], 0) is None
    assert found.retrieval_quality([broken]) == 0.0
    assert found.retrieval_quality([broken, GOOD]) == found.retrieval_quality([GOOD])
    assert found.reasons([broken, POOR], 1)


# Calibrations as files: what is written is what is read, and only the right one is used.

TABLE = risk_table([0.9, 0.8, 0.3, 0.1], [True, True, True, False])


def own(reader: str = CALIBRATED, **changes: Any) -> Calibration:
    answer = Logistic(0.25, {"margin": 0.5, "fusion": 0.125})
    made = replace(load_calibration(reader), label="calibrated", answer=answer, risk=TABLE)
    return replace(made, **changes)


def saved(file: Path, calibration: Calibration) -> Path:
    save_calibration(file, calibration, made="2026-11-15", by="a test", data={"answers": "four"})
    return file


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    file = saved(tmp_path / "calibration.json", own())
    assert read_calibration(file, reader=CALIBRATED) == own()
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_there_is_replaced_whole_or_left_alone(tmp_path: Path) -> None:
    file = saved(tmp_path / "calibration.json", own())
    broken = own(answer=Logistic(float("nan"), {}))
    with pytest.raises(ValueError, match="JSON"):
        saved(file, broken)
    assert read_calibration(file) == own()
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = saved(tmp_path / "calibration.json", own())
    assert load_calibration(CALIBRATED, file).min_answer == own().min_answer
    saved(file, own(min_answer=0.875))
    os.utime(file, ns=(1, 1))  # a change that a coarse clock would not show
    assert load_calibration(CALIBRATED, file).min_answer == 0.875


def changed(**changes: Any) -> str:
    return json.dumps({**calibration_data(own(), made="", by="", data={}), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        changed(format=2),
        changed(answer={"bias": 0.0, "weights": {"beauty": 1.0}}),
        changed(answer={"bias": "much", "weights": {}}),
        changed(quality={"bias": True, "weights": {}}),
        changed(choice={"margin": None}),
        changed(thresholds={"answer": 0.5}),
        changed(risk={"questions": 1, "rows": [[0.5, 1]]}),
        changed(risk={"questions": 1, "rows": [[0.5, 1, 2]]}),
    ],
)
def test_a_damaged_file_is_told_and_never_used(tmp_path: Path, text: str) -> None:
    file = tmp_path / "calibration.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CalibrationError, match="no calibration that this version knows"):
        read_calibration(file)
    found = load_calibration(CALIBRATED, file)
    assert found.source == "shipped"
    assert "not used" in str(found.warning)


# The promise of a risk table: exact tails, and kept as often as it says on planted worlds.

WORST = 0.6
"""Answers with probability 0 of the planted world are wrong so often, those with 1 never."""


def planted(seed: int, count: int) -> tuple[list[float], list[bool]]:
    rng = np.random.default_rng(seed)
    scores = rng.random(count)
    right = rng.random(count) >= WORST * (1 - scores)
    return scores.tolist(), right.tolist()


@pytest.mark.parametrize("n", [1, 7, 60, 900, 20_000])
@pytest.mark.parametrize("p", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.3])
def test_the_tail_is_that_of_scipy(n: int, p: float, share: float) -> None:
    most = min(n, round(share * p * n))
    assert binomial_tail(n, p, most) == pytest.approx(binom.cdf(most, n, p), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize(("max_risk", "confidence"), [(0.05, 0.9), (0.1, 0.9), (0.2, 0.8)])
@pytest.mark.parametrize("count", [150, 800])
def test_the_true_risk_exceeds_the_promise_no_oftener_than_said(
    max_risk: float, confidence: float, count: int
) -> None:
    worlds = 300
    broken = 0
    for seed in range(worlds):
        found = risk_table(*planted(seed, count)).threshold(max_risk, confidence=confidence)
        # Of answers with at least this score, exactly.
        broken += found is not None and (WORST * (1 - found) / 2) > max_risk
    doubt = 1 - confidence
    assert broken <= worlds * doubt + 3 * math.sqrt(worlds * doubt * confidence)


def test_too_few_answers_promise_nothing() -> None:
    """Ten right ones of ten: the risk may still be 25 %."""
    table = risk_table([0.9] * 10, [True] * 10)
    assert table.threshold(0.05, confidence=0.95) is None
    assert table.threshold(0.3, confidence=0.95) == 0.9
    assert risk_table([], []).threshold(0.5, confidence=0.5) is None


# Weights from outcomes: those that made the data, never infinite, the same every time.

TRUTH = Logistic(bias=-0.5, weights={"a": 1.5, "b": -0.3})


def test_a_fit_is_that_of_another_library() -> None:
    """On standardised features, with the same penalty; many outcomes make the smoothing small."""
    rng = np.random.default_rng(5)
    rows = [{"a": float(a), "b": float(5 * b + 2)} for a, b in rng.normal(size=(4_000, 2))]
    outcomes = [Outcome(row, bool(rng.random() < TRUTH.probability(row))) for row in rows]
    x = np.array([[one.features["a"], one.features["b"]] for one in outcomes])
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    peer = LogisticRegression(C=1.0, tol=1e-10).fit(standard, [one.right for one in outcomes])
    found = fit_logistic(outcomes, ("a", "b"), ridge=1.0)
    expected = peer.coef_[0] / x.std(axis=0)
    assert list(found.weights.values()) == pytest.approx(expected.tolist(), abs=0.01)


def test_cross_fitted_probabilities_know_nothing_of_their_own_group() -> None:
    """Each group's outcomes are decided by a feature of its own: from other groups it is noise."""
    rng = np.random.default_rng(6)
    groups = [at % 5 for at in range(200)]
    right = [bool(rng.random() < 0.5) for _ in groups]
    outcomes = [
        Outcome({str(name): float(good and group == name) for name in range(5)}, good)
        for group, good in zip(groups, right, strict=True)
    ]
    names = [str(name) for name in range(5)]
    inside = fit_logistic(outcomes, names)
    assert min(inside.probability(one.features) for one in outcomes if one.right) > 0.5
    outside = cross_fitted(outcomes, names, groups=groups)
    of_right = np.mean([p for p, good in zip(outside, right, strict=True) if good])
    of_wrong = np.mean([p for p, good in zip(outside, right, strict=True) if not good])
    assert of_right == pytest.approx(of_wrong, abs=0.05)


def test_reading_probabilities_needs_no_numpy() -> None:
    code = "import sys, secondlook.reading.calibration; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# What a fit is worth, judged on documents that it has not seen.

NOTHING = dict.fromkeys(RISKS)


def test_figures_of_a_case_that_can_be_counted_by_hand() -> None:
    said = [0.1] * 10 + [0.9] * 10
    right = [False] * 8 + [True] * 2 + [True] * 9 + [False]
    found = judge(said, right, [{**NOTHING, 0.2: 0.5}] * 20)
    assert found.questions == 20
    assert found.right == pytest.approx(11 / 20)
    assert found.brier == pytest.approx((8 * 0.01 + 2 * 0.81 + 9 * 0.01 + 0.81) / 20)
    # Of 11 x 9 pairs of a right and a wrong one: 9 x 8 in order, 2 x 8 + 9 x 1 tied.
    assert found.auroc == pytest.approx((9 * 8 + 0.5 * (2 * 8 + 9 * 1)) / 99)
    by_risk = {promise.max_risk: promise for promise in found.promises}
    assert by_risk[0.2].coverage == 0.5
    assert by_risk[0.2].risk == pytest.approx(0.1)
    assert by_risk[0.05].coverage == 0.0
    assert by_risk[0.05].risk is None


def test_a_calibration_that_is_too_sure_is_put_right() -> None:
    found = fit(outcomes(600, bias=-1.0, slope=0.3), shipped())
    assert found.before is not None
    assert found.better
    assert found.after.ece < 0.07
    assert found.before.ece > 0.15
    assert found.after.brier < found.before.brier
    assert found.calibration.answer.weights["margin"] == pytest.approx(0.3, abs=0.1)
    assert found.calibration.source == "library"


def test_a_feature_that_the_shipped_one_weighs_wrongly_is_weighed_anew() -> None:
    wrong = replace(
        shipped(), answer=replace(shipped().answer, weights={"margin": 0.1, "relevance": 2.0})
    )
    found = fit(outcomes(600, bias=0.0, slope=1.0, calibration=wrong), wrong)
    assert found.method == "refitted"
    weights = found.calibration.answer.weights
    assert weights["margin"] > 3 * abs(weights["relevance"])


def test_a_reader_without_a_calibration_gets_one_if_its_scores_say_anything() -> None:
    bare = replace(shipped(), label="uncalibrated", reader="other@1")
    found = fit(outcomes(300, bias=0.0, slope=1.0, calibration=bare), bare)
    assert found.before is None
    assert found.better
    assert found.calibration.label == "calibrated"
    assert found.calibration.reader == "other@1"
    assert not fit(outcomes(300, bias=0.0, slope=0.0, calibration=bare), bare).better


def test_promises_are_kept_on_documents_that_did_not_make_them() -> None:
    found = fit(outcomes(1500, bias=0.5, slope=1.5), shipped())
    answered = [promise for promise in found.after.promises if promise.risk is not None]
    assert len(answered) >= 3
    for promise in answered:
        assert promise.risk is not None
        assert promise.risk <= promise.max_risk + 0.03
        assert promise.coverage > 0.05
    assert found.calibration.risk is not None
    assert found.calibration.risk_threshold(0.2, confidence=0.95) is not None
