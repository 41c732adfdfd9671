"""docs/calibrate.md shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.calibrate_own import RESULTS, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibrate.md"


def test_the_table_is_made_from_the_results() -> None:
    assert table(json.loads(RESULTS.read_text("utf-8"))) in PAGE.read_text("utf-8")
