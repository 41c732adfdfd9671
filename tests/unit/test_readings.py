"""The node: a reading assumed, readings told side by side, or the question left as it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.clarify import readings
from secondlook.nodes.retrieve import rerank, retrieve
from tests.support.engine import WordShelf, context_of, passages_of, settings_of, state_of

if TYPE_CHECKING:
    from secondlook.nodes.context import Context

QUESTION = "When did she leave her singing group?"
ADA = (
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
        state = await searched(context, question)
        return dict(await readings(state, Runtime(context=context)))

    return asyncio.run(both()), context


def test_a_pronoun_with_two_rivals_is_told_and_asked_back() -> None:
    update, context = understood(QUESTION, shelf_of(ADA, EVE, TOM))
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
    shelf = shelf_of(ADA, TOM)
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
    update, _ = understood(question, shelf_of(ADA, EVE))
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
