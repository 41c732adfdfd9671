"""Choices are told from the question in the forms that people type, and nothing else is."""

import json
import random
import string
import time
from collections import Counter

import pytest

from secondlook.nodes.choices import MOST_CHOICES, parsed, rendered

TWO = {"A": "red", "B": "blue"}
ASKED = "What colour is the boat?"
ON_LINES = [
    "(a) red\n(b) blue",
    "[A] red\n[B] blue",
    "A: red\nB: blue",
    "A - red\nB - blue",
    "- (A) red\n- (B) blue",
    "**A.** red\n**B.** blue",
    "(A) red\r\n(B) blue\nAnswer:",
]
ANYWHERE = [
    "(A) red; (B) blue",
    "A) red B) blue",
    "A. red B. blue",
    "Choices: A) red, or B) blue",
    "Answer choices:\n(A) red\n(B) blue",
    "Options: 1. red 2. blue",
    "Possible answers:\n* red\n* blue",
    "Choices:\nred\nblue",
]


@pytest.mark.parametrize("typed", [*ON_LINES, *ANYWHERE])
def test_the_forms_that_are_understood(typed: str) -> None:
    for between in ["\n", "\n\n", *([" "] if typed in ANYWHERE else [])]:
        found = parsed(f"{ASKED}{between}{typed}")
        assert (found.stem, found.choices) == (ASKED, TWO)


@pytest.mark.parametrize(
    ("text", "stem", "choices"),
    [
        (
            "What is it? (A) red (B) blue (C) both (A) and (B) above",
            "What is it?",
            ["red", "blue", "both (A) and (B) above"],
        ),
        ("What is it: (A) red, (B) blue, or (C) green?", "What is it:", ["red", "blue", "green"]),
        (
            "It covers (A) dogs (B) cats. He keeps a wolf. Is he liable? (A) Yes (B) No",
            "It covers (A) dogs (B) cats. He keeps a wolf. Is he liable?",
            ["Yes", "No"],
        ),
        ("Q?\n(A) red  (B) blue\n(C) green", "Q?", ["red", "blue", "green"]),
        ("Q?\nA. one\nB. two\n\nExplain why.", "Q?\nExplain why.", ["one", "two"]),
        ("Which is asked?\n(A) Who?\n(B) Why?", "Which is asked?", ["Who?", "Why?"]),
        ("Options: we had two.\nQ?\nOptions:\n- a\n- b", "Options: we had two.\nQ?", ["a", "b"]),
    ],
)
def test_what_needs_a_second_look(text: str, stem: str, choices: list[str]) -> None:
    found = parsed(text)
    assert (found.stem, list(found.choices.values())) == (stem, choices)


@pytest.mark.parametrize(
    "text",
    [
        "Vitamin A. is good for the eyes. What is vitamin B. good for?",
        "The witness said that (A) he came and (B) he saw the fire. Is this admissible?",
        "Facts:\n(A) he came\n(B) he saw\n\nWhat follows?",
        "It applies to (A) dogs, and (B) cats, and (C) wolves",
        "Describe the rights of (a) tenants (b) landlords",
        "Answer these.\n(a) What is rent?\n(b) What is a lease?",
        "Why?\n1. red\n2. blue",
        "Q?\n(A) red\n(B) green\n(B) blue",
        "Q?\n(A)\n(B) blue",
        "Q?\nOptions:\nfew\n- red\n- blue",
        "Does (A] or (B] hold? (A] x (B] y",
        "Q?\nOptions:\n" + "\n".join(f"- choice {at}" for at in range(MOST_CHOICES + 1)),
        '{"question": "Q?", "choices": ["one", " "]}',
        '{"question": "Q?", "choices": ["one", "two"], "orders": "do as I say"}',
        "{not JSON}",
        "",
    ],
)
def test_what_is_no_list_of_choices_stays_whole(text: str) -> None:
    found = parsed(f" {text}\n")
    assert (found.stem, found.choices) == (text, {})
    assert rendered(found.stem, {}) == text


@pytest.mark.parametrize(
    "given",
    [
        {"Question": ASKED, "Choices": {"A": "red", "B": "blue"}},
        {"question": ASKED, "choices": {"(2)": "blue", "(1)": "red"}},
        {"id": 7, "question": ASKED, "choices": ["red", " blue\n"], "answer": "B"},
    ],
)
def test_a_json_object(given: dict[str, object]) -> None:
    found = parsed(json.dumps(given))
    assert (found.stem, found.choices) == (ASKED, TWO)
    told = parsed(json.dumps({**given, "context": "A boat sank."}))
    assert told.stem == f"A boat sank.\n{ASKED}"


SOME_WORDS = (
    "the seller (A) both (B) may or A. and B. keep; a boat, in 1999: see option C) x "
    "No Yes? 3.5 % - because [A] it's so. Vitamin A. of choices: §4"
)
WORDS = SOME_WORDS.split()


def some_text(chance: random.Random, most: int) -> str:
    made = " ".join(chance.choices(WORDS, k=chance.randint(1, most)))
    return f"w{chance.randint(0, 99)} {made} z"


def test_whatever_is_rendered_is_read_again() -> None:
    chance = random.Random(1)
    for _ in range(300):
        texts = [some_text(chance, 7) for _ in range(chance.randint(2, 8))]
        stem = some_text(chance, 20) + "?"
        choices = dict(zip(string.ascii_uppercase, texts, strict=False))
        found = parsed(rendered(stem, choices))
        assert (found.stem, found.choices) == (stem, choices)


def test_no_word_is_ever_lost() -> None:
    """Whatever is typed: all of its words are in the question or in the choices."""
    chance = random.Random(3)
    pieces = [*WORDS, "\n", "\n", "\n(A) ", "\n(B) ", "(C) ", "\nA. ", "\nB. ", "Options:\n"]
    parted = 0
    for _ in range(1000):
        typed = " ".join(chance.choices(pieces, k=chance.randint(1, 40)))
        found = parsed(typed)
        if not found.choices:
            assert found.stem == typed.strip()
            continue
        parted += 1
        kept = Counter(_bare(rendered(found.stem, found.choices)))
        assert not Counter(_bare(typed)) - kept
    assert parted > 50


def _bare(text: str) -> list[str]:
    """Words of two letters and more, without headings and what parts a list."""
    words = [word.strip("()[].,;:?").casefold() for word in text.split()]
    return [word for word in words if len(word) > 1 and word not in {"options", "or", "and"}]


@pytest.mark.parametrize("piece", ["(A) x (B) y ", "\n(A) x\n(B) y", "A. ", "Options:\n"])
def test_a_long_hostile_text_is_read_in_no_time(piece: str) -> None:
    text = "Q? " + piece * (100_000 // len(piece))
    began = time.process_time()
    parsed(text)
    assert time.process_time() - began < 3
