"""Calibrations as files: what is written is what is read, and only the right one is used."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.reading.calibration import (
    CalibrationError,
    calibration_data,
    load_calibration,
    read_calibration,
    save_calibration,
)
from secondlook.reading.logistic import Logistic
from secondlook.reading.risk import risk_table
from tests.support.engine import CALIBRATED as READER

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.reading.calibration import Calibration

TABLE = risk_table([0.9, 0.8, 0.3, 0.1], [True, True, True, False])


def own(reader: str = READER, **changes: Any) -> Calibration:
    answer = Logistic(0.25, {"margin": 0.5, "fusion": 0.125})
    made = replace(load_calibration(reader), label="calibrated", answer=answer, risk=TABLE)
    return replace(made, **changes)


def saved(file: Path, calibration: Calibration) -> Path:
    save_calibration(file, calibration, made="2026-11-15", by="a test", data={"answers": "four"})
    return file


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    file = saved(tmp_path / "calibration.json", own())
    assert read_calibration(file, reader=READER) == own()
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
    assert load_calibration(READER, file).min_answer == own().min_answer
    saved(file, own(min_answer=0.875))
    os.utime(file, ns=(1, 1))  # a change that a coarse clock would not show
    assert load_calibration(READER, file).min_answer == 0.875


def changed(**changes: Any) -> str:
    content = calibration_data(own(), made="", by="", data={})
    return json.dumps({**content, **changes})


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
    found = load_calibration(READER, file)
    assert found.source == "shipped"
    assert "not used" in str(found.warning)
