"""Choosing among options: code derives the letter, whatever a model replies."""

from __future__ import annotations

import asyncio
import json
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.answer import Citation
from secondlook.errors import ModelUnavailable
from secondlook.models.prices import Caps
from secondlook.nodes.choose import choose
from secondlook.nodes.options import choice_of, choice_text, step_heading
from tests.support.choosing import (
    FOUND,
    OPTIONS,
    RIGHT,
    STEM,
    choice_state,
    chooser,
    draft,
    full_reply,
    plan,
    weigh,
)
from tests.support.engine import WordShelf, context_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest
    from tests.support.function_model import FunctionModel

CHANNELS: dict[str, Any] = {
    "question": "Which channel does the harbour office listen on?",
    "choices": {"A": "channel 16", "B": "channel 12", "C": "channel 9"},
    "draft": draft(("The harbour office listens on channel 12.", "Call before you enter.")),
}


def run(
    model: FunctionModel | None = None,
    state: Any = None,
    *,
    shelf: Any = None,
    caps: Caps | None = None,
    **research: Any,
) -> dict[str, Any]:
    settings = settings_of(research=research)
    context = context_of(
        model=model, settings=settings, workflow="research", shelf=shelf, caps=caps, question=STEM
    )
    return dict(asyncio.run(choose(state or choice_state(), Runtime(context=context))))


