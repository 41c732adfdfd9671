"""Reliability as text in a terminal and as a picture in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.errors import UsageError
from secondlook.evaluation.calibration import check_picture, draw
from secondlook.evaluation.confidence import CalibrationReport, fit
from secondlook.evaluation.report import plots
from tests.support.calibrating import outcomes, shipped

if TYPE_CHECKING:
    from pathlib import Path


def report(*, calibrated: bool = True) -> CalibrationReport:
    fitted = fit(outcomes(200, bias=-1.0, slope=0.4), shipped())
    return CalibrationReport(
        library="/library",
        reader="reader@1",
        source="questions.csv",
        asked={"own": 200},
        answered=200,
        method=fitted.method,
        before=fitted.before if calibrated else None,
        after=fitted.after,
        better=True,
        stored=None,
        calibration=fitted.calibration,
    )


def test_a_picture_has_both_curves(tmp_path: Path) -> None:
    draw(report(), tmp_path / "reliability.svg")
    svg = (tmp_path / "reliability.svg").read_text("utf-8")
    assert ">before<" in svg
    assert ">after<" in svg
    draw(report(calibrated=False), tmp_path / "reliability.PNG")
    assert (tmp_path / "reliability.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_made_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="SVG or PNG"):
        check_picture(tmp_path / "plot.pdf")
    with pytest.raises(UsageError, match="no folder"):
        check_picture(tmp_path / "nowhere" / "plot.svg")
    (tmp_path / "plot.svg").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        draw(report(), tmp_path / "plot.svg")
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    with pytest.raises(UsageError, match="matplotlib"):
        check_picture(tmp_path / "plot.png")


def test_the_report_as_plain_values() -> None:
    data = report().as_data()
    assert data["before"]["brier"] > data["after"]["brier"]
    assert data["answer"]["weights"].keys() == {"margin"}
    assert report(calibrated=False).as_data()["before"] is None
