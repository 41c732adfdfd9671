"""What a fit is worth, judged on documents that it has not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondlook.evaluation.calibration import (
    RISKS,
    CalibrationReport,
    fit,
    judge,
)
from tests.support.calibrating import outcomes, shipped

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
    answered = outcomes(600, bias=-1.0, slope=0.3)
    found = fit(answered, shipped())
    assert found.before is not None
    assert found.better
    assert found.after.ece < 0.07
    assert found.before.ece > 0.15
    assert found.after.brier < found.before.brier
    weights = found.calibration.answer.weights
    assert weights["margin"] == pytest.approx(0.3, abs=0.1)
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
    nothing = fit(outcomes(300, bias=0.0, slope=0.0, calibration=bare), bare)
    assert not nothing.better


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


def report(*, calibrated: bool = True) -> CalibrationReport:
    fitted = fit(outcomes(200, bias=-1.0, slope=0.4), shipped())
    return CalibrationReport(
        library="/library",
        reader="reader@1",
        source="questions.csv",
        asked={"own": 200},
        answered=200,
        fitted=fitted if calibrated else replace(fitted, before=None),
        stored=None,
    )


def test_the_report_as_plain_values() -> None:
    data = report().as_data()
    assert data["before"]["brier"] > data["after"]["brier"]
    assert data["answer"]["weights"].keys() == {"margin"}
    assert report(calibrated=False).as_data()["before"] is None
