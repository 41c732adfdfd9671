"""Calibrations as files: the one that is shipped, and those that libraries hold."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from secondlook.errors import SecondlookError
from secondlook.reading.calibration.calibrated import Calibration
from secondlook.reading.calibration.candidates import Candidate, answer_features, quality_features
from secondlook.reading.calibration.logistic import Logistic
from secondlook.reading.calibration.risk import RiskTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1
CALIBRATION_FILE = "calibration.json"
"""Its name in a library."""
_AGAIN = "secondlook calibrate makes a new one"
_NOTHING = Candidate(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class CalibrationError(SecondlookError):
    """A calibration cannot be used."""


class CalibrationMismatch(CalibrationError):
    """It was made for another reader."""


def load_calibration(reader: str, own: Path | None = None) -> Calibration:
    """The calibration of the reader with this name: the one in the file `own` where that is there
    and belongs to it, else the shipped one. For any other reader it is labelled "uncalibrated",
    with the same thresholds and no probabilities to hold against them."""
    shipped = _for_reader(_shipped(), reader)
    if own is None:
        return shipped
    try:
        changed = own.stat().st_mtime_ns
    except OSError:
        return shipped
    try:
        return replace(_read_once(own, changed, reader), source="library")
    except CalibrationError as refused:
        return replace(shipped, warning=f"{refused.message}: not used; run secondlook calibrate")


def read_calibration(file: Path, *, reader: str | None = None) -> Calibration:
    """The calibration in a file. With a `reader`, one that belongs to another is refused."""
    try:
        made = json.loads(file.read_text("utf-8"))
        found = _calibration(made)
    except OSError as error:
        raise CalibrationError(f"{str(file)!r} cannot be read: {error}", hint=_AGAIN) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CalibrationError(
            f"{str(file)!r} is no calibration that this version knows: {error!r}", hint=_AGAIN
        ) from error
    if reader is not None and found.reader != reader:
        raise CalibrationMismatch(
            f"the library's calibration belongs to reader {found.reader}, not {reader}",
            hint=_AGAIN,
        )
    return found


def save_calibration(
    file: Path,
    calibration: Calibration,
    *,
    made: str,
    by: str,
    data: Mapping[str, Any],
    reliability: Mapping[str, Any] | None = None,
) -> None:
    """Write it, whole or not at all. `made` is the day, `by` the command, `data` what it was made
    from, `reliability` what the probabilities were worth before and after."""
    content = calibration_data(calibration, made=made, by=by, data=data, reliability=reliability)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def calibration_data(
    calibration: Calibration,
    *,
    made: str,
    by: str,
    data: Mapping[str, Any],
    reliability: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a file holds."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "reader": calibration.reader,
        "made": made,
        "by": by,
        "data": dict(data),
        "choice": dict(calibration.choice),
        "answer": _logistic_data(calibration.answer),
        "quality": _logistic_data(calibration.quality),
        "thresholds": {
            "answer": calibration.min_answer,
            "quality": calibration.min_quality,
            "web_quality": calibration.min_web_quality,
            "about": calibration.min_about,
        },
    }
    if calibration.risk is not None:
        content["risk"] = calibration.risk.as_data()
    if reliability is not None:
        content["reliability"] = dict(reliability)
    return content


def _logistic_data(model: Logistic) -> dict[str, Any]:
    return {"bias": model.bias, "weights": dict(model.weights)}


def _calibration(made: Mapping[str, Any]) -> Calibration:
    if made.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is {made['format']!r}, not {FORMAT}")
    known = answer_features([_NOTHING], 0)
    thresholds = made["thresholds"]
    risk = made.get("risk")
    return Calibration(
        reader=str(made["reader"]),
        label="calibrated",
        choice=_weights(made["choice"], known),
        answer=_logistic(made["answer"], known),
        quality=_logistic(made["quality"], quality_features([_NOTHING])),
        min_answer=_number(thresholds["answer"]),
        min_quality=_number(thresholds["quality"]),
        min_web_quality=_number(thresholds["web_quality"]),
        min_about=_number(thresholds.get("about", 0.0)),
        risk=None if risk is None else RiskTable.of_data(risk),
    )


def _logistic(made: Mapping[str, Any], known: Mapping[str, float]) -> Logistic:
    return Logistic(bias=_number(made["bias"]), weights=_weights(made["weights"], known))


def _weights(made: Mapping[str, Any], known: Mapping[str, float]) -> dict[str, float]:
    if unknown := [name for name in made if name not in known]:
        raise ValueError(f"it weighs {unknown[0]!r}, which is no feature")
    return {name: _number(weight) for name, weight in made.items()}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _for_reader(calibration: Calibration, reader: str) -> Calibration:
    label: Literal["calibrated", "uncalibrated"] = (
        "calibrated" if calibration.reader == reader else "uncalibrated"
    )
    return replace(calibration, reader=reader, label=label)


@lru_cache(maxsize=8)
def _read_once(file: Path, changed: int, reader: str) -> Calibration:  # noqa: ARG001 - of the key
    return read_calibration(file, reader=reader)


@lru_cache(maxsize=1)
def _shipped() -> Calibration:
    text = files("secondlook.reading").joinpath("calibration.json").read_text("utf-8")
    return _calibration(json.loads(text))
