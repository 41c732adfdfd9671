"""How sure a result over tables is: from what the run saw, and only where that was fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from secondlook.nodes.judge import result as module
from secondlook.nodes.judge.result import confidence, shipped, signals
from secondlook.reading.logistic import Logistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.nodes.state import Analysed

READ = {"family": "lookups", "doubt": 0.25, "answer": "value"}


def of(query: Mapping[str, Any] | None = None, **given: Any) -> tuple[str, dict[str, float]]:
    plain: dict[str, Any] = {"scores": [], "checks": [], "attempts": 1, "remedies": 0}
    return signals(query=query, **{**plain, **given})


def state(query: Mapping[str, Any] | None = None, **given: Any) -> Analysed:
    plain: dict[str, Any] = {
        "query": query,
        "doubt": query["doubt"] if query else 1.0,
        "resolved": [{"asked": "turnover", "column": "sales", "score": 0.7}],
        "checks": [{"name": "range", "passed": True}, {"name": "type", "passed": False}],
        "attempts": [{}],
        "remedies": [],
    }
    return cast("Analysed", {**plain, **given})


def sure(monkeypatch: pytest.MonkeyPatch, fitted: dict[str, Logistic], of: Analysed) -> Any:
    monkeypatch.setattr(module, "shipped", lambda: fitted)
    return confidence(of)


def test_doubts_of_rows_and_of_statistics_are_told_apart() -> None:
    kind, rows = of(READ)
    assert (kind, rows["doubt"]) == ("rows", 0.25)
    assert of({**READ, "family": "statistics"})[0] == "statistics"
    assert of({**READ, "answer": "list"})[1]["several"] == 1.0


def test_what_was_never_fitted_has_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = {"rows": Logistic(0.0, {"doubt": -4.0})}
    assert sure(monkeypatch, fitted, state())[0] is None
    assert sure(monkeypatch, fitted, state({**READ, "family": "statistics"}))[0] is None
    assert sure(monkeypatch, fitted, state(READ))[0] == pytest.approx(0.2689)


def test_what_is_shipped_can_be_read_and_is_of_signals_that_there_are() -> None:
    known = {"rows": of(READ)[1], "statistics": of(READ)[1], "generated": of()[1]}
    for kind, model in shipped().items():
        assert model.weights.keys() <= known[kind].keys()
        assert 0 <= model.probability(known[kind]) <= 1


def test_more_doubt_is_less_sure() -> None:
    made = json.loads(Path(module.__file__).with_name(module.FILE).read_text("utf-8"))
    assert made["fitted"]["rows"]["answers"] >= 30
    model = shipped()["rows"]
    probabilities = [model.probability(of({**READ, "doubt": at / 10})[1]) for at in range(6)]
    assert probabilities == sorted(probabilities, reverse=True)
