"""The twelve flaws that are known of the research agent as first published, each with a test that
fails on what it did: a count and a check that could not be right, a branch and a rule that could
not be reached, three ways to be wrong, and five habits of its code."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING

import pytest

from secondlook.answer import Answer, ResearchStep, StepEvidence
from secondlook.errors import ModelError, ModelUnavailable, SecondlookError, UnusableReply
from secondlook.graphs.research import build
from secondlook.nodes.research import NOISE
from secondlook.store.answers import AnswerMemory
from tests.support.compiling import counting_compilations
from tests.support.engine import passages_of, settings_of
from tests.support.research import CodeShelf, engine, problems, research, run, seed_001
from tests.support.research_clerk import (
    Clerk,
    plan,
    retry_at_once,
    weighed,
)
from tests.support.research_world import (
    BARGE,
    CODE,
    LIGHTS,
    MISLED,
    OPTIONS,
    ORDER,
    SIMPLE,
    SIMPLE_OPTIONS,
    asked,
)

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from tests.support.research import Ran

WHOLE = asked(BARGE, OPTIONS)


# 1. The count in the message of failure stayed at one.


@pytest.mark.parametrize(
    ("cycles", "said"),
    [
        (1, "The only step failed"),
        (2, "Both steps failed"),
        (4, "All 4 steps failed"),
    ],
)
def test_flaw_1_the_message_counts_every_step_that_failed(cycles: int, said: str) -> None:
    settings = research(max_cycles=cycles, enable_stagnation=False)
    made = run(MISLED, model=Clerk(replan=retry_at_once), settings=settings)
    assert made.statuses() == ["failed"] * cycles
    assert said in made.answer.text
    assert (made.research.failed, made.research.cycles) == (cycles, cycles)
    told = [one["numbers"]["failed"] for one in made.state["steps"] if one["node"] == "evaluate"]
    assert told == list(range(1, cycles + 1))
    assert problems(made.answer) == []


# 2. The verdict of the check was always yes: `test_a_fabrication_is_cut_told_and_not_remembered`.


# 3. Stagnation asked for scores that the scale in use never has.


def _three_failures(*scores: float) -> Ran:
    """Each step is shown five passages, which the reader scores alike."""
    each = [score for score in scores for _ in range(5)]
    read = dict(zip((text for _, text in CODE), each, strict=False))
    return run(MISLED, model=Clerk(), shelf=CodeShelf(level=True, scores=read))


def test_flaw_3_failures_within_the_noise_stop_the_research_through_the_router() -> None:
    """At scores that steps really have: near the threshold, not near nothing."""
    made = _three_failures(3.7, 3.65, 3.6, 0.0, 0.0)
    sure = [one.confidence or 0.0 for one in made.research.steps]
    assert all(0.3 < value < 0.4 for value in sure)
    assert 0 < max(sure) - min(sure) < NOISE
    assert made.routes[-1] == ("evaluate", "aggregate")
    assert made.research.cycles == 3
    assert "failed alike" in made.research.stopped


def test_flaw_3_failures_that_differ_do_not_stop_it() -> None:
    made = _three_failures(3.7, 3.0, 2.0, 0.0, 0.0)
    sure = [one.confidence or 0.0 for one in made.research.steps]
    assert max(sure) - min(sure) > NOISE
    assert made.routes[-2:] == [("evaluate", "replan"), ("replan", "aggregate")]


def test_flaw_3_failures_that_bring_nothing_new_stop_the_research() -> None:
    shelf = CodeShelf(passages_of(CODE[:5]))
    question = f"Are lights kept in museums, and is there ambergris in a whale? {MISLED}"
    made = run(question, model=Clerk(), shelf=shelf, settings=research(max_cycles=9))
    assert made.statuses() == ["completed", "failed", "failed", "failed"]
    assert "brought nothing new" in made.research.stopped


def test_flaw_3_the_scale_of_likeness_can_stagnate_too() -> None:
    """Its scores start at 0.65: no three of them are ever below 0.35."""
    made = run(MISLED, model=Clerk(), settings=seed_001(), shelf=CodeShelf(floor=0.65))
    assert min(one.confidence or 0.0 for one in made.research.steps) >= 0.65
    assert "failed alike" in made.research.stopped


# 4. A branch of the planner could not be reached.


def _branches() -> set[tuple[str, str]]:
    """Every way out of every decision, by the node that it comes from and the one it leads to."""
    graph = build(settings_of())
    return {
        (node, target)
        for node, decisions in graph.branches.items()
        for decision in decisions.values()
        for target in (decision.ends or {}).values()
    }


def _taken(*made: Ran) -> set[tuple[str, str]]:
    return {pair for one in made for pair in itertools.pairwise(one.nodes)}


def test_flaw_4_every_branch_of_every_router_is_taken_by_some_run() -> None:
    with AnswerMemory.temporary() as memory:
        runs = [
            run(WHOLE, model=Clerk(), memory=memory),
            run(WHOLE, model=Clerk(), memory=memory, name="later"),
            run(SIMPLE, model=Clerk()),
            run(MISLED, model=Clerk(), settings=research(enable_stagnation=False)),
            run(f"{SIMPLE} {ORDER}", model=Clerk()),
        ]
    assert len(_branches()) == 10
    assert _branches() <= _taken(*runs)


# 5. A model mapped the facts to the elements of the rule, and named a letter that did not follow.


def _misnamed(request: ChatRequest) -> str:
    """All verdicts are for C; the letter that it names is another."""
    said = json.loads(weighed(request, "C"))
    return json.dumps({**said, "answer": "A"})


def test_flaw_5_code_derives_the_letter_from_the_verdicts() -> None:
    model = Clerk(choose=_misnamed)
    made = run(WHOLE, model=model)
    assert made.answer.choice is not None
    assert made.answer.choice.letter == "C"
    assert model.asked.count("choose") == 2
    assert "A was named as the answer, but by what is met it is C" in made.answer.choice.why
    sure = run(WHOLE, model=Clerk()).answer.choice
    assert sure is not None
    assert (made.answer.choice.confidence or 1) < (sure.confidence or 0)


# 6. Near the threshold, chance decided whether a step was thrown away.


def test_flaw_6_the_same_evidence_gets_the_same_verdict_and_the_borderline_is_kept() -> None:
    seen = set()
    for score in (0.86, 0.9, 0.94):
        for _ in range(2):
            made = run(SIMPLE, model=Clerk(), shelf=CodeShelf(scores={LIGHTS: score}))
            (one,) = made.research.steps
            seen.add((score, one.confidence, one.status))
            assert LIGHTS in [claim.text for claim in made.answer.claims]
    assert {status for _, _, status in seen} == {"weak"}
    assert len(seen) == 3, "two runs of the same evidence differ"


# 7. Every multiple-choice question was taken for a hard one.


@pytest.mark.parametrize("classifier", ["rules", "llm"])
def test_flaw_7_a_choice_on_one_concept_is_simple(classifier: str) -> None:
    settings = research(classifier=classifier)
    made = run(asked(SIMPLE, SIMPLE_OPTIONS), model=Clerk(), settings=settings)
    assert made.research.query_type == "simple"
    assert made.visits()["replan"] == 0
    hard = run(WHOLE, model=Clerk(), settings=settings)
    assert hard.research.query_type == "multi_hop"


# 8. What may be tried again was told by words in the message.


def test_flaw_8_what_may_be_tried_again_is_a_class_of_errors() -> None:
    kinds: list[type[SecondlookError]] = [ModelUnavailable, UnusableReply, ModelError]
    assert [kind.retryable for kind in kinds] == [True, False, False]
    settings = settings_of(models={"retries": 1})
    away = Clerk(plan=[ModelUnavailable("quite plain words"), plan])
    misleading = Clerk(plan=ModelError("429 rate limit, timeout, connection: please try again"))
    run(SIMPLE, model=away, settings=settings)
    made = run(SIMPLE, model=misleading, settings=settings)
    assert away.asked[:2] == ["plan", "plan"]
    assert misleading.asked.count("plan") == 1
    assert made.answer.status == "answered"


# 9. Ids of steps were decimal numbers.


def test_flaw_9_steps_have_integer_ids_in_the_order_of_trying() -> None:
    made = run(MISLED, model=Clerk(replan=retry_at_once))
    raw = json.loads(made.answer.model_dump_json())["research"]["steps"]
    assert [one["id"] for one in raw] == list(range(1, len(raw) + 1))
    assert all(type(one["id"]) is int for one in raw)
    assert raw[1]["retry_of"] == 1
    assert type(raw[1]["retry_of"]) is int


# 10. The graph was built anew for each question.


def test_flaw_10_however_many_questions_one_graph_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = counting_compilations(monkeypatch)
    settings = settings_of(runs={"keep": 0})

    async def go() -> None:
        for _ in range(2):
            opened = engine(settings, Clerk())
            for question in (SIMPLE, BARGE, WHOLE):
                await opened.aask(question, workflow="research")
            await opened.aclose()

    asyncio.run(go())
    assert len(compiled) == 1


# 11. The loader skipped a corpus that had as many documents as before: tests of the library.


# 12. Evidence was held in lists side by side.


def test_flaw_12_evidence_is_a_record_for_each_passage() -> None:
    made = run(BARGE, model=Clerk())
    assert ResearchStep.model_fields["evidence"].annotation == tuple[StepEvidence, ...]
    for one in made.research.steps:
        assert [item.rank for item in one.evidence] == list(range(1, len(one.evidence) + 1))
        assert len({item.passage for item in one.evidence}) == len(one.evidence)
        assert all(item.why for item in one.evidence)
        assert sum(item.kept for item in one.evidence) == 5
    whole = Answer.model_validate_json(made.answer.model_dump_json())
    assert whole.research == made.answer.research
