"""Whether two questions ask the same: each kind of difference, and rewordings that are none."""

from __future__ import annotations

import pytest

from benchmarks.same_question import read_pairs
from secondlook.roles.same_question import compared, same_question
from tests.support.engine import settings_of

ALIKE = 0.99
DIFFERENT = [
    ("Is a search with a warrant lawful?", "Is a search without a warrant lawful?", "denies"),
    ("Does the rule apply?", "Does the rule not apply?", "denies"),
    ("Who signed before the deadline?", "Who signed after the deadline?", "another way"),
    ("Do fees rise above 50 euros?", "Do fees rise below 50 euros?", "other words"),
    ("What does section 12 say?", "What does section 12A say?", "numbers"),
    ("What is new in Tesso 3.2?", "What is new in Tesso 3.20?", "numbers"),
    ("What did the first survey find?", "What did the second survey find?", "other words"),
    ("What does Brandt owe?", "What does Brand owe?", "names"),
    ("Must the pilot board the ship?", "May the pilot board the ship?", "may be, must be"),
    ("Did Brandt sue Orr?", "Did Orr sue Brandt?", "another order"),
    ("Was Brandt sued?", "Did Brandt sue?", "another way"),
    ("Who is the harbour master?", "Who was the harbour master?", "past"),
    ("When was the quay built?", "Where was the quay built?", "another way"),
    ("Can I sue you?", "Can you sue me?", "other words"),
    (
        "Did the owner of the ship sell the cargo?",
        "Did the ship sell the cargo's owner?",
        "other words",
    ),
    ("Did a clerk of Orr give notice?", "Did Orr give a clerk notice?", "other words"),
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
