"""What a run of `corrective` costs, from the best to the worst, and that its page says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from secondlook.engine.execution import Watched
from secondlook.graphs.corrective import most_asked, most_by_node, most_visits
from secondlook.reading.calibration import load_calibration
from tests.support.corrective import corrective
from tests.support.corrective_hostile import hostile_cases
from tests.support.corrective_table import GRADERS, SCENARIOS, Row, row, table
from tests.support.engine import CALIBRATED

PAGE = (Path(__file__).parents[2] / "docs" / "corrective.md").read_text("utf-8")
BEST, REWRITE, REGENERATION, WORST = SCENARIOS


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], Row]:
    return {
        (scenario.name, grader): row(scenario, grader)
        for scenario in SCENARIOS
        for grader in GRADERS
    }


def test_the_page_has_the_table_that_the_runs_make() -> None:
    assert f"\n{table()}\n" in PAGE, "run scripts/corrective-table"


def test_the_page_has_the_limits_of_the_shipped_calibration() -> None:
    shipped = load_calibration(CALIBRATED, None)
    said = " ".join(PAGE.split())
    assert f"relevance above {shipped.min_about} is about it" in said
    assert f"with a probability of {shipped.min_answer} it answers" in said
    assert f"the search quality is at least {shipped.min_quality}:" in said
    assert f"the search quality is below {shipped.min_web_quality}:" in said


def test_where_nothing_goes_wrong_the_reader_costs_one_call_and_a_batch_two(
    rows: dict[tuple[str, str], Row],
) -> None:
    calls = [rows["best", grader].calls for grader in ("reader", "llm-batch")]
    assert calls == [1, 2]
    assert {rows["best", grader].visits for grader in GRADERS} == {10}


def test_a_rewrite_and_a_regeneration_cost_what_they_do(
    rows: dict[tuple[str, str], Row],
) -> None:
    best, rewritten = rows["best", "reader"], rows["one rewrite", "reader"]
    regenerated = rows["one regeneration", "reader"]
    assert (rewritten.visits, rewritten.retrievals) == (best.visits + 3, 2)
    assert (regenerated.visits, regenerated.retrievals) == (best.visits + 2, 1)
    assert rewritten.calls == regenerated.calls == best.calls + 1


def test_the_worst_case_is_the_bound_of_a_plain_question(
    rows: dict[tuple[str, str], Row],
) -> None:
    """Parts and readings are all that the bound has beyond it."""
    plain = corrective(enable_decomposition=False, enable_readings=False)
    assert rows["worst", "reader"].visits == most_visits(plain) + 1  # `split` looks at it
    assert rows["worst", "reader"].retrievals == 1 + plain.corrective.max_rewrites
    assert rows["worst", "reader"].calls == most_asked(plain)


def test_every_run_of_the_table_keeps_within_the_bound(rows: dict[tuple[str, str], Row]) -> None:
    for (_, grader), made in rows.items():
        settings = corrective(grader=grader)
        assert made.visits <= most_visits(settings)
        assert made.calls <= most_asked(settings)


def test_a_step_that_is_off_has_no_visits() -> None:
    most = most_by_node(corrective(enable_rewriting=False, enable_useful_check=False))
    assert not {"rewrite", "search_again", "check_useful", "search_web"} & set(most)
    assert most["answer"] == most["check_grounded"] == 3
    assert most["grade"] == 2


def test_langgraph_is_given_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    events = Watched.events

    def noted(watched: Watched, graph: Any, given: Any, config: Any, *more: Any) -> Any:
        limits.append(config["recursion_limit"])
        return events(watched, graph, given, config, *more)

    monkeypatch.setattr(Watched, "events", noted)

    async def go() -> int:
        async for case in hostile_cases(seed=0, count=1):
            most = most_visits(case.settings)
        return most

    # One more, for the step in which langgraph sees that nothing is left to do.
    assert asyncio.run(go()) + 1 == limits[0]
