"""Calibrations with a planted risk: how sure an answer must be is known beforehand."""

from dataclasses import replace
from pathlib import Path

from secondlook.reading.calibration import Calibration, save_calibration
from secondlook.reading.logistic import Logistic
from secondlook.reading.risk import RiskRow, RiskTable

THOUSAND = 1000


def table(threshold: float) -> RiskTable:
    """A risk of 5 % can be promised from this probability on, one of 50 % for everything, one of
    1 % never."""
    lower = threshold / 1000
    return RiskTable(
        (RiskRow(threshold, THOUSAND, 20), RiskRow(lower, 2 * THOUSAND, 600)),
        questions=4 * THOUSAND,
    )


def planted(reader: str, *, min_answer: float = 0.45) -> Calibration:
    """With numbers of its own, whatever is shipped."""
    return Calibration(
        reader=reader,
        label="calibrated",
        choice={"relevance": 1.0},
        answer=Logistic(-0.98, {"margin": 0.19}),
        quality=Logistic(-2.8, {"relevance": 0.2, "lead": 0.13, "fusion": 2.2}),
        min_answer=min_answer,
        min_quality=0.28,
        min_web_quality=0.16,
    )


def calibrated(
    file: Path, reader: str, *, threshold: float = 0.5, known: bool = True, **more: float
) -> Path:
    """A library's own calibration, with how often its answers were wrong if that is known."""
    own = replace(planted(reader, **more), risk=table(threshold) if known else None)
    save_calibration(file, own, made="2026-11-15", by="a test", data={"answers": "planted"})
    return file
