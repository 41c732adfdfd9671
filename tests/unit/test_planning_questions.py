"""Which questions of a model may become steps, and which wordings are alike or near."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes import queries as questions
from secondlook.nodes.queries import (
    Checked,
    asks_the_same,
    checked,
    fault_of,
    is_example,
    leans,
    likeness,
    shared,
    tidy,
    tidy_phase,
)
from tests.support.engine import WordShelf
from tests.support.planning import FIRST, SECOND, STORM, context, done, lost

if TYPE_CHECKING:
    from secondlook.nodes.state import StepData


@pytest.mark.parametrize(
    "question",
    [
        "What did step 2 find about damage?",
        "Is the previous answer right for boats?",
        "Does the rule mentioned above hold for ferries?",
        "Why is option B wrong?",
        "Is choice (C) the better rule?",
        "Which of the following is a trespass?",
        "Is it enforceable?",
        "What are its elements?",
        "Does this apply to minors?",
        "Did he have to pay?",
        "Are those rules strict?",
        "What must the captain do in this case?",
        "How does the latter differ from trespass?",
    ],
)
def test_a_question_that_leans_on_something_else_is_none(question: str) -> None:
    assert leans(question)


@pytest.mark.parametrize(
    "question",
    [
        FIRST,
        SECOND,
        "When is it lawful to moor at a private pier?",
        "How long does it take to appeal a judgment?",
        "What does a landlord owe to those who visit a tenant?",
        "May a captain moor his boat at a stranger's pier?",
        "What happens to a lease when its term ends?",
        "Who may sue one who damages a pier?",
        "Who wrote Step Pyramid studies?",
        "What are the options of a buyer in good faith?",
    ],
)
def test_a_question_that_stands_by_itself_may_be_asked(question: str) -> None:
    assert not leans(question)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("what is trespass", "What is trespass?"),
        ('Question: "What is trespass?"', "What is trespass?"),
        ("What is trespass? What is necessity?", "What is trespass?"),
        ("Define trespass.", "Define trespass?"),
        ("  ", ""),
        ("?", ""),
    ],
)
def test_the_first_question_of_a_reply_counts(said: str, question: str) -> None:
    assert tidy(said) == question


@pytest.mark.parametrize(
    ("said", "phase"),
    [
        ("duty of care", "Duty of care"),
        ("Lease, lease, lease", "Lease"),
        ("one two three four five six seven", "One two three four five six"),
        ("status of a buyer in the law of sales", "Status of a buyer"),
        ("", "Research"),
        ("<b>Rule</b>", "Research"),
    ],
)
def test_a_phase_is_a_heading(said: str, phase: str) -> None:
    assert tidy_phase(said, otherwise="Research") == phase


def check(said: str, *earlier: StepData, shelf: Any = None, known: str = "") -> Checked:
    numbered: list[Any] = [{**one, "id": number} for number, one in enumerate(earlier, 1)]
    given = context(shelf=shelf)
    return asyncio.run(
        checked(given, said, asked=STORM, known=known, earlier=numbered, prompt="replan")
    )


def test_a_question_about_what_was_asked_may_become_a_step() -> None:
    assert check(FIRST) == Checked(FIRST)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "empty"),
        ("Why " + "very " * 60 + "much?", "too long"),
        ("What is <|im_start|> trespass?", "marks"),
        ("What does https://example.org say of piers?", "marks"),
        ("Is it careless to leave a quay while a rope still holds the ferry?", "example"),
        ("Must he compensate?", "leans"),
        ("How are vaccines against measles made?", "off the subject"),
    ],
)
def test_what_may_not_become_a_step(said: str, reason: str) -> None:
    assert check(said) == Checked(None, reason)  # type: ignore[arg-type]


def test_what_a_step_has_found_may_be_asked_about() -> None:
    said = "Where is Ilse Harm buried?"
    assert check(said).reason == "off the subject"
    assert check(said, known="The jetty was built by Ilse Harm.").question == said


def test_what_a_completed_step_asked_is_not_asked_again() -> None:
    assert check(FIRST.upper(), done(SECOND), done(FIRST)) == Checked(None, "repeat", 2)


def test_a_failed_step_may_be_asked_again_in_other_words_only() -> None:
    assert check(FIRST, lost(FIRST)) == Checked(None, "repeat", 1)
    other = "When does private necessity allow a ship's captain to moor at a private pier?"
    assert check(other, lost(FIRST)) == Checked(other, None, 1)
    assert check(other, done(FIRST)) == Checked(None, "repeat", 1)


class Broken(WordShelf):
    def similarity(self, pairs: Any) -> list[float]:
        raise OSError("the embedder is gone")


def test_without_an_embedder_words_decide() -> None:
    made = check(FIRST, done(SECOND), shelf=Broken())
    assert made.question == FIRST
    assert made.warnings[0]["consequence"] == "questions were compared by their words alone"


def test_an_example_is_known_by_its_words() -> None:
    assert is_example("How high may a kite be flown  beside the runway?", "replan")
    assert not is_example(FIRST, "replan")
    assert not is_example("?", "replan")
    assert questions.MOST_WORDS_OF_QUESTION > 30


def test_names_do_not_count_as_shared_words() -> None:
    question = "Who steered the Marisol in 1904?"
    one, other = "helmsman of the Marisol in 1904", "pilot aboard the Marisol during 1904"
    assert shared(one, other, question, "english") == 0.0
    assert shared(one, other, "", "english") > 0.0
    assert shared("Marisol 1904", one, question, "english") == 1.0


def test_an_alternative_is_unlike_all_before_it_and_near_the_first() -> None:
    chosen = ["mooring at a pier in a storm", "tying up to a jetty during bad weather"]

    def fault(query: str, like: float) -> str | None:
        return fault_of(query, chosen, like, question=STORM, language="english")

    assert fault("right to berth without leave in an emergency", 0.4) is None
    assert fault("right to berth without leave in an emergency", math.nan) is None
    assert fault("pier storm mooring", 0.9) == "repeat"
    assert fault("bad weather, jetty", 0.9) == "repeat"
    assert fault("recipes for fish soup", 0.1) == "drift"


def test_likeness_does_not_depend_on_how_high_an_embedder_scores() -> None:
    class High(WordShelf):
        def similarity(self, pairs: Any) -> list[float]:
            return [0.8 + 0.2 * value for value in WordShelf.similarity(self, pairs)]

    plain = asyncio.run(likeness(context(), FIRST, [FIRST, SECOND]))
    high = asyncio.run(likeness(context(shelf=High()), FIRST, [FIRST, SECOND]))
    assert high == pytest.approx(plain)
    assert plain[0] == pytest.approx(1.0)
    assert asyncio.run(likeness(context(), FIRST, [])) == []


def test_an_embedder_that_finds_all_alike_tells_nothing() -> None:
    class Flat(WordShelf):
        def similarity(self, pairs: Any) -> list[float]:
            return [1.0 for _ in pairs]

    assert math.isnan(asyncio.run(likeness(context(shelf=Flat()), FIRST, [SECOND]))[0])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("When was the pier built?", "When was a pier built?", True),
        ("When was the pier built?", "Why was the pier built?", False),
        ("Which town burned in 1904?", "Which town burned in 1953?", False),
        ("Which town burned in 1904?", "What town burned in 1904?", True),
    ],
)
def test_questions_are_the_same_where_they_ask_for_the_same(
    one: str, other: str, *, same: bool
) -> None:
    assert asks_the_same(one, other, 0.95, "english") is same
