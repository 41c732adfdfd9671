"""How many model calls a research takes, with the design as first published and by default; and
that nobody who plans, searches or writes is ever sent a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.store.answers import AnswerMemory
from tests.support.engine import settings_of
from tests.support.research import CodeShelf, Ran, research, run, seed_001
from tests.support.research_clerk import Clerk, replan, step_of
from tests.support.research_world import (
    BARGE,
    LONG_SIMPLE,
    MISLED,
    MIXED,
    OPTIONS,
    SIMPLE,
    SIMPLE_OPTIONS,
    UNCLEAR,
    asked,
)

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings

SEED, OURS = seed_001(), settings_of()
WHOLE = asked(BARGE, OPTIONS)


def ran(question: str, settings: Settings, model: Clerk | None = None, **given: Any) -> Ran:
    """Likeness is on the scale of the design as first published: unrelated texts have 0.65."""
    given.setdefault("shelf", CodeShelf(floor=0.65))
    return run(question, settings=settings, model=model or Clerk(), **given)


@pytest.mark.parametrize(
    ("question", "seed", "ours"),
    [
        pytest.param(SIMPLE, 3, 2, id="simple, and its own plan"),
        pytest.param(LONG_SIMPLE, 4, 3, id="simple, and long"),
        pytest.param(asked(SIMPLE, SIMPLE_OPTIONS), 4, 3, id="simple with choices"),
        pytest.param(BARGE, 10, 6, id="multi_hop"),
        pytest.param(WHOLE, 11, 7, id="multi_hop with choices"),
        pytest.param(MISLED, 10, 6, id="all failed"),
        pytest.param(asked(MISLED, OPTIONS), 10, 6, id="all failed with choices"),
    ],
)
def test_calls_of_a_research(question: str, seed: int, ours: int) -> None:
    model = Clerk()
    assert ran(question, SEED, model).calls == len(model.asked) == seed
    assert ran(question, OURS).calls == ours


def test_a_mixed_research_with_choices_takes_at_most_fourteen() -> None:
    """Four steps, some of them failed."""
    settings = seed_001(enable_stagnation=False)
    made = ran(asked(MIXED, OPTIONS), settings, Clerk(replan=replan))
    assert sorted(made.statuses()) == ["completed", "completed", "failed", "failed"]
    assert made.calls == 14
    default = ran(asked(MIXED, OPTIONS), OURS)
    assert sorted(default.statuses()) == ["completed", "completed", "failed", "failed"]
    assert default.calls == 9  # 4 plans, 4 findings, 1 choice


@pytest.mark.parametrize("settings", [SEED, OURS], ids=["seed", "ours"])
def test_a_memory_hit_takes_none_and_one_with_choices(settings: Settings) -> None:
    checked = settings.answer.model_copy(update={"enable_grounded_check": True})
    settings = settings.model_copy(update={"answer": checked})
    with AnswerMemory.temporary() as memory:
        assert ran(BARGE, settings, memory=memory).research.remembered
        again = ran(BARGE, settings, memory=memory, name="later")
        chosen = ran(WHOLE, settings, memory=memory, name="later")
    assert (again.calls, chosen.calls) == (0, 1)
    assert chosen.answer.short == "C"


@pytest.mark.parametrize(("screened", "calls"), [(False, 2), (True, 3)])
def test_screening_by_a_model_is_one_call_more(*, screened: bool, calls: int) -> None:
    made = ran(UNCLEAR, research(enable_screen_model=screened))
    assert made.calls == calls
    assert made.research.screen.verdict == ("safe" if screened else "unclear")


# Choices stay where they belong


def _leaked(model: Clerk, options: dict[str, str], *, but: set[str]) -> set[str]:
    """Steps whose prompts hold the text of a choice, those aside that may."""
    return {
        step_of(request)
        for request in model.requests
        for text in options.values()
        if any(text in one.content for one in request.messages)
    } - but


@pytest.mark.parametrize("settings", [SEED, OURS], ids=["seed", "ours"])
def test_no_choice_reaches_a_prompt_but_that_of_the_choice(settings: Settings) -> None:
    model = Clerk()
    made = ran(WHOLE, settings, model)
    assert {"plan", "replan", "synthesise", "choose"} <= set(model.asked)
    assert _leaked(model, OPTIONS, but=set()) == {"choose"}
    queries = [query for query, _ in made.shelf.finds]
    assert queries
    assert not any(text in query for query in queries for text in OPTIONS.values())
