"""Two configurations on the same questions, the gate, an ablation and a sweep; their statistics."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from secondlook.errors import UsageError
from secondlook.evaluation import ablation as planning
from secondlook.evaluation.ablation import ablate, ablation_plan, sweep_plan
from secondlook.evaluation.comparison import compare, compare_all, gate
from secondlook.evaluation.records import Ablation, Configuration, Results, Row, Summary, Verdict
from secondlook.evaluation.statistics import (
    Floats,
    holm,
    interval,
    mcnemar,
    paired,
    permutation,
    unseen,
)
from secondlook.evaluation.summary import auroc, summarise
from secondlook.graphs import registry
from secondlook.graphs.registry import WORKFLOWS, Workflow
from secondlook.settings.sections import SECTIONS, Settings
from tests.support.engine import settings_of
from tests.support.eval_results import make_rows
from tests.support.eval_rows import changed, churned, row, rows


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
    found, left_out = ablation_plan(settings_of(web={"enable_web_search": True}), ["adaptive"])
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
    reference, low, high = sweep_plan(Settings(), values=[1, -1])
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


# Intervals and paired tests agree with scipy and statsmodels, and behave at the edges.


def scores(n: int, seed: int) -> Floats:
    """As F1 is: heaps at 0 and 1, and some between."""
    return np.clip(np.random.default_rng(seed).normal(0.6, 0.6, n), 0, 1)


def test_the_interval_of_a_mean_is_scipys_bootstrap() -> None:
    values = scores(400, 1)
    found = interval(list(values), 0)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    error = 0.08 * (theirs.high - theirs.low)
    assert found.value == pytest.approx(values.mean())
    assert found.n == 400
    assert found.low == pytest.approx(theirs.low, abs=error)
    assert found.high == pytest.approx(theirs.high, abs=error)


@pytest.mark.parametrize(("yes", "n"), [(0, 20), (20, 20), (1, 3), (431, 1000)])
def test_a_share_has_wilsons_interval(yes: int, n: int) -> None:
    found = interval([1.0] * yes + [0.0] * (n - yes), yes_no=True)
    low, high = proportion_confint(yes, n, method="wilson")
    assert found.value == pytest.approx(yes / n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(
    ("up", "down"), [(0, 0), (1, 0), (3, 9), (25, 75), (40, 40), (51, 50), (900, 1000)]
)
def test_mcnemar_is_that_of_statsmodels(up: int, down: int) -> None:
    theirs = reference_mcnemar([[10, down], [up, 10]], exact=True).pvalue
    assert mcnemar(up, down) == pytest.approx(min(1.0, theirs), rel=1e-9)


def differences(n: int, changed: int, shift: float, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    found = np.zeros(n)
    found[:changed] = generator.uniform(-1, 1, changed) + shift
    return found


def scipys_permutation(values: Floats) -> float:
    return float(
        stats.permutation_test(
            (values, np.zeros_like(values)),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=9_999,
            vectorized=True,
            rng=np.random.default_rng(7),
        ).pvalue
    )


@pytest.mark.parametrize("shift", [0.05, 0.4])
def test_few_changes_are_all_flipped_as_scipy_does(shift: float) -> None:
    values = differences(12, 12, shift, 1)
    assert permutation(values) == pytest.approx(scipys_permutation(values), abs=1e-12)
    # Questions that did not change have no say.
    assert permutation(np.append(values, np.zeros(500))) == permutation(values)


def test_so_few_questions_do_not_show_that_nothing_is_lost() -> None:
    few = paired([1.0] * 5, [1.0] * 5, yes_no=True)
    many = paired([1.0] * 1000, [1.0] * 1000, yes_no=True)
    assert few.low < -0.5
    assert few.high > 0.5
    assert -0.004 < many.low < 0 < many.high < 0.004
    assert unseen(5) == pytest.approx(stats.binomtest(0, 5).proportion_ci().high)


@pytest.mark.parametrize("size", [1, 2, 8, 36])
def test_holm_is_that_of_statsmodels(size: int) -> None:
    generator = np.random.default_rng(size)
    for scale in (1, 10, 100):
        # Rounded, so that some are equal.
        ps = list(np.round(generator.random(size) / scale, 2))
        assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))
    assert holm([]) == []


# What a configuration amounts to: which questions a metric is over, and what failed ones cost.

LINEAR = Configuration("linear", "linear", changes={"retrieval.top_k": 8}, about="as it comes")


def a_row(case: str = "q1", **known: Any) -> Row:
    """A row of which only what a test is about is said."""
    status = known.get("status", "answered")
    stopped = {"answered": "answered", "failed": "error"}.get(status, "low_confidence")
    usual = {"configuration": "linear", "status": "answered", "stop_reason": stopped}
    return Row(case=case, **(usual | known))


def planted(n: int) -> list[Row]:
    return [row for row in make_rows(questions=n) if row.configuration == "adaptive"]


def summed(rows: list[Row], seed: int = 0) -> Summary:
    return summarise(rows, configuration=LINEAR, seed=seed)


def test_types_stand_side_by_side() -> None:
    rows = [
        a_row("q1", type="easy", right=True, metrics={"f1": 1.0}),
        a_row("q2", type="hard", right=False, metrics={"f1": 0.0}),
        a_row("q3", type="hard", status="failed"),
        a_row("q4", type="none", answerable=False, scored=False, status="abstained"),
        a_row("q5", metrics={"f1": 1.0}),
    ]
    found = summed(rows).by_type
    assert list(found) == ["easy", "hard", "none"]
    assert (found["easy"]["f1"].value, found["hard"]["f1"].value) == (1.0, 0.0)
    assert (found["hard"]["f1"].n, found["hard"]["wrong_among_answered"].n) == (2, 1)
    assert "f1" not in found["none"]
    assert "wrong_among_answered" not in found["none"]
    assert found["none"]["refused_unanswerable"].value == 1.0
    assert "latency_p50" not in found["easy"]


def test_latency_is_numpys_quantile() -> None:
    rows = planted(301)
    found = summed(rows)
    seconds = [row.seconds for row in rows]
    for name, q in (("p50", 0.5), ("p95", 0.95)):
        metric = found.metrics[f"latency_{name}"]
        assert metric.value == pytest.approx(np.quantile(seconds, q))
        drawn = np.random.default_rng(0).choice(seconds, (4000, 301))
        low, high = np.percentile(np.quantile(drawn, q, axis=1), [2.5, 97.5])
        assert metric.low == pytest.approx(low, abs=0.15 * (high - low))
        assert metric.high == pytest.approx(high, abs=0.15 * (high - low))
    nodes = [row.seconds_by_node["rerank"] for row in rows if row.seconds_by_node]
    assert found.seconds_by_node["rerank"]["p95"] == pytest.approx(np.quantile(nodes, 0.95))


# What confidence is worth: against scipy, and every order of equal confidences.


def some(n: int, seed: int, *, decimals: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    confidence = np.round(generator.random(n), decimals)
    return confidence, (generator.random(n) < confidence).astype(np.float64)


def once(n: int) -> Floats:
    return np.ones((1, n))


@pytest.mark.parametrize("decimals", [1, 12])
def test_auroc_is_mann_whitneys(decimals: int) -> None:
    confidence, right = some(400, 1, decimals=decimals)
    found = auroc(confidence, right)(once(400))[0]
    wins = stats.mannwhitneyu(confidence[right == 1], confidence[right == 0]).statistic
    assert found == pytest.approx(wins / (right.sum() * (1 - right).sum()))
