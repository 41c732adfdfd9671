"""A reply to a question back is taken as the reading of the question before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import turn_of
from secondlook.nodes.rewrite import condense
from secondlook.roles.ambiguity import reading
from secondlook.roles.follow_up import StandAlone, Turn
from tests.support.function_model import FunctionModel, asker_of
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest, ChatResult

SHE = Turn(
    "When did she leave her group?",
    asks_back='Whom do you mean by "she": Beyoncé, Kelly Rowland or Michelle Williams?',
)
ALBUM = Turn(
    "When was the album released?", asks_back="Which album do you mean: Lemonade or B'Day?"
)


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("Beyoncé", "Beyoncé"),
        ("beyonce", "Beyoncé"),
        ("Beyonce?", "Beyoncé"),
        ("I mean Beyoncé, please.", "Beyoncé"),
        ("sorry, kelly rowland", "Kelly Rowland"),
        ("rowland", "Kelly Rowland"),
        ("the second one", "Kelly Rowland"),
        ("2", "Kelly Rowland"),
        ("the last", "Michelle Williams"),
        ("LaTavia Roberson", "LaTavia Roberson"),
        ("The Supremes", "The Supremes"),
    ],
)
def test_a_reply_fills_the_unclear_word(reply: str, meant: str) -> None:
    assert reading(reply, SHE) == f"When did {meant} leave her group?"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "?",
        "Thanks",
        "Both",
        "neither",
        "Who",
        "never mind",
        "the fourth",
        "Who is the mayor?",
        "What about Solange?",
        "And Kelly Rowland and Beyoncé in 2004",
        "how deep is berth 4",
        "x" * 200,
    ],
)
def test_anything_else_is_a_question_of_its_own(reply: str) -> None:
    assert reading(reply, SHE) is None


def test_a_vague_noun_takes_the_name() -> None:
    assert reading("lemonade", ALBUM) == "When was Lemonade released?"
    assert reading("B'Day", ALBUM) == "When was B'Day released?"


def test_only_what_was_asked_back_is_replied_to() -> None:
    assert reading("Beyoncé", Turn(SHE.asked)) is None
    assert reading("Beyoncé", Turn("Who is the mayor?", asks_back=SHE.asks_back)) is None


def test_no_model_is_asked_what_a_reply_means() -> None:
    model = FunctionModel(_never)
    made = _condensed(model, "Beyoncé", (SHE,))
    assert made.asked == "When did Beyoncé leave her group?"
    assert [step.said for step in made.steps] == [f"Took it as: {made.asked}"]
    assert made.usage.calls == 0


def test_what_was_asked_back_is_remembered_for_one_turn() -> None:
    back = full_answer("r").model_copy(update={"asks_back": SHE.asks_back, "asked": SHE.asked})
    turns = (turn_of(back), turn_of(full_answer("s")))
    assert turns[0].asks_back == SHE.asks_back
    assert reading("Beyoncé", turns[0])
    assert reading("Beyoncé", turns[1]) is None


def _condensed(model: FunctionModel, question: str, turns: tuple[Turn, ...]) -> StandAlone:
    return asyncio.run(condense(asker_of(model), question, turns))


def _never(_: ChatRequest) -> ChatResult:
    raise AssertionError("a model was asked")
