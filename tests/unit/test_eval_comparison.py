"""Two configurations on the same questions, the gate, an ablation and a sweep."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import UsageError
from secondlook.evaluation import ablation as planning
from secondlook.evaluation.ablation import ablate, ablation_plan, sweep_plan
from secondlook.evaluation.comparison import compare, compare_all, gate
from secondlook.evaluation.records import Results
from secondlook.graphs import registry
from secondlook.graphs.registry import WORKFLOWS, Workflow
from secondlook.settings.sections import SECTIONS, Settings
from tests.support.engine import settings_of
from tests.support.eval_rows import changed, churned, row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Ablation, Row, Verdict


def test_what_a_gain_costs() -> None:
    base = [row(case, 0.5, cost=0.001, seconds=2.0, llm_calls=1, tokens_in=100) for case in "abc"]
    other = [
        row(case, 0.6, cost=0.003, seconds=3.0, llm_calls=2, tokens_in=150, tokens_out=10)
        for case in "abc"
    ]
    found = compare(base, other)
    assert found.cost_difference == pytest.approx(0.002)
    assert (found.calls_difference, found.tokens_difference) == (1.0, 60.0)
    assert (found.latency_ratio, found.latency_difference) == (1.5, 1.0)
    assert found.cost_per_point == pytest.approx(0.0002)  # ten points for 0.002
    assert found.seconds_per_point == pytest.approx(0.1)
    back = compare(other, base)
    assert (back.cost_per_point, back.seconds_per_point) == (None, None)


def test_every_pair_is_compared_and_corrected_together() -> None:
    base = rows([0.0] * 20)
    better = changed(base, "better", lambda at, one: {"metrics": {"f1": float(at < 6)}})
    best = changed(base, "best", lambda at, one: {"metrics": {"f1": float(at < 9)}})
    found = compare_all({"base": base, "better": better, "best": best})
    assert [(one.base, one.other) for one in found] == [
        ("base", "better"),
        ("base", "best"),
        ("better", "best"),
    ]
    assert [one.deciding.p for one in found] == [2 / 2**6, 2 / 2**9, 2 / 2**3]
    assert [one.deciding.p_holm for one in found] == [4 / 2**6, 6 / 2**9, 2 / 2**3]
    assert all(item.p_holm is None for one in found for item in one.differences[1:])
    assert compare_all({"base": base}) == ()


# Two runs over the same set: a significant loss fails, nothing else does.


SET = {"name": "set", "fingerprint": "abc"}


def run(*configurations: Sequence[Row], **more: Any) -> Results:
    found = tuple(one for rows in configurations for one in rows)
    return Results(**{"data": SET, "rows": found, **more})


def test_a_significant_loss_fails() -> None:
    found = gate(run(rows([1.0] * 100)), run(rows([0.0] * 20 + [1.0] * 80)))
    assert found.failed
    assert found.lost == ("base",)
    assert len(found.comparisons) == 1
    assert found.lines == (
        "base: f1 1.000 -> 0.800, -0.200 [-0.280, -0.130], p = 0.000, n = 100: a significant loss",
    )


def test_the_same_twice_passes_and_so_does_mere_churn() -> None:
    """At most 5 of 100 seeds, and half of those are gains."""
    failed = 0
    for seed in range(60):
        generator = random.Random(seed)
        figures = [float(generator.random() < 0.7) for _ in range(200)]
        again = churned(figures, generator, churn=0.05)
        failed += gate(run(rows(figures)), run(rows(again)), seed=1).failed
    assert failed <= 3


def test_other_documents_or_questions_are_an_error() -> None:
    one = run(rows([1.0]))
    with pytest.raises(UsageError, match="different documents \\('set' and 'other'\\)") as failure:
        gate(one, run(rows([1.0]), data={"name": "other", "fingerprint": "def"}))
    assert failure.value.exit_code == 2
    asked = [row("q0000", question="something else?")]
    with pytest.raises(UsageError, match="question 'q0000' is not the same"):
        gate(one, run(asked))
    with pytest.raises(UsageError, match="question 'q0000' is not the same"):
        gate(one, run([row("q0000", expected=("that",))]))
    with pytest.raises(UsageError, match="without rows"):
        gate(one, run())
    with pytest.raises(UsageError, match="no question in common"):
        gate(one, run(rows([1.0, 1.0])[1:]))


# What an ablation tries, what it says of each configuration, and which it would take.


MODEL = {"default": "openai:m@http://127.0.0.1:1/v1"}
SERVER = {"url": "http://127.0.0.1:8888"}


@pytest.fixture
def without_ddgs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "find_spec", lambda name: None)


@pytest.fixture
def with_ddgs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "find_spec", lambda name: object())


@pytest.mark.usefixtures("without_ddgs")
def test_every_flag_is_tried_alone_and_what_cannot_be_is_told() -> None:
    found, left_out = ablation_plan(settings_of(), ["adaptive"])
    assert [one.name for one in found] == [
        "adaptive",
        "adaptive without rerank",
        "adaptive without abstention",
        "adaptive without adaptive retrieval",
        "linear",
    ]
    assert found[1].changes == {"search.rerank": False}
    assert found[0].changes == {}
    assert {one.workflow for one in found[:4]} == {"adaptive"}
    assert set(left_out) == {"answer.enable_sentence_check", "web.enable_web_search"}
    assert "--model" in left_out["answer.enable_sentence_check"]
    assert "ddgs" in left_out["web.enable_web_search"]


@pytest.mark.usefixtures("with_ddgs")
def test_questions_go_to_a_search_engine_only_where_that_is_allowed() -> None:
    found, left_out = ablation_plan(settings_of(), ["adaptive"])
    assert "DuckDuckGo" in left_out["web.enable_web_search"]
    assert "adaptive with web" not in {one.name for one in found}
    allowed = settings_of(web={"enable_web_search": True})
    found, left_out = ablation_plan(allowed, ["adaptive"])
    assert "web.enable_web_search" not in left_out
    assert "adaptive without web" in {one.name for one in found}


CORRECTING = (
    "corrective.enable_grading",
    "corrective.enable_rewriting",
    "corrective.enable_decomposition",
    "corrective.enable_readings",
    "answer.enable_grounded_check",
    "corrective.enable_useful_check",
    "corrective.enable_regeneration",
    "web.enable_web_search",
    "answer.enable_answer_grading",
)


@pytest.fixture
def corrective(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Workflow("corrective", "corrects", CORRECTING)
    monkeypatch.setitem(registry.WORKFLOWS, "corrective", known)


@pytest.mark.usefixtures("corrective")
def test_every_step_of_correcting_is_tried_and_who_judges_varied() -> None:
    found, left_out = ablation_plan(settings_of(models=MODEL, web=SERVER), ["corrective"])
    assert [one.name.removeprefix("corrective").strip() for one in found[:14]] == [
        "",
        "without grading",
        "without rewriting",
        "without decomposition",
        "without readings",
        "without grounded check",
        "without useful check",
        "without regeneration",
        "with web",
        "with answer grading",
        "with grade llm-batch",
        "with grade llm-each",
        "with grounded llm",
        "with useful llm",
    ]
    assert found[10].changes == {"models.servers.grade": "llm-batch"}
    assert found[10].about == "models.servers.grade llm-batch"
    assert {one.workflow for one in found[14:]} == {"linear", "adaptive"}
    assert left_out == {}


def ablated(
    figures: Sequence[float], *, base: Sequence[float] | None = None, **more: Any
) -> Ablation:
    """One configuration against a reference of the same length."""
    reference = rows(base or [1.0] * len(figures), "reference")
    found = {"reference": reference, "step": rows(figures, "step")}
    return ablate(found, reference="reference", **more)


def verdict(found: Ablation, name: str = "step") -> Verdict:
    return next(one for one in found.verdicts if one.configuration == name)


def test_no_loss_on_many_questions_is_non_inferior() -> None:
    found = ablated([1.0] * 400)
    assert verdict(found).verdict == "non-inferior"
    assert verdict(found).more_questions is None
    assert "above the margin" in verdict(found).why
    assert verdict(found, "reference").verdict == "reference"
    assert (found.metric, found.margin, found.reference) == ("f1", 0.02, "reference")


def test_a_large_loss_is_worse() -> None:
    found = verdict(ablated([0.0] * 20 + [1.0] * 80))
    assert found.verdict == "worse"
    assert found.more_questions is None


def test_a_loss_that_may_be_chance_is_undecided_with_how_many_more() -> None:
    base, step = [1.0] * 50 + [0.0] * 50, [0.0] * 4 + [1.0] * 46 + [1.0] * 2 + [0.0] * 48
    found = verdict(ablated(step, base=base))
    assert found.verdict == "undecided"
    assert found.more_questions is not None
    assert found.more_questions > 100


def priced(**prices: dict[str, Any]) -> dict[str, list[Row]]:
    return {name: rows([1.0] * 300, name, **price) for name, price in prices.items()}


@pytest.mark.parametrize(
    ("prices", "cheapest"),
    [
        # Money before calls, calls before time.
        ({"reference": {"cost": 0.02}, "a": {"cost": 0.01, "seconds": 9.0}}, "a"),
        ({"reference": {"llm_calls": 2}, "a": {"llm_calls": 1, "seconds": 9.0}}, "a"),
        ({"reference": {"seconds": 2.0}, "a": {"seconds": 1.0}}, "a"),
        # As long as each other: no reason to change anything.
        ({"reference": {"seconds": 1.04}, "a": {"seconds": 1.0}}, "reference"),
        # The reference is slower; of the two that take as long, the one with fewer steps.
        (
            {
                "reference": {"seconds": 2.0},
                "a": {"seconds": 1.0, "seconds_by_node": {"x": 0.5, "y": 0.5}},
                "b": {"seconds": 1.03, "seconds_by_node": {"x": 1.0}},
            },
            "b",
        ),
        # What nobody knows the price of is not cheap.
        ({"reference": {"cost": 0.02}, "a": {"cost": None}}, "reference"),
        ({"reference": {"cost": None}, "a": {"cost": None, "llm_calls": -1}}, "a"),
    ],
)
def test_the_cheapest(prices: dict[str, dict[str, Any]], cheapest: str) -> None:
    assert ablate(priced(**prices), reference="reference").cheapest == cheapest


# One setting at several values: which are tried, and what they are compared with.


def test_each_value_is_compared_with_the_reference() -> None:
    plan = sweep_plan(Settings(), values=[1, -1])
    reference, low, high = plan
    assert reference.name == "adaptive without fallback"
    assert [one.changes["adaptive.min_rerank_score"] for one in (low, high)] == [-1.0, 1.0]
    lift = {reference.name: 0.0, low.name: 0.1, high.name: 0.0}
    held = {name: rows([0.5 + more] * 100, name) for name, more in lift.items()}
    found = compare_all(held, reference=reference.name)
    assert [(one.base, one.other) for one in found] == [
        (reference.name, low.name),
        (reference.name, high.name),
    ]
    assert found[0].deciding.difference == pytest.approx(0.1)
    assert found[0].deciding.p_holm == pytest.approx(2 * found[0].deciding.p)


# Every step that can be switched belongs to a workflow, so that an ablation can try it.


def switches() -> set[str]:
    return {
        f"{section}.{name}"
        for section, model in SECTIONS.items()
        for name, field in model.model_fields.items()
        if field.annotation is bool and (name.startswith("enable_") or name == "rerank")
    }


def test_every_switch_is_a_flag_of_some_workflow_and_no_other_is() -> None:
    flags = {flag for workflow in WORKFLOWS.values() for flag in workflow.flags}
    assert flags == switches()
    assert "search.rerank" in flags


def test_no_flag_is_named_twice() -> None:
    for workflow in WORKFLOWS.values():
        assert len(set(workflow.flags)) == len(workflow.flags)
