"""What an ablation tries, what it says of each configuration, and which it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation import ablation as planning
from secondlook.evaluation.ablation import ablate, ablation_plan
from secondlook.graphs import registry
from secondlook.graphs.registry import Workflow
from tests.support.engine import settings_of
from tests.support.eval_rows import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Ablation, Row, Verdict

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
