"""Settling: the best of all drafts is given, cut to what stands, with what the run came to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from langgraph.runtime import Runtime

from secondlook.engine.execution import Watched, failed
from secondlook.nodes.answer import best_of, settle
from secondlook.nodes.extract import withheld
from secondlook.nodes.limits import cut_short_by, without_cut
from secondlook.nodes.state import DraftData, JudgedDraft, unread
from secondlook.settings.sections import BudgetSettings
from tests.support.engine import context_of, passages_of, settings_of, state_of

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.errors import Cap


def draft(*texts: str, unsupported: tuple[str, ...] = (), **more: Any) -> DraftData:
    made = {
        "method": "generative",
        "model": "ollama:function",
        "sentences": [
            {
                "text": text,
                "cited": [{"passage": "survey.0", "start": 0, "end": 10}],
                "support": 0.1 if text in unsupported else 0.9,
                "supported": text not in unsupported,
            }
            for text in texts
        ],
        "short": None,
        "stop": "answered",
        "confidence": 0.7,
        "reasons": [],
        "note": None,
    }
    return cast("DraftData", made | more)


def judged(made: DraftData, **verdicts: Any) -> JudgedDraft:
    given = {"grounded": 1.0, "is_grounded": True, "useful": 0.9, "is_useful": True}
    return cast("JudgedDraft", {"draft": made, **given, **verdicts})


def settled(*drafts: JudgedDraft, queries: int = 1, **more: Any) -> dict[str, Any]:
    settings = settings_of(**more.pop("sections", {}))
    state = state_of() | {"drafts": list(drafts), "queries": ["q"] * queries} | more
    runtime = cast("Any", Runtime(context=context_of(settings=settings)))
    return cast("dict[str, Any]", asyncio.run(settle(cast("Any", state), runtime)))


def test_a_later_worse_draft_never_replaces_a_better_one() -> None:
    good, bad = judged(draft("Good.")), judged(draft("Bad."), is_useful=False, useful=0.1)
    assert best_of([good, bad]) is good
    assert best_of([bad, good]) is good
    out = settled(good, bad)
    assert out["draft"]["sentences"][0]["text"] == "Good."
    assert (out["draft"]["stop"], out["needs_review"]) == ("answered", False)
    assert "best of 2 drafts" in out["steps"][0]["said"]


def test_what_does_not_stand_is_cut_and_a_person_should_look() -> None:
    made = draft("Stands.", "Falls.", unsupported=("Falls.",))
    out = settled(judged(made, is_grounded=False, grounded=0.5))
    assert [one["text"] for one in out["draft"]["sentences"]] == ["Stands."]
    assert "1 more sentence was cut" in out["draft"]["note"]
    assert out["needs_review"] is True


@pytest.mark.parametrize(
    ("queries", "stop"), [(1, "no_progress"), (2, "no_progress"), (4, "attempts_exhausted")]
)
def test_an_answer_that_misses_the_question_is_partial_and_says_so(queries: int, stop: str) -> None:
    out = settled(judged(draft("Beside it."), is_useful=False, useful=0.1), queries=queries)
    assert out["draft"]["stop"] == stop
    assert "may not be what was asked" in out["draft"]["note"]
    assert out["needs_review"] is True


@pytest.mark.parametrize(
    ("queries", "stop", "review"),
    [(1, "low_confidence", False), (3, "no_progress", True), (4, "attempts_exhausted", True)],
)
def test_an_abstention_after_retries_tells_of_them(queries: int, stop: str, review: bool) -> None:
    out = settled(judged(withheld("low_confidence"), is_useful=False), queries=queries)
    assert (out["draft"]["stop"], out["needs_review"]) == (stop, review)


def test_what_a_model_refused_is_not_given_again() -> None:
    refused, strict = judged(draft("Refused.")), judged(draft("Strict."), grounded=0.2)
    out = settled(refused, strict, answer_grades=["no"])
    assert out["draft"]["sentences"][0]["text"] == "Strict."


def stopped(state: dict[str, Any]) -> Answer:
    """What becomes of a run that is out of time in that state."""
    watched = Watched(context_of())
    watched.state = state
    return asyncio.run(failed(watched, TimeoutError(), state["scope"]))


def test_a_run_that_has_to_stop_gives_the_best_that_stood() -> None:
    (survey, *_) = passages_of()
    state = state_of() | {
        "found": [unread(survey) | {"kept": True}],
        "drafts": [judged(draft("Berth 4 is the deepest."))],
    }
    answer = stopped(state)
    assert (answer.status, answer.stop_reason) == ("partial", "deadline")
    assert "stopped before this was finished" in answer.text
    assert answer.citations[0].passage == "survey.0"


# What an answer says of the cap that cut it short, and how that is taken off again.

BUDGETS: list[tuple[Cap, BudgetSettings, str]] = [
    ("seconds", BudgetSettings(seconds=1), "1 second."),
    ("seconds", BudgetSettings(seconds=0.5), "0.5 seconds."),
    ("calls", BudgetSettings(calls=1), "1 model call."),
    ("tokens", BudgetSettings(tokens=12_000), "12,000 tokens."),
    ("money", BudgetSettings(money=0.02), "0.02 US dollars."),
    ("price", BudgetSettings(money=0.02), "price is unknown"),
]


@pytest.mark.parametrize(("cap", "budget", "words"), BUDGETS)
def test_it_names_the_cap_and_is_known_for_ours(
    cap: Cap, budget: BudgetSettings, words: str
) -> None:
    said = cut_short_by(cap, budget)
    assert words in said
    assert without_cut(f"The quay is old. [1]\n\n{said}") == "The quay is old. [1]"


def test_the_same_words_within_an_answer_are_the_answers_own() -> None:
    text = f"It says {cut_short_by('calls', BudgetSettings(calls=2))} on page 3. [1]"
    assert without_cut(text) == text
