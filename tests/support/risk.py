"""Calibrations with a planted risk: how sure an answer must be is known beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.reading.calibration import RiskRow, RiskTable, load_calibration, save_calibration

if TYPE_CHECKING:
    from pathlib import Path

THOUSAND = 1000


def table(threshold: float) -> RiskTable:
    """A risk of 5 % can be promised from this probability on, one of 50 % for everything, one of
    1 % never."""
    lower = threshold / 2
    return RiskTable(
        (RiskRow(threshold, THOUSAND, 20), RiskRow(lower, 2 * THOUSAND, 600)),
        questions=4 * THOUSAND,
    )


def calibrated(file: Path, reader: str, *, threshold: float, known: bool = True) -> Path:
    """A library's own calibration: the shipped weights, and how often they were wrong if known."""
    own = replace(load_calibration(reader), label="calibrated", reader=reader)
    own = replace(own, risk=table(threshold) if known else None)
    save_calibration(file, own, made="2026-11-15", by="a test", data={"answers": "planted"})
    return file
