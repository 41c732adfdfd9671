"""Questions made from sentences by rule: what is asked for, how, and how they lose their answer."""

from __future__ import annotations

from random import Random

import pytest

from secondlook.evaluation.generated_questions import (
    Statement,
    Stock,
    askable,
    question_about,
    swapped,
)


class Never(Random):
    """Always draws the high end: nothing is dropped, moved or reworded."""

    def random(self) -> float:
        return 0.999


class Always(Random):
    """Always draws the low end: what can be dropped or reworded is."""

    def random(self) -> float:
        return 0.0


def said_in(around: str) -> Statement:
    return Statement("d1", around, 0, len(around), around)


def asked(sentence: str, answer: str, draw: Random | None = None) -> str | None:
    found = [piece for piece in askable(sentence) if piece.text == answer]
    assert found, [piece.text for piece in askable(sentence)]
    return question_about(sentence, found[0], draw or Never())


@pytest.mark.parametrize(
    ("sentence", "answer", "question"),
    [
        (
            "The dome was finished in 1879 by the guild.",
            "1879",
            "When was the dome finished by the guild?",
        ),
        (
            "The lighthouse of Lessing was built by Thomas Webb in 1843.",
            "Thomas Webb",
            "Who was the lighthouse of Lessing built by in 1843?",
        ),
        (
            "The market hall can hold 140 stalls during the summer.",
            "140",
            "How many stalls can the market hall hold during the summer?",
        ),
        (
            "The council has approved a new breakwater.",
            "a new breakwater",
            "What has the council approved?",
        ),
        (
            "Thomas Webb designed the first lighthouse of the coast.",
            "Thomas Webb",
            "Who designed the first lighthouse of the coast?",
        ),
        ("The town lost the mill in 1911.", "1911", "The town lost the mill when?"),
    ],
)
def test_a_sentence_becomes_a_question(sentence: str, answer: str, question: str) -> None:
    assert asked(sentence, answer) == question


def test_what_does_not_matter_is_dropped_and_words_are_exchanged() -> None:
    sentence = "However, the bridge (a ruin today) was built in 1843, which few people know."
    assert asked(sentence, "1843", Always()) == "When was the bridge constructed?"


def test_a_question_that_still_tells_its_answer_is_none() -> None:
    assert asked("The Fulmar was the sister ship of the Fulmar in Corran.", "Corran") is not None
    sentence = "The council of Corran has moved to Corran."
    assert asked(sentence, "Corran") is None


def test_a_swapped_question_has_a_detail_that_the_passage_lacks() -> None:
    stock = Stock()
    stock.take("d2", ["The pier was sold to Corran in 1911.", "The quay went to Merrow in 1920."])
    said = said_in("The lighthouse of Lessing was built in 1843, long before the pier of Merrow.")
    question = "Who built the lighthouse of Lessing in 1843?"
    found = {swapped(question, said, stock, Random(seed)) for seed in range(20)}
    assert found == {
        "Who built the lighthouse of Corran in 1843?",
        "Who built the lighthouse of Lessing in 1911?",
        "Who built the lighthouse of Lessing in 1920?",
    }


def test_a_direction_may_be_turned_and_without_a_detail_there_is_no_swap() -> None:
    question = "Which quay lies north of the basin?"
    assert swapped(question, said_in("The quay lies north."), Stock(), Random(0)) == (
        "Which quay lies south of the basin?"
    )
    said = said_in("It lies north, not south.")
    assert swapped(question, said, Stock(), Random(0)) is None
