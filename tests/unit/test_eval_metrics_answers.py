"""Figures of one answer against right ones, held against independent implementations."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from secondlook.answer import Claim
from secondlook.evaluation.metrics import (
    METRICS,
    answer_metrics,
    best_window,
    contains,
    exact_match,
    f1,
    is_right,
    length_aware_f1,
    pieces,
    rouge_l,
    said,
    shared,
    tokens,
)
from secondlook.evaluation.metrics import split_sentences as sentences
from tests.support import squad_definition
from tests.support.eval_questions import answer, case

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@given(found=FEW, right=FEW)
@settings(max_examples=200, deadline=None)
def test_longest_common_sequence_is_the_longest(found: list[str], right: list[str]) -> None:
    longest = max(
        size
        for size in range(len(found) + 1)
        for kept in combinations(found, size)
        if _in_order(kept, right)
    )
    both = len(found) + len(right)
    expected = 2 * longest / both if found and right else 0.0
    assert rouge_l(" ".join(found), [" ".join(right)]) == pytest.approx(expected)


def _in_order(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


@given(
    words=st.lists(st.sampled_from("bcdef"), max_size=12),
    right=st.lists(st.sampled_from("bcd"), max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_best_window_is_the_best_of_all_windows(words: list[str], right: list[str]) -> None:
    least = min(len(right), len(words))
    windows = [
        words[start:end]
        for start in range(len(words))
        for end in range(start + max(1, least), len(words) + 1)
    ]
    expected = max((shared(window, right) for window in windows), default=0.0)
    assert best_window(words, right) == pytest.approx(expected)


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


@pytest.mark.parametrize("status", ["abstained", "refused", "failed"])
def test_what_was_not_answered_scores_nothing(status: Any) -> None:
    asked = case(right=["Paris"], choices={"A": "Paris"}, choice="A")
    made = answer("Paris", "Paris", status=status)
    assert set(answer_metrics(asked, made).values()) == {0.0}
    assert is_right(asked, made) is None


def test_withholding_is_right_only_where_there_is_no_answer() -> None:
    nothing = case(answerable=False)
    assert answer_metrics(nothing, answer(status="abstained")) == {"f1_overall": 1.0}
    assert answer_metrics(nothing, answer(status="refused")) == {"f1_overall": 1.0}
    assert answer_metrics(nothing, answer(status="failed")) == {"f1_overall": 0.0}
    assert answer_metrics(nothing, answer("Paris")) == {"f1_overall": 0.0}
    assert is_right(nothing, answer("Paris")) is False


def test_without_a_right_answer_there_is_nothing_to_compare() -> None:
    assert answer_metrics(case(gold=["a"]), answer("Paris")) == {}
    assert is_right(case(gold=["a"]), answer("Paris")) is None


def test_without_a_short_answer_the_text_is_scored() -> None:
    for short in (None, "", "  "):
        figures = answer_metrics(case(right=["Paris"]), answer(short, "It is Paris."))
        assert figures["f1"] == figures["text_f1"] == pytest.approx(0.5)


def test_an_answer_of_nothing_is_not_right_even_where_the_right_one_has_no_words() -> None:
    asked = case(right=["The"])
    assert answer_metrics(asked, answer("the"))["em"] == 1
    assert answer_metrics(asked, answer("the"))["contains"] == 1
    assert set(answer_metrics(asked, answer("", "")).values()) == {0.0}
    assert is_right(asked, answer("", "")) is False


def test_a_right_answer_without_words_does_not_make_every_article_right() -> None:
    assert exact_match("the", ["", "a", "Paris"]) == 0
    assert f1("the", ["", "a", "Paris"]) == 0
    assert contains("the", ["", "a", "Paris"]) == 0


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


def test_a_book_is_scored_at_once() -> None:
    book = "the duke of normandy and the king of france met in rouen " * 20_000
    figures = answer_metrics(case(right=["duke of normandy " * 60, "rouen"]), answer(None, book))
    assert figures["contains"] == 1
    assert figures["f1_length_aware"] < 0.001


def test_scripts_without_spaces_are_searched_by_character() -> None:
    asked, made = case(right=["東京"]), answer(None, "首都は東京です。")
    figures = answer_metrics(asked, made)
    assert figures["contains"] == figures["f1_length_aware"] == 1
    assert figures["rouge_l"] == pytest.approx(4 / 9)
    assert figures["em"] == figures["f1"] == 0  # SQuAD's own rules stay SQuAD's
    assert is_right(asked, made) is True
    assert pieces("กรุง Bangkok") == [*"กรุง", "bangkok"]
    assert tokens("the 東京") == ["東京"]


def test_text_is_what_was_said_without_marks_and_remarks() -> None:
    marked = answer("Paris", "It is Paris [1][2, 3].\n\n(1 sentence was cut.)")
    assert said(marked) == "It is Paris.\n\n(1 sentence was cut.)"
    claimed = marked.model_copy(update={"claims": (Claim(text="It is Paris.", citations=(1,)),)})
    assert said(claimed) == "It is Paris."
    assert sentences(" It is.\n Paris  too. ") == ["It is.", "Paris too."]


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


def test_half_of_a_right_answer_somewhere_in_a_sentence_is_not_right() -> None:
    asked = case(right=["in 1066", "William of Normandy"])
    made = answer("he", "He was crowned in 1087 as William of France.")
    assert answer_metrics(asked, made)["f1_length_aware"] == pytest.approx(2 / 3)
    assert is_right(asked, made) is False


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


def test_where_the_short_answer_names_no_option_the_text_may() -> None:
    asked = case(choices={"A": "Paris", "B": "Rome"}, choice="B")
    assert answer_metrics(asked, answer("the forum", "B) Rome, for its forum.")) == {"accuracy": 1}
    assert "accuracy" not in answer_metrics(case(choices={"A": "Paris"}), answer("A"))


def test_two_options_that_fit_equally_well_are_no_choice() -> None:
    asked = case(choices={"A": "big red car", "B": "big red van"}, choice="A")
    assert answer_metrics(asked, answer("big red bus"))["accuracy"] == 0
    assert answer_metrics(asked, answer("big red motor car"))["accuracy"] == 1