def numbers(update: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = update["steps"][0]["numbers"]
    return found


def replies(*said: str) -> Callable[[ChatRequest], str]:
    """One reply after the other; the last for ever."""
    turn = count()
    return lambda _: said[min(next(turn), len(said) - 1)]


def judged(verdicts: dict[str, list[str]], answer: str = "", **given: Any) -> str:
    """A full reply with these verdicts on its elements, in order."""
    most = max(map(len, verdicts.values()))
    return json.dumps(
        {
            "elements": [{"element": f"element {at}", "sources": [1]} for at in range(most)],
            "options": [{"letter": key, "verdicts": value} for key, value in verdicts.items()],
            "answer": answer,
            **given,
        }
    )


def test_the_option_whose_elements_are_met_is_chosen_in_one_call() -> None:
    model = chooser()
    update = run(model)
    choice = update["choice"]
    assert choice["letter"] == RIGHT
    assert choice["grounded"]
    assert choice["model"] == "ollama:function"
    assert choice["confidence"] == pytest.approx(0.8)
    assert choice["elements"][0]["cited"] == draft()["sentences"][0]["cited"]
    assert [one["letter"] for one in choice["options"]] == list("ABCD")
    chosen = choice["options"][2]
    assert chosen["verdicts"] == [
        {"element": 1, "met": "met", "fact": "without calling the harbour office"}
    ]
    assert all(one["reason"] for one in choice["options"])
    assert len(model.requests) == 1
    assert numbers(update)["calls"] == 1
    assert update["warnings"] == []
    prompt = model.requests[0].messages[-1].content
    assert all(text in prompt for text in (STEM, *OPTIONS.values(), *FOUND))


@pytest.mark.parametrize("bad", ["no idea", '{"options": "C"}', '{"elements": [], "options": []}'])
def test_a_reply_that_cannot_be_read_is_asked_for_again(bad: str) -> None:
    def reply(request: ChatRequest) -> str:
        return bad if len(model.requests) == 1 else weigh(request)

    model = chooser(reply)
    update = run(model)
    assert update["choice"]["letter"] == RIGHT
    assert numbers(update)["unusable"] == 1
    assert len(model.requests) == 2


def test_letters_that_do_not_exist_are_not_chosen() -> None:
    strange = judged({"E": ["met"], "Z": ["met"]}, "E")
    model = chooser(replies(strange))
    update = run(model)
    assert update["choice"]["letter"] in {None, *OPTIONS}
    assert update["choice"]["model"] is None
    assert len(model.requests) == 2
    assert "form that can be read" in update["warnings"][0]["message"]


def test_a_letter_that_contradicts_the_verdicts_is_asked_again_and_then_code_decides() -> None:
    verdicts = {"A": ["not met"], "B": ["not met"], "C": ["met"], "D": ["not met"]}
    model = chooser(replies(judged(verdicts, "A")))
    update = run(model)
    assert update["choice"]["letter"] == "C"
    assert update["choice"]["confidence"] == pytest.approx(0.4)
    assert "A was named" in update["choice"]["why"]
    assert numbers(update)["asked_again"]
    assert len(model.requests) == 2
    assert "A was named" in model.requests[1].messages[-1].content
    assert model.requests[1].messages[-2].role == "assistant"


def test_options_that_are_all_alike_are_decided_by_the_name_then_by_the_reader() -> None:
    model = chooser(replies(judged({key: ["met", "met"] for key in OPTIONS}, "D")))
    choice = run(model)["choice"]
    assert choice["letter"] == "D"
    assert choice["confidence"] == pytest.approx(0.2)
    assert "D was named" in choice["why"]
    assert len(model.requests) == 2
    unnamed = chooser(replies(judged({"A": ["met"], "B": ["met"], "C": ["not met"]})))
    choice = run(unnamed, choice_state(**CHANNELS))["choice"]
    assert choice["letter"] == "B"
    assert "the reader prefers B" in choice["why"]
    assert choice["confidence"] < 0.5


def test_most_met_and_least_not_met_wins_where_none_is_complete() -> None:
    verdicts = {
        "A": ["met", "not met", "unknown"],
        "B": ["met", "met", "unknown"],
        "C": ["unknown"] * 3,
        "D": ["not met"] * 3,
    }
    choice = run(chooser(replies(judged(verdicts, "B"))))["choice"]
    assert choice["letter"] == "B"
    assert "most is met" in choice["why"]
    assert choice["confidence"] < 0.4


def test_invented_facts_and_sources_are_dropped_and_counted() -> None:
    reply = json.loads(full_reply(OPTIONS, "C"))
    reply["options"][2]["verdicts"][0]["fact"] = "he was drunk that night"
    reply["elements"][0]["sources"] = [1, 7, 0]
    update = run(chooser(replies(json.dumps(reply))))
    assert update["choice"]["options"][2]["verdicts"][0]["fact"] is None
    assert update["choice"]["options"][0]["verdicts"][0]["fact"] is not None
    assert update["choice"]["elements"][0]["cited"] == draft()["sentences"][0]["cited"]
    assert numbers(update)["facts_dropped"] == 1
    assert numbers(update)["sources_dropped"] == 2


def test_a_fact_is_kept_as_it_stands_in_the_question() -> None:
    reply = json.loads(full_reply(OPTIONS, "C"))
    reply["options"][2]["verdicts"][0]["fact"] = "“WITHOUT calling\nthe harbour office.”"
    reply["options"][0]["verdicts"][0]["fact"] = "a safe berth"
    reply["options"][1]["verdicts"][0]["fact"] = "a safe berth"
    options = run(chooser(replies(json.dumps(reply))))["choice"]["options"]
    assert options[2]["verdicts"][0]["fact"] == "without calling the harbour office"
    assert options[0]["verdicts"][0]["fact"] == "a safe berth"  # it stands in the option itself
    assert options[1]["verdicts"][0]["fact"] is None


def test_verdicts_by_letter_and_in_other_words_are_read() -> None:
    said = {
        "elements": [{"element": "called", "sources": "[1], [2]"}, {"element": ""}, 7],
        "options": {
            "(a)": {"verdicts": ["no"]},
            "Option B": {"verdicts": [{"element": "1", "met": False}]},
            "C.": {"verdicts": [{"element": 1, "met": "Met"}, {"element": 1, "met": "no"}]},
            "D": {"verdicts": [{"element": 9, "met": "met"}, "not_met"], "reason": ["x"]},
        },
        "answer": "The answer is (C), not D",
    }
    update = run(chooser(replies(f"Let me see.\n```json\n{json.dumps(said)}\n```")))
    choice = update["choice"]
    assert choice["letter"] == "C"
    met = {one["letter"]: [v["met"] for v in one["verdicts"]] for one in choice["options"]}
    assert met == {"A": ["not met"], "B": ["not met"], "C": ["met"], "D": ["unknown"]}
    assert len(choice["elements"][0]["cited"]) == 2


@pytest.mark.parametrize("nothing", [{"draft": draft(())}, {"plan": plan("failed", 0.1)}])
def test_where_nothing_was_found_nothing_is_chosen_and_nobody_asked(
    nothing: dict[str, Any],
) -> None:
    model = chooser()
    choice = run(model, choice_state(**nothing))["choice"]
    assert choice["letter"] is None
    assert "found nothing" in choice["why"]
    assert [one["text"] for one in choice["options"]] == list(OPTIONS.values())
    assert model.requests == []


def test_a_guess_is_marked_and_has_no_confidence() -> None:
    model = chooser(replies("Answer: B"))
    update = run(model, choice_state(draft=draft(()), plan=plan("failed", 0.2)), guess=True)
    choice = update["choice"]
    assert (choice["letter"], choice["grounded"], choice["confidence"]) == ("B", False, None)
    assert choice["elements"] == []
    assert choice["options"][1] == {
        "letter": "B",
        "text": OPTIONS["B"],
        "verdicts": [],
        "reason": "",
    }
    assert "guess" in choice["why"]
    assert len(model.requests) == 1
    unread = run(chooser(replies("I cannot tell")), choice_state(draft=draft(())), guess=True)
    assert unread["choice"]["letter"] is None


def _away(_: ChatRequest) -> str:
    raise ModelUnavailable("it is away")


def test_a_model_that_is_away_leaves_it_to_the_reader() -> None:
    update = run(chooser(_away))
    assert update["choice"]["model"] is None
    assert update["warnings"][0]["error"] == "ModelUnavailable"
    update = run(chooser(_away), choice_state(draft=draft(())), guess=True)
    assert update["choice"]["letter"] is None
    assert update["warnings"]


def test_a_budget_that_is_spent_leaves_it_to_the_reader() -> None:
    model = chooser()
    update = run(model, caps=Caps(calls=0, tokens=1))
    assert model.requests == []
    assert update["choice"]["model"] is None
    assert update["warnings"][0]["error"] == "BudgetExceeded"


def test_without_a_model_the_reader_chooses_what_the_research_supports() -> None:
    choice = run(None, choice_state(**CHANNELS))["choice"]
    assert choice["letter"] == "B"
    assert choice["model"] is None
    assert 0.4 < choice["confidence"] <= 0.8
    met = [one["verdicts"][0]["met"] for one in choice["options"]]
    assert met[1] == "met"
    assert choice["elements"][0]["text"] == "The harbour office listens on channel 12."
    assert choice["elements"][0]["cited"]


def test_the_reader_does_not_tell_apart_what_it_cannot() -> None:
    state = choice_state(
        question="What was served?",
        choices={"A": "soup", "B": "soup"},
        draft=draft(("What was served? Soup was served.",)),
    )
    update = run(None, state)
    assert update["choice"]["letter"] is None
    assert "cannot tell" in update["choice"]["why"]
    assert update["choice"]["confidence"] is None
    other = choice_state(**{**CHANNELS, "draft": draft(("The mains failed at 20:52.",))})
    assert run(None, other)["choice"]["why"].endswith("the research speaks for none")


class BrokenShelf(WordShelf):
    def read_text(self, query: str, text: str) -> Any:
        raise RuntimeError("the reader broke")


def test_a_reader_that_breaks_chooses_nothing_and_is_told_of() -> None:
    update = run(None, shelf=BrokenShelf())
    assert update["choice"]["letter"] is None
    assert update["warnings"][0]["error"] == "RuntimeError"


def test_a_question_without_options_has_no_choice() -> None:
    model = chooser()
    without: list[dict[str, Any]] = [{}, {"choices": {}}]
    for given in without:
        state = choice_state()
        del state["choices"]
        update = run(model, {**state, **given})
        assert update["choice"] is None
    assert model.requests == []


def test_an_answer_cites_only_what_it_has() -> None:
    data = run(chooser())["choice"]
    place = data["elements"][0]["cited"][0]
    source: dict[str, Any] = {
        "document": "rules",
        "sha256": "0" * 64,
        "title": "Rules",
        "quote": "...",
    }
    citation = Citation(number=4, **place, **source)
    made = choice_of(data, [citation])
    assert made.elements[0].citations == (4,)
    assert made.text == OPTIONS[RIGHT]
    assert choice_of(data, []).elements[0].citations == ()
    assert choice_text(made) == f"Answer: (C) {OPTIONS['C']}"
    assert not choice_text(made.model_copy(update={"letter": None}))
    assert "Ungrounded" in choice_text(made.model_copy(update={"grounded": False}))
    assert step_heading(2, "Duty\nof care") == "### Step 2: Duty of care"
