"""A library's own calibration on disk: stored, shown, taken away."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from secondlook.calibrating.judging import RISKS
from secondlook.calibrating.report import judgement_data
from secondlook.errors import LibraryError
from secondlook.library.published import refuse_change_in
from secondlook.reading.calibration import CALIBRATION_FILE, load_calibration, save_calibration

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.calibrating.fitting import Fitted
    from secondlook.library import Library

COMMAND = "secondlook calibrate"
MAKE_ROOM = "check that the disk has room and that you may write there; nothing stored is lost"


@dataclass(frozen=True, slots=True)
class InUse:
    """The calibration that answers over a library are judged by."""

    source: Literal["shipped", "library", "none"]
    reader: str
    file: str | None
    """The library's own, whether or not it is used."""
    made: str | None
    data: dict[str, Any]
    """What the library's own was made from."""
    warning: str | None
    """Why the library's own is not used."""
    thresholds: dict[float, float | None]
    """By highest risk: the probability from which on an answer is given; None: never."""


def store(library: Path, fitted: Fitted, data: dict[str, Any]) -> Path:
    refuse_change_in(library)
    file = library / CALIBRATION_FILE
    before = judgement_data(fitted.before) if fitted.before else None
    try:
        save_calibration(
            file,
            fitted.calibration,
            made=datetime.now(UTC).date().isoformat(),
            by=COMMAND,
            data=data,
            reliability={"before": before, "after": judgement_data(fitted.after)},
        )
    except OSError as error:
        raise _not_writable(file, error) from error
    return file


def remove(library: Path) -> bool:
    """Go back to the shipped calibration; whether there was another one."""
    refuse_change_in(library)
    file = library / CALIBRATION_FILE
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_writable(file, error) from error
    return True


def in_use(library: Library) -> InUse:
    file = library.path / CALIBRATION_FILE
    reader = library.reader().name
    used = load_calibration(reader, file)
    confidence = library.settings.answer.risk_confidence
    held = _held(file)
    return InUse(
        source=used.source if used.label == "calibrated" else "none",
        reader=reader,
        file=str(file) if file.exists() else None,
        made=held.get("made"),
        data=held.get("data") or {},
        warning=used.warning,
        thresholds={risk: used.risk_threshold(risk, confidence=confidence) for risk in RISKS},
    )


def _held(file: Path) -> dict[str, Any]:
    """What the file says about itself; one that cannot be read is told of by `load_calibration`."""
    try:
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _not_writable(file: Path, error: OSError) -> LibraryError:
    return LibraryError(
        f"{str(file)!r} cannot be written: {error.strerror or error}", hint=MAKE_ROOM
    )
