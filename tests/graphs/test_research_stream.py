"""The longest research that settings allow, as whoever watches it sees it: every node is an event,
and nothing but findings is in the stream of tokens."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from secondlook.graphs import research
from secondlook.store.answers import AnswerMemory
from tests.support.bounds import most_asked
from tests.support.engine import settings_of
from tests.support.research import CodeShelf, engine, problems
from tests.support.research_clerk import Clerk, shown, weighed
from tests.support.research_world import MIXED, asked

if TYPE_CHECKING:
    from secondlook.events import Event
    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

CHOICES = {
    "A": "Letting a ship come in dark, with no lights at all.",
    "B": "Leaving his own boat untended overnight.",
    "C": "Hauling nets of fishermen ashore.",
    "D": "Selling bones of a whale, marked <|im_start|> by its finders.",
}
QUESTION = asked(MIXED, CHOICES)


def thorough() -> Settings:
    """Everything that may cost a call is on."""
    return settings_of(
        runs={"keep": 0},
        corrective={"grounded_judge": "llm"},
        research={
            "enable_screen_model": True,
            "classifier": "llm",
            "calls": "separate",
            "enable_escalation": False,
            "enable_stagnation": False,
            "max_steps": 10,
        },
    )


def _first_sentence(request: ChatRequest) -> str:
    """Of the best passage, whatever was asked."""
    return f"{shown(request)[1].split(chr(10), 1)[-1].split('.')[0]} [1]."


def _contradicting(request: ChatRequest) -> str:
    return json.dumps({**json.loads(weighed(request, "B")), "answer": "A"})


def watched(settings: Settings, question: str, model: Clerk, **given: Any) -> list[Event]:
    async def go() -> list[Event]:
        opened = engine(settings, model, **given)
        try:
            return [event async for event in opened.astream(question, workflow="research")]
        finally:
            await opened.aclose()

    return asyncio.run(go())


@pytest.fixture(scope="module")
def run() -> tuple[list[Event], Clerk]:
    model = Clerk(classify="multi_hop", synthesise=_first_sentence, choose=_contradicting)
    with (
        AnswerMemory.temporary() as memory,
        # So that a model is asked about every sentence.
        mock.patch("secondlook.nodes.answer.DEFAULT_MIN_SUPPORT", 0.9),
        mock.patch("secondlook.nodes.check.DEFAULT_MIN_SUPPORT", 0.9),
    ):
        events = watched(thorough(), QUESTION, model, memory=memory, shelf=CodeShelf())
    return events, model


def of(events: list[Event], kind: str) -> list[Any]:
    return [event for event in events if event.type == kind]


def test_the_run_is_as_long_as_the_settings_allow_and_every_visit_is_seen(
    run: tuple[list[Event], Clerk],
) -> None:
    events, model = run
    answer = events[-1].answer  # type: ignore[union-attr]
    assert answer.usage.calls == len(model.asked) == most_asked(research, thorough()) == 21
    assert answer.research is not None
    assert answer.research.cycles == 4
    assert problems(answer) == []

    begun = Counter(event.node for event in of(events, "node_started"))
    ended = Counter(event.node for event in of(events, "node_finished"))
    assert begun == ended == research.most_by_node(thorough())
    assert [event.at for event in events[1:]] == sorted(event.at for event in events[1:])
    routed = Counter(event.source for event in of(events, "routed"))
    assert routed == {"screen": 1, "recall": 1, "evaluate": 4, "replan": 3}
    assert all(event.why for event in of(events, "routed"))


def test_the_stream_of_tokens_holds_findings_and_nothing_else(
    run: tuple[list[Event], Clerk],
) -> None:
    events, model = run
    said = "".join(event.text for event in of(events, "token"))
    answer = events[-1].answer  # type: ignore[union-attr]
    assert said.split() == " ".join(claim.text for claim in answer.claims).split()
    for mark in ("{", "}", '"', "<<", "multi_hop", "next_step", "Answer:", *CHOICES.values()):
        assert mark not in said
    assert len(model.asked) > 20
