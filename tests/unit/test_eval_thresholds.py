"""One setting at several values: which are tried, how often the fallback fires, what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.evaluation.thresholds import (
    sweep,
    sweep_plan,
)
from secondlook.settings.sections import Settings
from tests.support.engine import settings_of
from tests.support.eval_rows import rows

if TYPE_CHECKING:
    from secondlook.evaluation.records import Row

AGAIN = "adaptive.enable_adaptive_retrieval"


def test_the_default_is_the_threshold_of_raw_scores_against_no_fallback() -> None:
    plan = sweep_plan(Settings())
    assert plan.param == "adaptive.min_rerank_score"
    reference, *points = plan.configurations
    assert (reference.name, reference.changes) == (
        plan.reference,
        {AGAIN: False, "adaptive.check": "min_rerank_score"},
    )
    assert plan.reference == "adaptive without fallback"
    assert [one.changes["adaptive.min_rerank_score"] for one in points] == [-2, -1, 0, 1, 2]
    for one in points:
        assert one.workflow == "adaptive"
        assert one.changes["adaptive.check"] == "min_rerank_score"
        assert one.changes[AGAIN] is True
    assert [value for value, _ in plan.points] == [-2, -1, 0, 1, 2]
    assert points[0].name == "adaptive min rerank score -2"


def test_a_setting_of_no_step_is_compared_with_what_is_configured() -> None:
    configured = settings_of(search={"candidates": 40})
    plan = sweep_plan(configured, param="search.candidates", values=[10, 40, 20.0])
    assert plan.reference == "linear"
    assert plan.points == (
        (10, "linear candidates 10"),
        (20, "linear candidates 20"),
        (40, "linear"),
    )
    assert [one.changes for one in plan.configurations] == [
        {},
        {"search.candidates": 10},
        {"search.candidates": 20},
    ]
    assert all(isinstance(value, int) for value, _ in plan.points)
    assert (
        sweep_plan(Settings(), param="search.blend", values=[0.5], workflow="adaptive").reference
        == "adaptive"
    )


def planted(fired: int, gain: float, name: str) -> list[Row]:
    """On the first `fired` of 100 questions the fallback fires and adds `gain`."""
    figures = [0.5 + gain * (at < fired) for at in range(100)]
    found = rows(figures, name)
    return [one.model_copy(update={"fallback": at < fired}) for at, one in enumerate(found)]


def test_fallback_rate_and_effect_of_each_value() -> None:
    plan = sweep_plan(Settings(), values=[-1, 1])
    low, high = (name for _, name in plan.points)
    found = sweep(
        {
            plan.reference: rows([0.5] * 100, plan.reference),
            low: planted(20, 0.3, low),
            high: planted(60, 0.0, high),
        },
        plan=plan,
    )
    assert (found.param, found.reference, found.metric) == (plan.param, plan.reference, "f1")
    first, second = found.points
    assert (first.value, first.configuration, first.fallback_rate) == (-1, low, 0.2)
    assert second.fallback_rate == 0.6
    assert first.metrics["f1"].value == pytest.approx(0.56)
    assert {"f1", "answered", "success", "llm_calls"} <= set(first.metrics)
    assert first.difference is not None
    assert first.difference.difference == pytest.approx(0.06)
    assert first.difference.p_holm == pytest.approx(2 * first.difference.p)
    assert first.on_fallback is not None
    assert first.on_fallback.n == 20
    assert first.on_fallback.difference == pytest.approx(0.3)
    assert second.difference is not None
    assert (second.difference.p, second.difference.p_holm) == (1.0, 1.0)
