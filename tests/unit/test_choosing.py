"""Choosing among options: code derives the letter, whatever a model replies."""

import asyncio
import json
from itertools import count
from typing import Any

import pytest
from langgraph.runtime import Runtime

from secondlook.errors import ModelUnavailable
from secondlook.models.prices import Caps
from secondlook.nodes.choose import choose
from secondlook.nodes.state import Cited, Sentence, pending
from tests.support.engine import context_of, settings_of
from tests.support.function_model import FunctionModel
from tests.support.researched import OPTIONS, STEM

FOUND = (
    "A boat whose skipper did not call the harbour office before mooring has no claim.",
    "The harbour answers for depths that it has told a skipper on channel 12.",
)
FACT = "without calling the harbour office"


def drafted(*texts: str) -> dict[str, Any]:
    sentences = [
        Sentence(
            text=text,
            cited=[Cited(passage=f"rules.{at}", start=100 * at, end=100 * at + len(text))],
            support=0.9,
            supported=True,
        )
        for at, text in enumerate(texts)
    ]
    return {"sentences": sentences, "confidence": None}


CITED = drafted(*FOUND)["sentences"][0]["cited"]
CHANNELS: dict[str, Any] = {
    "question": "Which channel does the harbour office listen on?",
    "choices": {"A": "channel 16", "B": "channel 12", "C": "channel 9"},
    "draft": drafted("The harbour office listens on channel 12.", "Call before you enter."),
}
NOTHING: dict[str, Any] = {"draft": drafted()}
FAILED: Any = [{**pending(1, "When?", phase="Rule"), "status": "failed", "confidence": 0.1}]


def full(best: str = "C", **given: Any) -> str:
    """A reply that has everything met for one option."""
    options = [
        {
            "letter": letter,
            "verdicts": [
                {"element": 1, "met": "met" if letter == best else "not met", "fact": FACT}
            ],
            "reason": "It is about the call.",
        }
        for letter in OPTIONS
    ]
    elements = [{"element": "He must have called the office", "sources": [1]}]
    return json.dumps({"elements": elements, "options": options, "answer": best, **given})


def judged(verdicts: dict[str, list[str]], answer: str = "") -> str:
    """A reply with these verdicts on its elements, in order."""
    most = max(map(len, verdicts.values()))
    elements = [{"element": f"element {at}", "sources": [1]} for at in range(most)]
    options = [{"letter": key, "verdicts": value} for key, value in verdicts.items()]
    return json.dumps({"elements": elements, "options": options, "answer": answer})


def saying(*said: str) -> FunctionModel:
    """One reply after the other; the last for ever."""
    turn = count()
    return FunctionModel(lambda _: said[min(next(turn), len(said) - 1)])


