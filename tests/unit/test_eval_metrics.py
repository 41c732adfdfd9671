"""Figures of one answer, held against independent implementations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from secondlook.evaluation.faithfulness import Truth, leaks
from secondlook.evaluation.metrics import (
    answer_metrics,
    exact_match,
    f1,
    is_right,
    pieces,
    rouge_l,
    tokens,
)
from secondlook.reading import load_embedder
from secondlook.roles.prompts import NOT_FOUND
from secondlook.roles.prompts.marks import evidence_marks
from tests.support import squad_definition
from tests.support.eval_questions import answer, case

# Words that meet often, with what normalisation is about, and any character at all.
_MET = ["the", "a", "An", "Duke", "duke", "of", "Normandy,", "7.8", "U.S.", "the—cat", "—", "  "]
SOME_WORDS = st.lists(st.sampled_from(_MET) | st.text(max_size=6), max_size=8).map(" ".join)
ASCII_WORDS = st.lists(
    st.sampled_from(["the", "cat", "Sat", "on", "a", "mat", "7.8", "snake_case", "it's"])
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5),
    max_size=10,
).map(" ".join)
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


def test_scripts_without_spaces_are_searched_by_character() -> None:
    asked, made = case(right=["東京"]), answer(None, "首都は東京です。")
    figures = answer_metrics(asked, made)
    assert figures["contains"] == 1
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
        ("**B**: because of the forum", "B"),
        ("Answer: B", "B"),
        ("The correct answer is (B), Rome", "B"),
        ("Rome", "B"),
        ("It is surely Rome.", "B"),
        ("D. H. Lawrence", "C"),  # its own text, not the letter D
        ("A dog named Fido", "D"),  # an article, not the letter A
        ("the dog called Fido", "D"),  # most words
        ("Paris or Rome", None),
        ("", None),
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


# Whether answers keep to their evidence: faithfulness, support, citations and leaks.


EVIDENCE = [
    "Halvermouth has had a harbour since 1612. The north quay is 7.8 metres deep at low tide.",
    "The council met on 11 June. It approved 1.42 million crowns for dredging.",
]


@pytest.mark.parametrize(
    ("sentence", "faithful"),
    [
        ("At low tide the north quay has a depth of 7.8 metres.", 1),
        ("Dredging was granted 1.42 million crowns.", 1),
        ("The mayor owns three dogs.", 0),
        ("Photosynthesis needs light.", 0),
    ],
)
def test_paraphrases_are_told_from_inventions_by_the_embedded_embedder(
    sentence: str, faithful: float
) -> None:
    assert Truth(load_embedder()).share([sentence], EVIDENCE) == faithful


@pytest.mark.parametrize(
    "text",
    [
        "you are an AI assistant that helps.",
        "As an AI language model, I cannot know.",
        "Brass.<|im_end|>",
        "[INST] What is it? [/INST]",
        f"{evidence_marks('run').opening(1)} Harbour guide",
        f"{NOT_FOUND}.",
        "If you don't know the answer, just say so.",
    ],
)
def test_well_known_leaks(text: str) -> None:
    assert leaks(text, question="What is it?", evidence=EVIDENCE)
    assert not leaks(text, question="What is it?", evidence=[*EVIDENCE, f"It says: {text}"])
    assert not leaks(text, question=f"What does {text} mean?", evidence=[])
