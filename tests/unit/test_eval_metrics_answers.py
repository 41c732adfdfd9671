"""Figures of one answer against right ones, held against independent implementations."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from secondlook.evaluation.metrics import (
    METRICS,
    answer_metrics,
    exact_match,
    f1,
    is_right,
    length_aware_f1,
    pieces,
    rouge_l,
    tokens,
)
from tests.support import squad_definition
from tests.support.eval_questions import answer, case

# Words that meet often, with what normalisation is about, and any character at all.
SOME_WORDS = st.lists(
    st.sampled_from(
        [
            "the",
            "a",
            "An",
            "Duke",
            "duke",
            "of",
            "Normandy,",
            "7.8",
            "U.S.",
            "the\u2014cat",
            "\u2014",
            "  ",
        ]
    )
    | st.text(max_size=6),
    max_size=8,
).map(" ".join)
ASCII_WORDS = st.lists(
    st.sampled_from(["the", "cat", "Sat", "on", "a", "mat", "7.8", "snake_case", "it's"])
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5),
    max_size=10,
).map(" ".join)
FEW = st.lists(st.sampled_from("abc"), max_size=9)
ROUGE = RougeScorer(["rougeL"], use_stemmer=False)


@given(found=SOME_WORDS, right=st.lists(SOME_WORDS, min_size=1, max_size=3))
@settings(max_examples=400, deadline=None)
def test_exact_match_and_f1_are_squads(found: str, right: list[str]) -> None:
    exact, overlap = squad_definition.best(right, found)
    assert exact_match(found, right) == exact
    assert f1(found, right) == pytest.approx(overlap)


@given(found=ASCII_WORDS, right=ASCII_WORDS)
@settings(max_examples=300, deadline=None)
def test_rouge_l_is_that_of_the_reference_package(found: str, right: str) -> None:
    expected = ROUGE.score(right, found)["rougeL"].fmeasure
    assert rouge_l(found, [right]) == pytest.approx(expected)


@given(
    found=st.text(max_size=80), right=st.lists(st.text(max_size=12), max_size=3), given=st.data()
)
@settings(max_examples=300, deadline=None)
def test_whatever_is_said_every_figure_is_between_0_and_1(
    found: str, right: list[str], given: Any
) -> None:
    status = given.draw(st.sampled_from(["answered", "partial", "abstained", "refused", "failed"]))
    short = given.draw(st.none() | st.just(found))
    answerable = given.draw(st.booleans())
    choices = given.draw(st.none() | st.just({"A": found[:5], "B": "".join(right), "": ""}))
    asked = case(right=right, answerable=answerable, choices=choices, choice="B")
    made = answer(short, found, status=status)
    figures = answer_metrics(asked, made)
    assert set(figures) <= set(METRICS)
    assert all(math.isfinite(value) and 0 <= value <= 1 for value in figures.values())
    assert all(value in {0, 1} for name, value in figures.items() if METRICS[name].yes_no)
    assert is_right(asked, made) in {True, False, None}


def test_withholding_is_right_only_where_there_is_no_answer() -> None:
    nothing = case(answerable=False)
    assert answer_metrics(nothing, answer(status="abstained")) == {"f1_overall": 1.0}
    assert answer_metrics(nothing, answer(status="refused")) == {"f1_overall": 1.0}
    assert answer_metrics(nothing, answer(status="failed")) == {"f1_overall": 0.0}
    assert answer_metrics(nothing, answer("Paris")) == {"f1_overall": 0.0}
    assert is_right(nothing, answer("Paris")) is False


@pytest.mark.parametrize(
    ("right", "text", "value"),
    [
        ("Duke of Normandy", "He was King of France.", 1 / 3),  # not 0.5, for a lone "of"
        ("Duke of Normandy", "William, Duke of Normandy, won.", 1.0),
        ("Duke of Normandy", "Duke", 0.5),
        ("Paris", "", 0.0),
        ("", "Paris", 0.0),
        ("Paris", "word " * 59 + "Paris", 0.5),
        ("Paris", "word " * 2000 + "Paris", 0.0),
    ],
)
def test_length_aware_f1(right: str, text: str, value: float) -> None:
    assert length_aware_f1(text, [right]) == pytest.approx(value)


def test_scripts_without_spaces_are_searched_by_character() -> None:
    asked, made = case(right=["東京"]), answer(None, "首都は東京です。")
    figures = answer_metrics(asked, made)
    assert figures["contains"] == figures["f1_length_aware"] == 1
    assert figures["rouge_l"] == pytest.approx(4 / 9)
    assert figures["em"] == figures["f1"] == 0  # SQuAD's own rules stay SQuAD's
    assert is_right(asked, made) is True
    assert pieces("กรุง Bangkok") == [*"กรุง", "bangkok"]
    assert tokens("the 東京") == ["東京"]


LONG = "The tower, which stands in the middle of the city of Paris, was built for a fair. " * 5


@pytest.mark.parametrize(
    ("short", "text", "method", "right"),
    [
        ("Paris, France", "It is there.", "generative", True),  # F1 0.667
        ("big city", "It is a big city.", "generative", False),
        (None, "It is Paris.", "generative", True),
        ("It", "It is Paris.", "generative", True),  # the short form was taken out of it badly
        ("It", "It is Paris.", "extractive", False),  # the span is the answer
        (None, "It is Paris.", "extractive", True),
        (None, LONG, "generative", False),  # a pasted page
    ],
)
def test_right(short: str | None, text: str, method: Any, right: bool) -> None:
    assert is_right(case(right=["Paris"]), answer(short, text, method=method)) is right


@pytest.mark.parametrize(
    ("short", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("b.", "B"),
        ("B) Rome", "B"),
        ("**B**: because of the forum", "B"),
        ("Answer: B", "B"),
        ("The correct answer is (B), Rome", "B"),
        ("The answer is B because Paris is in France", "B"),
        ("Rome", "B"),
        ("the rome", "B"),
        ("It is surely Rome.", "B"),
        ("D. H. Lawrence", "C"),  # its own text, not the letter D
        ("A dog named Fido", "D"),  # an article, not the letter A
        ("The answer is a Fido dog", "D"),
        ("the dog called Fido", "D"),  # most words
        ("Paris or Rome", None),
        ("E", None),
        ("", None),
        ("the", None),
        ("something else", None),
    ],
)
def test_choice(short: str, letter: str | None) -> None:
    choices = {"A": "Paris", "B": "Rome", "C": "D. H. Lawrence", "D": "Dog Fido"}
    for choice, text in choices.items():
        asked = case(right=[text], choices=choices, choice=choice.lower())
        made = answer(short)
        assert answer_metrics(asked, made)["accuracy"] == float(letter == choice), choice
        assert is_right(asked, made) is (letter == choice)


def test_a_letter_stands_for_its_option_in_every_figure() -> None:
    asked = case(right=["Rome"], choices={"A": "Paris", "B": "Rome"}, choice="B")
    figures = answer_metrics(asked, answer("B", "The forum stands there."))
    assert figures["em"] == figures["f1"] == figures["accuracy"] == 1
    assert figures["text_f1"] == 0
