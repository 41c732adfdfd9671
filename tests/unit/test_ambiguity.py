"""Unclear words of a question: which they are, what they may stand for, and replies that say so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.engine.secondlook import turn_of
from secondlook.nodes.clarify import readings
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.passage import Passage
from secondlook.roles.ambiguity import (
    Rival,
    Witness,
    competing,
    leader,
    reading,
    rivals,
    unresolved,
    with_meaning,
)
from secondlook.roles.follow_up import Turn
from tests.support.engine import WordShelf, context_of, passages_of, settings_of, state_of
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from secondlook.nodes.context import Context


@pytest.mark.parametrize(
    ("question", "word", "kind"),
    [
        ("When did she leave her group?", "she", "person"),
        ("What was the name of their first album?", "their", "group"),
        ("Who wrote it?", "it", "thing"),
        ("What happened to him in 1990?", "him", "person"),
        ("When did this happen?", "this", "thing"),
        ("How many people live there?", "there", "place"),
        ("When was this album released?", "this album", "noun"),
        ("How large is this region?", "this region", "noun"),
        ("WHEN DID SHE LEAVE?", "SHE", "person"),
    ],
)
def test_unclear(question: str, word: str, kind: str) -> None:
    found = unresolved(question)
    assert found is not None
    assert (found.word, found.kind) == (word, kind)
    assert question[found.start : found.end] == word


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When did Beyoncé leave her group?",
        "How does a plant make its food?",
        "Is it allowed to smoke on the balcony?",
        "Which tenants have to clean their own windows?",
        "Who wrote the book that began the revolt against taxes?",
        "How deep is the deepest berth 4",
        "she said " * 60,
    ],
)
def test_clear(question: str) -> None:
    assert unresolved(question) is None


@pytest.mark.parametrize(
    ("question", "meant", "filled"),
    [
        ("When did she leave?", Rival("Ada", 1, ()), "When did Ada leave?"),
        ("When did her group split?", Rival("Ada", 1, ()), "When did Ada's group split?"),
        ("How long is it?", Rival("Rhine", 1, (), takes_the=True), "How long is the Rhine?"),
        ("How many people live there?", Rival("Bonn", 1, ()), "How many people live in Bonn?"),
        ("Who directed this film?", Rival("Vertigo", 1, ()), "Who directed Vertigo?"),
    ],
)
def test_the_name_takes_the_place_of_the_word(question: str, meant: Rival, filled: str) -> None:
    unclear = unresolved(question)
    assert unclear is not None
    assert with_meaning(question, unclear, meant) == filled


ADA = "Ada Lovelace was born in London. She wrote the notes in 1843. Lovelace died in 1852."

RHINE = "The Rhine is a river in Europe. It begins in the Alps. Bonn lies on the Rhine."


def passage(text: str, title: str = "Notes", name: str = "p1") -> Passage:
    return Passage(
        id=name, document=name, sha256="0" * 64, title=title, text=text, start=0, end=len(text)
    )


def meant(question: str, *texts: str, titles: tuple[str, ...] = ()) -> list[Rival]:
    unclear = unresolved(question)
    assert unclear is not None
    named = [*titles, *["Notes"] * len(texts)]
    witnesses = [Witness(passage(text, named[at], f"p{at}"), 1.0) for at, text in enumerate(texts)]
    return rivals(unclear, question, witnesses)


def test_she_is_who_the_text_calls_she() -> None:
    text = f"{ADA} Charles Babbage was an engineer. He built engines."
    found = meant("When did she die?", text)
    assert found[0].name == "Ada Lovelace"
    assert leader(found) == found[0]
    assert meant("When did he die?", text)[0].name == "Charles Babbage"


def test_two_that_are_alike_have_no_leader() -> None:
    one = "Ada Lovelace left the club in 1843. She went to London."
    two = "Eve Curie left the club in 1938. She went to Paris."
    found = meant("When did she leave her club?", one, two)
    assert leader(found) is None
    assert {rival.name for rival in competing(found)} >= {"Ada Lovelace", "Eve Curie"}
    assert sum(rival.share for rival in found) == pytest.approx(1)


def test_a_thing_is_no_person_and_keeps_its_article() -> None:
    found = meant("How long is it?", f"{RHINE} Ada Lovelace saw it. She was glad.")
    assert found[0].name == "Rhine"
    assert found[0].takes_the
    assert "Ada Lovelace" not in [rival.name for rival in found]


def test_a_noun_is_what_is_called_so() -> None:
    text = (
        "Blue Train is the second album by John Coltrane. It came out in 1958. "
        'His album "Giant Steps" came out in 1960.'
    )
    found = meant("When did this album come out?", text)
    assert {rival.name for rival in found} == {"Blue Train", "Giant Steps"}
    war = meant("Who won this war?", "The Crimean War began in 1853. Russia lost.")
    assert [rival.name for rival in war] == ["Crimean War"]


SHE = Turn(
    "When did she leave her group?",
    asks_back='Whom do you mean by "she": Beyoncé, Kelly Rowland or Michelle Williams?',
)


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("Beyoncé", "Beyoncé"),
        ("I mean Beyoncé, please.", "Beyoncé"),
        ("sorry, kelly rowland", "Kelly Rowland"),
        ("the second one", "Kelly Rowland"),
        ("2", "Kelly Rowland"),
        ("the last", "Michelle Williams"),
        ("LaTavia Roberson", "LaTavia Roberson"),
    ],
)
def test_a_reply_fills_the_unclear_word(reply: str, meant: str) -> None:
    assert reading(reply, SHE) == f"When did {meant} leave her group?"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "?",
        "neither",
        "Who",
        "the fourth",
        "Who is the mayor?",
        "And Kelly Rowland and Beyoncé in 2004",
        "how deep is berth 4",
        "x" * 200,
    ],
)
def test_anything_else_is_a_question_of_its_own(reply: str) -> None:
    assert reading(reply, SHE) is None


def test_what_was_asked_back_is_remembered_for_one_turn() -> None:
    back = full_answer("r").model_copy(update={"asks_back": SHE.asks_back, "asked": SHE.asked})
    turns = (turn_of(back), turn_of(full_answer("s")))
    assert turns[0].asks_back == SHE.asks_back
    assert reading("Beyoncé", turns[0])
    assert reading("Beyoncé", turns[1]) is None


# The node: a reading assumed, readings told side by side, or the question left as it is.

QUESTION = "When did she leave her singing group?"
ADA_VANE = (
    "ada",
    "1998 was when Ada Brook did leave the singing group. She went to sea, and her group sang on.",
)
EVE = (
    "eve",
    "2005 was when Eve Stone did leave the singing group. She went abroad, and her group fell.",
)
TOM = ("tom", "Tom Field repaired the diesel of the light in 1971. He was paid in coal.")


def shelf_of(*pieces: tuple[str, str]) -> WordShelf:
    return WordShelf(held=passages_of(pieces))


async def searched(context: Context, question: str) -> Any:
    state: Any = state_of(question)
    runtime = Runtime(context=context)
    state.update(await retrieve(state, runtime))
    state.update(await rerank(state, runtime))
    return state


def understood(question: str, shelf: WordShelf, **settings: Any) -> tuple[dict[str, Any], Context]:
    chosen = settings_of(**settings) if settings else None
    context = context_of(shelf=shelf, question=question, settings=chosen)

    async def both() -> dict[str, Any]:
        return dict(await readings(await searched(context, question), Runtime(context=context)))

    return asyncio.run(both()), context


def test_a_pronoun_with_two_rivals_is_told_and_asked_back() -> None:
    update, context = understood(QUESTION, shelf_of(ADA_VANE, EVE, TOM))
    assert update["route"] == "settle"
    assert update["question"] == QUESTION
    assert update["assumed"] is None
    asked = update["asks_back"]
    assert asked.startswith('Whom do you mean by "she": ')
    assert "Ada Brook" in asked
    assert "Eve Stone" in asked
    draft = update["draft"]
    assert draft["stop"] == "ambiguous"
    assert {one["cited"][0]["passage"] for one in draft["sentences"]} == {"ada.0", "eve.0"}
    for sentence in draft["sentences"]:
        place = sentence["cited"][0]
        text = context.shelf.passages([place["passage"]])[place["passage"]].text
        assert sentence["text"] in text
    assert update["steps"][0]["route"]["to"] == "settle"


def test_a_pronoun_with_one_likely_meaning_is_taken_so() -> None:
    shelf = shelf_of(ADA_VANE, TOM)
    update, _ = understood(QUESTION, shelf)
    assert update["route"] == "grade_on"
    assert update["assumed"] == "she = Ada Brook"
    assert update["question"] == "When did Ada Brook leave her singing group?"
    assert update["queries"] == [update["question"]]
    assert update["asks_back"] is None
    assert "draft" not in update
    assert shelf.finds[-1][0] == update["question"]
    first = update["found"][0]
    assert first["id"] == "ada.0"
    assert first["relevance"] is not None
    assert first["grade"] == "not graded"
    assert {item["id"] for item in update["found"]} == {"ada.0", "tom.0"}


@pytest.mark.parametrize(
    "question",
    [
        "When did Ada Brook leave her singing group?",
        "Is it true that she left?",
        "Wann hat sie ihre Gruppe verlassen?",
    ],
)
def test_what_is_clear_or_foreign_is_left(question: str) -> None:
    update, _ = understood(question, shelf_of(ADA_VANE, EVE))
    assert update["route"] == "grade_on"
    assert update["question"] == question
    assert update["assumed"] is update["asks_back"] is None
    assert update["warnings"] == []
    assert "found" not in update


def test_a_promise_of_risk_leaves_out_what_is_not_sure() -> None:
    unsure = [
        ("ada", "In spring Ada Brook was a singer. She was glad of her singing group."),
        ("eve", "In autumn Eve Stone was a singer. She was glad of her singing group."),
    ]
    question = "When did she leave her former singing group for another city?"
    update, _ = understood(question, shelf_of(*unsure))
    assert update["route"] == "settle"
    careful, _ = understood(question, shelf_of(*unsure), answer={"max_risk": 0.05})
    assert careful["route"] == "grade_on"
    assert careful["asks_back"] is None
