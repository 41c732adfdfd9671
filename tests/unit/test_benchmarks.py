"""Every benchmark can be started, and the settings that it changes are there."""

import importlib
from pathlib import Path

import pytest

from benchmarks import analyst
from secondlook.settings import load

MODULES = sorted(file.stem for file in Path(analyst.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_started(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_what_benchmarks_switch_can_be_switched() -> None:
    for one in analyst.WAYS.values():
        load(dict(one))
