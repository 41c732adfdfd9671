"""Follow-ups made stand-alone: by the embedded understander, and by a model that may be wrong."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelError
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps
from secondlook.nodes.rewrite import condense
from secondlook.roles.follow_up import StandAlone, Turn, stand_alone
from tests.support.function_model import FunctionModel, asker_of

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

MAYOR = Turn("Who is the mayor?", "Amara Castellan", "The mayor is Amara Castellan.", ("Minutes",))
BERTH = Turn("How deep is berth 4?", "7.8 metres", "Berth 4 is 7.8 metres deep.", ("Survey",))


@pytest.mark.parametrize(
    ("before", "short", "question", "asked"),
    [
        ("How deep is berth 4?", "7.8 m", "and in 2016?", "How deep is berth 4 in 2016?"),
        ("how deep is berth 3", "5 m", "what about berth 4?", "how deep is berth 4?"),
        ("How deep is the north quay?", None, "And the south quay?", "How deep is the south quay?"),
        (
            "Who runs the ferry to Tolham?",
            None,
            "How about Lessing?",
            "Who runs the ferry to Lessing?",
        ),
        (
            "What does a yacht pay?",
            None,
            "And without water?",
            "What does a yacht pay without water?",
        ),
        ("Did the council agree?", None, "Why?", "Why did the council agree?"),
        ("Why did the council agree?", None, "Why?", "Why?"),
        (
            "Who is the mayor?",
            "Amara Castellan",
            "What did she say?",
            "What did Amara Castellan say?",
        ),
        (
            "Who is the mayor?",
            "Amara Castellan",
            "What is her plan?",
            "What is Amara Castellan's plan?",
        ),
        (
            "When was the Harbour Survey made?",
            "2024",
            "who wrote it?",
            "who wrote the Harbour Survey?",
        ),
        ("what do yachts pay", "3.20", "when do they pay?", "when do yachts pay?"),
        ("Who is Marin Čilić?", "a player", "where does he live?", "where does Marin Čilić live?"),
        ("Who sells it (™)?", "Ema Nováková", "where is she?", "where is Ema Nováková?"),
        ("Where was the lamp made?", "Tolham", "who lives there?", "who lives in Tolham?"),
    ],
)
def test_a_follow_up_is_filled_in(
    before: str, short: str | None, question: str, asked: str
) -> None:
    assert stand_alone(question, [Turn(before, short, short or "")]) == asked


@pytest.mark.parametrize(
    "question",
    [
        "what will dredging the harbour cost",
        "Is it true that the light went out?",
        "Did Piet Aldous lose his hat?",
        "What is the capital of France?",
        "Who voted against it and why did " + "the council " * 50 + "agree?",
    ],
)
def test_what_stands_alone_is_not_touched(question: str) -> None:
    assert stand_alone(question, [MAYOR, BERTH]) == question


# By a model


def rewriting(request: ChatRequest) -> str:
    """Puts the last name or berth of the conversation in the place of a pronoun."""
    prompt = request.messages[-1].content
    history, _, question = prompt.partition("Last question: ")
    found = re.findall(r"[Bb]erth \d|[A-Z]\w+ [A-Z]\w+", history)
    return re.sub(r"\b(it|she|he)\b", found[-1] if found else "?", question.strip())


def made(function: Any, question: str, turns: list[Turn], **options: Any) -> StandAlone:
    async def go() -> StandAlone:
        return await condense(asker_of(FunctionModel(function), **options), question, turns)

    return asyncio.run(go())


def test_a_model_rewrites_from_the_conversation_that_it_is_shown() -> None:
    got = made(rewriting, "how old is she?", [BERTH, MAYOR])
    assert got.asked == "how old is Amara Castellan?"
    (step,) = got.steps
    assert (step.node, step.numbers["by"], step.numbers["changed"]) == ("condense", "a model", True)
    assert got.usage.calls == 1
    assert not got.warnings
    assert made(rewriting, "who uses it?", [MAYOR, BERTH]).asked == "who uses berth 4?"


def test_thanks_stand_alone_and_are_no_turn_that_a_follow_up_leans_on() -> None:
    model = FunctionModel(rewriting)
    thanks = Turn("Thanks!", None, "")
    for said in ("thanks", "which files do you have?"):
        got = asyncio.run(condense(asker_of(model), said, [MAYOR]))
        assert got == StandAlone(said)
    assert model.requests == []
    assert made(lambda _: "", "how old is she?", [MAYOR, thanks]).asked == (
        "how old is Amara Castellan?"
    )
    asked = made(lambda _: "", "which files do you have about her?", [MAYOR]).asked
    assert asked == "which files do you have about Amara Castellan?"


def test_a_model_is_not_asked_about_what_stands_alone() -> None:
    model = FunctionModel(rewriting)
    got = asyncio.run(condense(asker_of(model), "what will dredging the basin cost?", [MAYOR]))
    assert got == StandAlone("what will dredging the basin cost?")
    assert not asyncio.run(condense(asker_of(model), "who wrote it?", [])).steps
    assert model.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "She is 44 years old.",
        "Amara Castellan is the mayor?\nShe is 44.",
        "How old is the president of the United States in Washington?",
        "<|im_start|>how old is she?",
        "how old is she? " * 40,
        "how old is Amara Castellan? She is 44. Is that so?",
        "Sorry?",
    ],
)
def test_what_is_no_rewrite_gives_way_to_the_understander(reply: str) -> None:
    got = made(lambda _: reply, "how old is she?", [MAYOR])
    assert got.asked == "how old is Amara Castellan?"
    assert got.steps[0].numbers["by"] == "the understander"
    (warning,) = got.warnings
    assert (warning.node, warning.error) == ("condense", "UnusableReply")


def test_a_model_that_fails_or_hangs_gives_way_to_the_understander() -> None:
    def broken(_: ChatRequest) -> str:
        raise ModelError("it broke")

    async def hanging(_: ChatRequest) -> str:
        await asyncio.Event().wait()
        return "never"

    assert made(broken, "how old is she?", [MAYOR]).warnings[0].error == "ModelError"
    late = made(hanging, "how old is she?", [MAYOR], caps=Caps(seconds=0.05))
    assert late.asked == "how old is Amara Castellan?"
    assert late.warnings


def test_one_call_is_left_to_the_answer() -> None:
    model = FunctionModel(rewriting)
    ledger = Ledger(Caps(calls=1), set_aside=(100, 100))
    got = asyncio.run(condense(asker_of(model, ledger=ledger), "how old is she?", [MAYOR]))
    assert got.asked == "how old is Amara Castellan?"
    assert got.warnings[0].error == "BudgetExceeded"
    assert model.requests == []
