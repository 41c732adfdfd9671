"""The bounds of `corrective`, and the limits that its page names."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.engine.execution import Watched
from secondlook.graphs.corrective import most_by_node, most_visits
from secondlook.reading.calibration import load_calibration
from tests.support.corrective import corrective
from tests.support.corrective_hostile import hostile_cases
from tests.support.engine import CALIBRATED

if TYPE_CHECKING:
    import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "corrective.md").read_text("utf-8")


def test_the_page_has_the_limits_of_the_shipped_calibration() -> None:
    shipped = load_calibration(CALIBRATED, None)
    said = " ".join(PAGE.split())
    assert f"relevance above {shipped.min_about} is about it" in said
    assert f"with a probability of {shipped.min_answer} it answers" in said
    assert f"the search quality is at least {shipped.min_quality}:" in said
    assert f"the search quality is below {shipped.min_web_quality}:" in said
    assert f"The sum ({most_visits(corrective())} by default)" in said


def test_a_step_that_is_off_has_no_visits() -> None:
    most = most_by_node(corrective(enable_rewriting=False, enable_useful_check=False))
    assert not {"rewrite", "search_again", "check_useful", "search_web"} & set(most)
    assert most["answer"] == most["check_grounded"] == 3
    assert most["grade"] == 3


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
