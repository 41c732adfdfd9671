"""`research` from end to end, with a model that reads its prompts: what it finds out, and how it
ends where there is nothing to find, something to refuse, or no time left."""

import asyncio
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from secondlook.graphs.research import build
from secondlook.models.prices import Caps
from secondlook.nodes.research import NOISE
from secondlook.nodes.screen import WITHOUT
from secondlook.store.answers import AnswerMemory
from tests.support.engine import passages_of, settings_of
from tests.support.research import CodeShelf, Ran, engine, problems, research, run, seed_001
from tests.support.research_clerk import Clerk, retry_at_once, shown, synthesise
from tests.support.research_world import (
    BARGE,
    CODE,
    DARK,
    LIGHTS,
    MISLED,
    OPTIONS,
    ORDER,
    POISONED,
    SIMPLE,
    UNKNOWN,
    asked,
)

WHOLE = asked(BARGE, OPTIONS)
INVENTED = "Napoleon forgave every skipper in 1804 [1]."


@pytest.fixture
def memory() -> Iterator[AnswerMemory]:
    with AnswerMemory.temporary() as made:
        yield made


def kept(ran: Ran, at: int) -> set[str]:
    """The passages that a step was shown."""
    return {one.passage for one in ran.research.steps[at].evidence if one.kept}


def test_three_failed_steps_end_in_an_honest_failure(memory: AnswerMemory) -> None:
    model = Clerk()
    made = run(MISLED, model=model, memory=memory)
    # The reader sees no answer; the model is shown what was found all the same, and finds none.
    assert model.asked == ["plan", "synthesise", "replan", "synthesise", "replan", "synthesise"]
    assert made.ended == ("abstained", "no_progress")
    assert made.statuses() == ["failed"] * 3
    report = made.research
    assert (report.completed, report.weak, report.failed, report.pending) == (0, 0, 3, 0)
    assert report.cycles == 3
    assert not made.answer.claims
    assert not made.answer.citations
    assert "All 3 steps failed" in made.answer.text
    for one in report.steps:
        assert one.question in made.answer.text
        assert len([item for item in one.evidence if item.kept]) == 5
    assert made.answer.text.count("Nearest:") == 3
    assert not report.remembered
    assert memory.list() == []
    assert problems(made.answer) == []


# What is refused or kept out


def test_a_question_that_gives_orders_is_refused_before_anything_is_looked_up() -> None:
    model = Clerk()
    made = run(f"{SIMPLE} {ORDER}", model=model)
    assert made.ended == ("refused", "refused")
    assert made.answer.exit_code == 4
    assert made.nodes == ("separate", "screen", "finish")
    assert (model.asked, made.shelf.finds) == ([], [])
    assert made.answer.text.startswith("This was not researched: the question gives orders")
    assert "I couldn't find" not in made.answer.text
    assert problems(made.answer) == []
    hidden = run(asked(BARGE, {**OPTIONS, "C": ORDER}), model=model)
    assert (hidden.answer.status, hidden.research.screen.where) == ("refused", "C")
    assert "choice C gives orders" in hidden.answer.text
    assert model.asked == []


def test_a_passage_that_gives_orders_reaches_no_prompt() -> None:
    shelf = CodeShelf(passages_of([*CODE, ("poison", f"Untended barges: {ORDER} {POISONED}")]))
    model = Clerk()
    made = run(BARGE, model=model, shelf=shelf)
    assert made.research.quarantined == 1
    assert all(ORDER not in prompt for prompt in model.prompts())
    (item,) = [one for one in made.answer.passages if one.id == "poison.0"]
    assert (item.kept, item.why.startswith("quarantined: ")) == (False, True)
    told = [one for one in made.state["steps"] if one["node"] == "quarantine"]
    assert sum(one["numbers"]["quarantined"] for one in told) == 1
    assert any("poison.0" in one["said"] for one in told)
    assert [len(kept(made, at)) for at in range(3)] == [5, 5, 5]
    assert made.ended == ("answered", "answered")
    assert 'it gives a model orders: "Poison"' in made.answer.text


def test_the_rest_of_a_passage_that_gives_orders_is_read() -> None:
    shelf = CodeShelf(passages_of([*CODE, ("poison", POISONED)]))
    model = Clerk()
    made = run(BARGE, model=model, shelf=shelf)
    assert all(ORDER not in prompt for prompt in model.prompts())
    (item,) = [one for one in made.answer.passages if one.id == "poison.0"]
    assert (item.kept, item.why) == (True, WITHOUT)
    assert 'A part that gives a model orders was left out of "Poison".' in made.answer.text


# What does not hold


def test_a_fabrication_is_cut_told_and_not_remembered(memory: AnswerMemory) -> None:
    model = Clerk(synthesise=lambda request: f"{synthesise(request)} {INVENTED}")
    made = run(SIMPLE, model=model, memory=memory)
    assert made.ended == ("partial", "answered")
    assert "Napoleon" not in made.answer.text
    assert made.research.steps[0].cut == 1
    assert [claim.text for claim in made.answer.claims] == [LIGHTS]
    assert "(1 more sentence was cut" in made.answer.text
    assert not made.research.remembered
    assert memory.list() == []
    assert problems(made.answer) == []


def test_a_simple_plan_that_fails_goes_on_in_several_steps_once() -> None:
    model = Clerk()
    made = run(UNKNOWN, model=model)
    assert made.research.escalated
    assert made.research.query_type == "multi_hop"
    assert model.asked == ["plan", "synthesise", "replan"]
    assert made.ended == ("abstained", "low_confidence")
    assert "The only step failed" in made.answer.text