def run(
    model: FunctionModel | None = None,
    *,
    shelf: Any = None,
    caps: Caps | None = None,
    guess: bool = False,
    **state: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choice, and the numbers of its step with the warnings among them."""
    done: Any = {**pending(1, "When?", phase="Rule"), "status": "completed", "confidence": 0.8}
    given: Any = {
        "question": STEM,
        "scope": {"documents": None, "labels": []},
        "choices": dict(OPTIONS),
        "draft": drafted(*FOUND),
        "plan": [done],
        **state,
    }
    settings = settings_of(research={"guess": guess})
    context = context_of(
        model=model, settings=settings, workflow="research", shelf=shelf, caps=caps, question=STEM
    )
    update = asyncio.run(choose(given, Runtime(context=context)))
    choice: Any = update["choice"]
    return choice, {**update["steps"][0]["numbers"], "warnings": update["warnings"]}


def test_the_option_whose_elements_are_met_is_chosen_in_one_call() -> None:
    model = saying(full())
    choice, told = run(model)
    assert (choice["letter"], choice["grounded"], choice["model"]) == ("C", True, "ollama:function")
    assert choice["confidence"] == pytest.approx(0.8)
    assert choice["elements"][0]["cited"] == CITED
    assert [one["letter"] for one in choice["options"]] == list("ABCD")
    assert choice["options"][2]["verdicts"] == [{"element": 1, "met": "met", "fact": FACT}]
    assert len(model.requests) == told["calls"] == 1
    assert told["warnings"] == []
    prompt = model.requests[0].messages[-1].content
    assert all(text in prompt for text in (STEM, *OPTIONS.values(), *FOUND))


@pytest.mark.parametrize("bad", ["no idea", '{"options": "C"}', '{"elements": [], "options": []}'])
def test_a_reply_that_cannot_be_read_is_asked_for_again(bad: str) -> None:
    model = saying(bad, full())
    choice, told = run(model)
    assert (choice["letter"], told["unusable"], len(model.requests)) == ("C", 1, 2)


def test_letters_that_do_not_exist_are_not_chosen() -> None:
    model = saying(judged({"E": ["met"], "Z": ["met"]}, "E"))
    choice, told = run(model)
    assert choice["letter"] in {None, *OPTIONS}
    assert choice["model"] is None
    assert len(model.requests) == 2
    assert "form that can be read" in told["warnings"][0]["message"]


def test_a_letter_that_contradicts_the_verdicts_is_asked_again_and_then_code_decides() -> None:
    model = saying(full(answer="A"))
    choice, told = run(model)
    assert choice["letter"] == "C"
    assert choice["confidence"] == pytest.approx(0.4)
    assert "A was named" in choice["why"]
    assert told["asked_again"]
    assert len(model.requests) == 2
    assert "A was named" in model.requests[1].messages[-1].content
    resolved, _ = run(saying(full(answer="A"), full("B")))
    assert (resolved["letter"], resolved["confidence"]) == ("B", pytest.approx(0.8))


def test_options_that_are_all_alike_are_decided_by_the_name_then_by_the_reader() -> None:
    choice, _ = run(saying(judged({key: ["met", "met"] for key in OPTIONS}, "D")))
    assert (choice["letter"], choice["confidence"]) == ("D", pytest.approx(0.2))
    assert "D was named" in choice["why"]
    unnamed = saying(judged({"A": ["met"], "B": ["met"], "C": ["not met"]}))
    choice, _ = run(unnamed, **CHANNELS)
    assert choice["letter"] == "B"
    assert "the reader prefers B" in choice["why"]
    assert choice["confidence"] < 0.5


def test_invented_facts_and_sources_are_dropped_and_counted() -> None:
    reply = json.loads(full())
    facts = ["a safe berth", "a safe berth", "“WITHOUT calling\nthe harbour office.”", "he drank"]
    for option, fact in zip(reply["options"], facts, strict=True):
        option["verdicts"][0]["fact"] = fact
    reply["elements"][0]["sources"] = [1, 7, 0]
    choice, told = run(saying(json.dumps(reply)))
    kept = [option["verdicts"][0]["fact"] for option in choice["options"]]
    assert kept == ["a safe berth", None, FACT, None], "words of the question or of the option"
    assert choice["elements"][0]["cited"] == CITED
    assert (told["facts_dropped"], told["sources_dropped"]) == (2, 2)


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
    choice, _ = run(saying(f"Let me see.\n```json\n{json.dumps(said)}\n```"))
    assert choice["letter"] == "C"
    met = {one["letter"]: [v["met"] for v in one["verdicts"]] for one in choice["options"]}
    assert met == {"A": ["not met"], "B": ["not met"], "C": ["met"], "D": ["unknown"]}
    assert len(choice["elements"][0]["cited"]) == 2


@pytest.mark.parametrize("nothing", [NOTHING, {"plan": FAILED}])
def test_where_nothing_was_found_nothing_is_chosen_and_nobody_asked(
    nothing: dict[str, Any],
) -> None:
    model = saying(full())
    choice, _ = run(model, **nothing)
    assert choice["letter"] is None
    assert "found nothing" in choice["why"]
    assert [one["text"] for one in choice["options"]] == list(OPTIONS.values())
    assert model.requests == []


def test_a_guess_is_marked_and_has_no_confidence() -> None:
    choice, told = run(saying("Answer: B"), guess=True, **NOTHING)
    assert (choice["letter"], choice["grounded"], choice["confidence"]) == ("B", False, None)
    assert (choice["elements"], choice["options"][1]["verdicts"]) == ([], [])
    assert "guess" in choice["why"]
    assert told["calls"] == 1
    assert run(saying("I cannot tell"), guess=True, **NOTHING)[0]["letter"] is None


def test_a_model_that_is_away_or_not_paid_for_leaves_it_to_the_reader() -> None:
    def away(_: Any) -> str:
        raise ModelUnavailable("it is away")

    choice, told = run(FunctionModel(away))
    assert choice["model"] is None
    assert told["warnings"][0]["error"] == "ModelUnavailable"
    model = saying(full())
    choice, told = run(model, caps=Caps(calls=0, tokens=1))
    assert (model.requests, choice["model"]) == ([], None)
    assert told["warnings"][0]["error"] == "BudgetExceeded"


def test_without_a_model_the_reader_chooses_what_the_research_supports() -> None:
    choice, _ = run(None, **CHANNELS)
    assert (choice["letter"], choice["model"]) == ("B", None)
    assert 0.4 < choice["confidence"] <= 0.8
    assert choice["options"][1]["verdicts"][0]["met"] == "met"
    assert choice["elements"][0]["text"] == "The harbour office listens on channel 12."
    assert choice["elements"][0]["cited"]
