"""Every benchmark can be started, and the settings that it changes are there."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import analyst, corrective, eval_results
from secondlook.settings import load

MODULES = sorted(file.stem for file in Path(analyst.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_started(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__


def test_what_benchmarks_switch_can_be_switched() -> None:
    changes: list[Any] = [
        *analyst.WAYS.values(),
        *({f"corrective.enable_{step}": False} for step in corrective.STEPS),
        {**eval_results.FORCED, "adaptive.min_quality": 0.5, "adaptive.min_rerank_score": 0.0},
    ]
    for one in changes:
        load(dict(one))
    load({}, preset=eval_results.PRESET)