def test_a_failed_step_is_asked_again_in_other_words() -> None:
    made = run(DARK, model=Clerk(replan=retry_at_once))
    first, second = made.research.steps[:2]
    assert (first.status, second.status) == ("failed", "completed")
    assert (second.retry_of, second.attempt) == (1, 2)
    assert kept(made, 0) & kept(made, 1), "a retry may see what failed the first wording"
    assert LIGHTS in [claim.text for claim in made.answer.claims]
    assert made.ended == ("answered", "answered")
    assert problems(made.answer) == []


def test_the_reader_doubts_and_does_not_veto(memory: AnswerMemory) -> None:
    """What a model has read and the evidence carries stands: with a caveat where the reader sees no
    answer, as it is where the reader is only unsure. A list of titles is no finding."""
    settings = research(min_confidence=0.8)
    near = CodeShelf(scores={LIGHTS: 0.9})
    assert run(SIMPLE, model=Clerk(), shelf=near, settings=settings).statuses() == ["completed"]
    titled = Clerk(synthesise=lambda request: f"{shown(request)[1].splitlines()[0]} [1].")
    assert run(SIMPLE, model=titled, shelf=near, settings=settings).statuses()[0] == "failed"
    far = CodeShelf(scores=dict.fromkeys((text for _, text in CODE), -4.0))
    made = run(SIMPLE, model=Clerk(), shelf=far, memory=memory, settings=settings)
    assert made.statuses() == ["weak"]
    assert made.ended == ("partial", "answered")
    assert "Step 1 stands on weak evidence" in made.answer.text
    assert LIGHTS in made.answer.text
    assert memory.list() == []
    assert problems(made.answer) == []


# What is cut short


def test_a_budget_that_ends_midway_leaves_what_was_found(memory: AnswerMemory) -> None:
    made = run(WHOLE, model=Clerk(), caps=Caps(calls=3), memory=memory)
    assert made.calls == 3
    assert made.statuses()[0] == "completed"
    assert (made.answer.status, made.answer.stop_reason) == ("partial", "budget")
    assert LIGHTS in made.answer.text
    assert {one.error for one in made.answer.warnings} == {"BudgetExceeded"}
    assert not made.research.remembered
    assert problems(made.answer) == []


def test_at_the_deadline_the_best_so_far_is_told() -> None:
    settings = settings_of(runs={"keep": 0}, budget={"seconds": 5.0})
    blocked = threading.Event()
    opened = engine(settings, Clerk(), shelf=CodeShelf(blocked=blocked))

    async def go() -> Any:
        try:
            return await opened.aask(BARGE, workflow="research")
        finally:
            blocked.set()

    answer = asyncio.run(go())
    assert (answer.status, answer.stop_reason) == ("partial", "deadline")
    assert [claim.text for claim in answer.claims] == [LIGHTS]
    assert "The run stopped before this was finished" in answer.text
    assert answer.research is not None
    assert [one.status for one in answer.research.steps] == ["completed", "pending"]
    assert problems(answer) == []


# What the research agent as first published could not do: count its failures, reach every branch,
# stagnate on the scale in use, and keep what lies near the threshold


def _three_failures(*scores: float) -> Ran:
    """Each step is shown five passages, which the reader scores alike."""
    each = [score for score in scores for _ in range(5)]
    read = dict(zip((text for _, text in CODE), each, strict=False))
    return run(MISLED, model=Clerk(), shelf=CodeShelf(level=True, scores=read))


def test_failures_within_the_noise_stop_the_research_and_others_do_not() -> None:
    """At scores that steps really have: near the threshold, not near nothing."""
    made = _three_failures(1.3, 1.28, 1.26, 1.24, 1.22)
    sure = [one.confidence or 0.0 for one in made.research.steps]
    assert all(0.2 < value < 0.4 for value in sure)
    assert 0 < max(sure) - min(sure) < NOISE
    assert (made.routes[-1], made.research.cycles) == (("evaluate", "aggregate"), 3)
    assert "failed alike" in made.research.stopped
    other = _three_failures(1.3, 0.6, -0.4, -1.4, -2.4)
    assert other.routes[-2:] == [("evaluate", "replan"), ("replan", "aggregate")]
    published = run(MISLED, model=Clerk(), settings=seed_001(), shelf=CodeShelf(floor=0.65))
    assert "failed alike" in published.research.stopped


def test_failures_that_bring_nothing_new_stop_the_research() -> None:
    shelf = CodeShelf(passages_of(CODE[:5]))
    question = f"{MISLED} Are lights kept in museums, and is there ambergris in a whale?"
    made = run(question, model=Clerk(), shelf=shelf, settings=research(max_cycles=9))
    assert made.statuses() == ["completed", "failed", "failed", "failed"]
    assert "brought nothing new" in made.research.stopped


def test_every_branch_of_every_router_is_taken_by_some_run(memory: AnswerMemory) -> None:
    runs = [
        run(WHOLE, model=Clerk(), memory=memory),
        run(WHOLE, model=Clerk(), memory=memory, name="later"),
        run(SIMPLE, model=Clerk()),
        run(MISLED, model=Clerk(), settings=research(enable_stagnation=False)),
        run(f"{SIMPLE} {ORDER}", model=Clerk()),
    ]
    branches = {
        (node, target)
        for node, decisions in build(settings_of()).branches.items()
        for decision in decisions.values()
        for target in (decision.ends or {}).values()
    }
    assert len(branches) == 10
    assert branches <= {pair for one in runs for pair in pairwise(one.nodes)}
