"""Follow-ups made stand-alone: by the embedded understander, and by a model that may be wrong."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.same_question import read_pairs
from secondlook.errors import ModelError
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps
from secondlook.nodes.rewrite import condense
from secondlook.roles.follow_up import StandAlone, Turn, stand_alone
from secondlook.roles.same_question import compared, same_question
from tests.support.engine import settings_of
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
        ("what do yachts pay", "3.20", "when do they pay?", "when do yachts pay?"),
        ("Who is Marin Čilić?", "a player", "where does he live?", "where does Marin Čilić live?"),
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
    history, _, question = request.messages[-1].content.partition("Last question: ")
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
        assert asyncio.run(condense(asker_of(model), said, [MAYOR])) == StandAlone(said)
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


# Whether two questions ask the same: each kind of difference, and rewordings that are none.

ALIKE = 0.99
DIFFERENT = [
    ("Is a search with a warrant lawful?", "Is a search without a warrant lawful?", "denies"),
    ("Does the rule apply?", "Does the rule not apply?", "denies"),
    ("Who signed before the deadline?", "Who signed after the deadline?", "another way"),
    ("What does section 12 say?", "What does section 12A say?", "numbers"),
    ("What did the first survey find?", "What did the second survey find?", "other words"),
    ("What does Brandt owe?", "What does Brand owe?", "names"),
    ("Must the pilot board the ship?", "May the pilot board the ship?", "may be, must be"),
    ("Did Brandt sue Orr?", "Did Orr sue Brandt?", "another order"),
    ("Was Brandt sued?", "Did Brandt sue?", "another way"),
    ("Who is the harbour master?", "Who was the harbour master?", "past"),
    ("When was the quay built?", "Where was the quay built?", "another way"),
]
SAME = [
    ("How deep is berth 4?", "how deep is berth 4"),
    ("How deep is berth 4?", "How deep is berth four?"),
    ("Who sued Brandt in 1974?", "In 1974, who sued Brandt?"),
    ("Who sued Brandt?", "By whom was Brandt sued?"),
    ("Did the tug tow the barge?", "Was the barge towed by the tug?"),
    ("Why isn't the light lit?", "Why is the light not lit?"),
    ("May ships anchor here?", "Are ships allowed to anchor here?"),
    ("Is the notice 30 days long?", "Is the notice thirty days long?"),
    ("Who owns the quay?", "Could you please tell me who owns the quay?"),
    ("When do I have to report?", "When must we report?"),
    ("Is it over 500 euros?", "Is it more than €500?"),
]


REVERSED = [
    ("Can a buyer from Riga sue a seller in Oslo?", "Can a buyer in Oslo sue a seller from Riga?"),
    ("Is it valid if Ada signs and Bert does not?", "Is it valid if Ada does not and Bert signs?"),
    ("Was Orr told by Brandt that Hale lied?", "Was Brandt told by Orr that Hale lied?"),
    (
        "Which treaty ended the war that began in 1950?",
        "Which treaty began the war that ended in 1950?",
    ),
    ("Unless Ada pays, may Bert sue?", "If Ada pays, may Bert sue?"),
    ("Who did not see what Ada did?", "Who did see what Ada did not do?"),
    ("What was the effect of the law on prices?", "What was the effect of prices on the law?"),
]
"""The same words, put together to mean something else."""


@pytest.mark.parametrize(("one", "other"), REVERSED)
def test_the_same_words_may_mean_something_else(one: str, other: str) -> None:
    assert not compared(one, other).same
    assert compared(one, one.replace("?", "")).same


@pytest.mark.parametrize(("one", "other", "why"), DIFFERENT)
def test_what_differs_in_one_respect_is_another_question(one: str, other: str, why: str) -> None:
    verdict = same_question(one, other, ALIKE, settings_of())
    assert not verdict.same
    assert why in verdict.why
    assert not same_question(other, one, ALIKE, settings_of()).same


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_rewording_is_the_same_question(one: str, other: str) -> None:
    assert same_question(one, other, ALIKE, settings_of()).same, compared(one, other).why
    assert same_question(other, one, ALIKE, settings_of()).same


def test_vectors_must_be_alike_too() -> None:
    settings = settings_of(research={"memory_similarity": 0.95})
    verdict = same_question("How deep is berth 4?", "How deep is berth 4?", 0.94, settings)
    assert verdict == type(verdict)(same=False, why="similarity 0.940 is below 0.950")
    assert not same_question("How deep?", "How deep?", float("nan"), settings).same


def test_other_languages_know_no_rewordings() -> None:
    german = settings_of(library={"language": "german"})
    one = "Wie tief ist Liegeplatz 4?"
    assert same_question(one, "wie tief ist  Liegeplatz 4", ALIKE, german).same
    verdict = same_question(one, "Wie tief ist der Liegeplatz 4?", ALIKE, german)
    assert not verdict.same
    assert "only English" in verdict.why


def test_long_texts_and_odd_ones_are_compared_as_well() -> None:
    facts = "Ada sold a boat to Bert. He paid 500 euros. " * 50
    assert compared(facts + "Is it his?", facts + "Is it his?").same
    assert not compared(facts + "Is it his?", facts.replace("500", "600", 1) + "Is it his?").same
    assert compared("", "").same
    assert not compared("?!", "why").same
    assert not compared("by whom", "by what").same


def test_hardly_any_written_pair_is_taken_for_what_it_is_not() -> None:
    """The vectors of all rewordings are alike enough (benchmarks/results/same_question.json), so
    that the words decide."""
    pairs = list(read_pairs())
    taken = [pair for pair in pairs if compared(pair.one, pair.other).same]
    false = [pair for pair in taken if not pair.same]
    right = sum(pair.same for pair in taken)
    assert len(false) < 0.01 * sum(not pair.same for pair in pairs), false
    assert right >= 0.4 * sum(pair.same for pair in pairs)
