"""docs/results.md quotes what the benchmarks saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "docs" / "results.md").read_text("utf-8").splitlines()


def saved(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def row(start: str) -> str:
    (found,) = [line for line in LINES if line.startswith(f"| {start}")]
    return found


def share(value: float) -> str:
    """As the page writes shares: .941."""
    return f"{value:.3f}".removeprefix("0")


def points(differences: list[dict[str, Any]], metric: str, *names: str) -> str:
    (one,) = [
        found
        for found in differences
        if found["metric"] == metric
        and found["part"] == "all"
        and {found["base_name"], found["other_name"]} == set(names)
    ]
    difference, low, high = (100 * one[key] for key in ("difference", "low", "high"))
    return f"{difference:+.1f} ({low:+.1f} to {high:+.1f})"


def test_linear_and_adaptive() -> None:
    found = saved("eval_embedded")
    kept = found["configurations"]["linear"]["metrics"]
    forced = found["configurations"]["linear, forced"]["metrics"]
    line = row("`linear`, `squad2-dev`")
    assert f"F1 {share(kept['f1']['value'])}" in line
    assert f"EM {share(forced['em']['value'])}, F1 {share(forced['f1']['value'])}" in line
    assert points(found["differences"], "f1", "linear", "adaptive") in row("`adaptive` against")


def test_corrective() -> None:
    found = saved("corrective")
    plain = row("`corrective` against `linear`, `squad2-dev`")
    assert points(found["squad2-dev"]["differences"], "f1", "linear", "corrective") in plain
    assert f"{found['squad2-dev']['seconds']['ratio']:.2f} times" in plain
    hops = row("the same, `hotpot`")
    for metric in ("recall@5", "f1"):
        assert points(found["hotpot"]["differences"], metric, "linear", "corrective") in hops
    steps = row("what its steps buy")
    for name in ("following", "decomposition", "rewriting"):
        assert points(found["hotpot"]["steps"], "f1", f"without {name}", "corrective") in steps


@pytest.mark.parametrize("set_", ["squad2-dev", "wikitables", "dabench", "samples"])
def test_routing(set_: str) -> None:
    right = saved("auto")["sets"][set_]["routed_right"]
    assert f"{right:.2f}".removeprefix("0") in row("`auto`: right kind")


def test_support_and_verification() -> None:
    found = saved("groundedness")
    judged = [*found["judgements"].values(), found["halueval, lengths matched"]]
    for who in ("judge", "coverage"):
        for one in judged:
            assert share(one[who]["balanced_accuracy"]) in row("support judge")
        answers = found["falsified answers"][who]
        for what in ("falsified_caught", "false_alarms"):
            assert f"{100 * answers[what]['share']:.1f} %" in row("344 answers")


def test_injection() -> None:
    channels = saved("injection")["channels"].values()
    counts = [channel["held out"]["orders"]["success"]["count"] for channel in channels]
    assert f"{', '.join(map(str, counts[:3]))} and {counts[3]} of 179" in row("injection")
