"""A researched answer and its choice agree with themselves; one character that is changed shows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, ChoiceElement, ChoiceVerdict, Screening
from secondlook.reading.support import CoverageSupport
from secondlook.verify import examine
from tests.support.researched import (
    RECALLED,
    choice,
    guess,
    refused,
    research,
    researched,
    steps,
    text_of,
)

if TYPE_CHECKING:
    from secondlook.answer import Citation, SeenPassage
    from secondlook.verify.report import Report

WORDS = CoverageSupport()
URL = "https://example.org/rules"


def on_the_web(answer: Answer) -> Answer:
    """The same with sources that need no library to be checked."""
    return answer.model_copy(
        update={
            "citations": tuple(map(_web_citation, answer.citations)),
            "passages": tuple(_web_passage(answer, one) for one in answer.passages),
        }
    )


def _web_citation(one: Citation) -> Citation:
    document = "web-" + hashlib.sha256(URL.encode()).hexdigest()[:16]
    return one.model_copy(
        update={
            "origin": "web",
            "url": URL,
            "fetched": "2026-01-03T00:00:00+00:00",
            "path": None,
            "page": None,
            "document": document,
            "passage": f"{document}.{one.number}",
            "sha256": hashlib.sha256(one.quote.encode()).hexdigest(),
        }
    )


def _web_passage(answer: Answer, one: SeenPassage) -> SeenPassage:
    cited = next((item for item in answer.citations if item.passage == one.id), None)
    if cited is None:
        return one
    web = _web_citation(cited)
    return one.model_copy(
        update={
            "id": web.passage,
            "document": web.document,
            "origin": "web",
            "url": URL,
            "page": None,
            "text": cited.quote,
        }
    )


def report(answer: Answer) -> Report:
    return examine(on_the_web(answer), None, support=WORDS)


def problems(answer: Answer) -> list[str]:
    return [str(one) for one in report(answer).problems]


def changed(**given_: Any) -> Answer:
    return researched().model_copy(update=given_)


def test_true_answers_stand() -> None:
    whole = researched()
    note = "(1 more sentence was cut: not supported by the evidence.)"
    noted = changed(text=text_of(whole.claims, whole.choice, note), status="partial")
    single = changed(
        text=" ".join(whole.text.replace("### Step 1: Rule", "").split("### Step 3: Duty")),
        research=research(
            weak=0,
            steps=(
                steps()[0].model_copy(update={"claims": (1, 2, 3)}),
                steps()[1],
                steps()[2].model_copy(update={"claims": (), "status": "failed"}),
            ),
            failed=2,
        ),
    )
    recalled = changed(research=research(recalled=RECALLED, cycles=0))
    for answer in (whole, noted, single, recalled, guess(), refused()):
        assert problems(answer) == [], answer.text
    assert report(whole).notes == []


@pytest.mark.parametrize("at", range(len(researched().text)))
def test_every_changed_sign_of_the_text_is_seen(at: int) -> None:
    text = researched().text
    if text[at].isspace():
        return
    other = "x" if text[at] != "x" else "y"
    assert problems(changed(text=text[:at] + other + text[at + 1 :])) != []


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"letter": "E"}, "there is no option 'E'"),
        ({"letter": "A"}, "its words are not option A"),
        ({"text": "No."}, "its words are not option C"),
        ({"letter": None}, "nothing was chosen, but it has words"),
        ({"letter": None, "text": None}, "names another choice"),
        ({"grounded": False}, "it is a guess"),
        ({"model": None, "agreed": True}, "none can have agreed"),
        ({"elements": choice().elements[:1]}, "judged by element 2, which does not exist"),
        (
            {"elements": (ChoiceElement(text="x", citations=(9,)), choice().elements[1])},
            "element 1: it cites [9], which does not exist",
        ),
        ({"options": choice().options[:3]}, "its options are not those of the question"),
        ({"options": (*choice().options, choice().options[0])}, "have the same letter"),
    ],
)
def test_a_falsified_choice_is_seen(given_: dict[str, Any], told: str) -> None:
    found = problems(changed(choice=choice(**given_)))
    assert any(told in one for one in found), found


def with_option(at: int, **given_: Any) -> Answer:
    options = list(choice().options)
    options[at] = options[at].model_copy(update=given_)
    return changed(choice=choice(options=tuple(options)))


def verdict(met: str, fact: str | None = None, element: int = 1) -> ChoiceVerdict:
    return ChoiceVerdict(element=element, met=met, fact=fact)  # type: ignore[arg-type]


def test_a_falsified_option_is_seen() -> None:
    text = choice().options[0].text
    assert problems(with_option(0, text=f"{text[:-2]}x.")) != []
    assert problems(with_option(0, letter="E")) != []
    told = "option A: 'he was drunk' is not in the question"
    assert told in problems(with_option(0, verdicts=(verdict("not met", "he was drunk"),)))
    assert problems(with_option(0, verdicts=(verdict("not met", " "),))) != []
    twice = (verdict("not met"), verdict("not met"))
    assert "option A: an element was judged twice" in problems(with_option(0, verdicts=twice))


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"completed": 2}, "research: it says that 2 steps are completed, and lists 1"),
        ({"failed": 0}, "it says that 0 steps are failed"),
        ({"weak": 0}, "it says that 0 steps are weak"),
        ({"pending": 1}, "it says that 1 steps are pending"),
        ({"cycles": 2}, "it says that 2 steps were tried, and lists 3"),
        ({"screen": Screening(verdict="refused")}, "the screen says refused"),
        ({"steps": steps()[:1], "failed": 0, "weak": 0, "cycles": 1}, "no step of the research"),
    ],
)
def test_a_falsified_research_is_seen(given_: dict[str, Any], told: str) -> None:
    found = problems(changed(research=research(**given_)))
    assert any(told in one for one in found), found


@pytest.mark.parametrize(
    ("at", "given_", "told"),
    [
        (0, {"id": 7}, "step 1: it is not numbered as"),
        (0, {"claims": (1, 2, 9)}, "step 1: it found claim 9, which does not exist"),
        (0, {"phase": "Rulf"}, "stands where '### Step 1: Rulf' belongs"),
        (1, {"claims": (3,)}, "step 2: it is failed, but it has findings"),
        (2, {"retry_of": 3}, "step 3: it is not numbered as"),
        (2, {"confidence": 1.5}, "a confidence of 1.5 is not from 0 to 1"),
    ],
)
def test_a_falsified_step_is_seen(at: int, given_: dict[str, Any], told: str) -> None:
    made = list(steps())
    made[at] = made[at].model_copy(update=given_)
    found = problems(changed(research=research(steps=tuple(made))))
    assert any(told in one for one in found), found
