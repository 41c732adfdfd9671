"""Choices are told from the question in the forms that people type, and nothing else is."""

from __future__ import annotations

import json
import random
import string
import time
from collections import Counter

import pytest

from secondlook.nodes.choices import MOST_CHOICES as MOST
from secondlook.nodes.choices import parsed, rendered

TWO = {"A": "red", "B": "blue"}
ASKED = "What colour is the boat?"


ON_LINES = [
    "(A) red\n(B) blue",
    "(a) red\n(b) blue",
    "[A] red\n[B] blue",
    "A. red\nB. blue",
    "A) red\nB) blue",
    "a) red\nb) blue",
    "a. red\nb. blue",
    "A: red\nB: blue",
    "A - red\nB - blue",
    "  A.  red\n\n  B.  blue\n",
    "- (A) red\n- (B) blue",
    "**A.** red\n**B.** blue",
    "A.\nred\nB.\nblue",
    "(A)red\n(B)blue",
    "(A) red\r\n(B) blue",
    "(A) red\n(B) blue\nAnswer:",
    "**Options:**\n\u2022 red\n\u2022 blue",
]
ANYWHERE = [
    "(A) red (B) blue",
    "(a) red (b) blue",
    "(A) red; (B) blue",
    "A) red B) blue",
    "A. red B. blue",
    "Options: (A) red, (B) blue",
    "Choices: A) red, or B) blue",
    "Answer choices:\n(A) red\n(B) blue",
    "Answer options:\nA. red\nB. blue",
    "Options:\n1. red\n2. blue",
    "Options:\n1) red\n2) blue",
    "Options: 1. red 2. blue",
    "Choices:\n- red\n- blue",
    "Possible answers:\n* red\n* blue",
    "Choices:\nred\nblue",
]


@pytest.mark.parametrize("typed", [*ON_LINES, *ANYWHERE])
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_the_forms_that_are_understood(typed: str, between: str) -> None:
    found = parsed(f"{ASKED}{between}{typed}")
    assert (found.stem, found.choices) == (ASKED, TWO)


@pytest.mark.parametrize("typed", ANYWHERE)
def test_some_of_them_on_the_line_of_the_question(typed: str) -> None:
    found = parsed(f"{ASKED} {typed}")
    assert (found.stem, found.choices) == (ASKED, TWO)


@pytest.mark.parametrize(
    ("text", "stem", "choices"),
    [
        (
            "The plaintiff will most likely (A) win. (B) lose. (C) settle. (D) appeal.",
            "The plaintiff will most likely",
            ["win.", "lose.", "settle.", "appeal."],
        ),
        (
            "What is it? (A) red (B) blue (C) both (A) and (B) above",
            "What is it?",
            ["red", "blue", "both (A) and (B) above"],
        ),
        (
            "What is it: (A) red, (B) blue, or (C) green?",
            "What is it:",
            ["red", "blue", "green"],
        ),
        (
            "It covers (A) dogs (B) cats. He keeps a wolf. Is he liable? (A) Yes (B) No",
            "It covers (A) dogs (B) cats. He keeps a wolf. Is he liable?",
            ["Yes", "No"],
        ),
        (
            "Q?\n(A) red  (B) blue\n(C) green  (D) white",
            "Q?",
            ["red", "blue", "green", "white"],
        ),
        ("Q?\nA. one\n  more\nB. two", "Q?", ["one more", "two"]),
        ("Q?\nA. one\nB. two\n\nExplain why.", "Q?\nExplain why.", ["one", "two"]),
        ("Q?\nA. one\nB. two\nReply by letter.", "Q?\nReply by letter.", ["one", "two"]),
        ("Which is asked?\n(A) Who?\n(B) Why?", "Which is asked?", ["Who?", "Why?"]),
        ("Which word joins?\n(A) and\n(B) or", "Which word joins?", ["and", "or"]),
        ("Which sign? (A) + (B) -", "Which sign?", ["+", "-"]),
        ("Q?\n(A) May\n(B) may", "Q?", ["May", "may"]),
        ("Q?\n(A) same\n(B) same", "Q?", ["same", "same"]),
        ("Options: we had two.\nQ?\nOptions:\n- a\n- b", "Options: we had two.\nQ?", ["a", "b"]),
        ("Rules:\n(A) no dogs\n(B) no cats\nQ?\n(A) Yes\n(B) No", None, ["Yes", "No"]),
    ],
)
def test_what_needs_a_second_look(text: str, stem: str | None, choices: list[str]) -> None:
    found = parsed(text)
    assert list(found.choices.values()) == choices
    assert found.stem == (stem or text[: text.index("Q?") + 2])


@pytest.mark.parametrize(
    "text",
    [
        "What colour is the boat?",
        "Vitamin A. is good for the eyes. What is vitamin B. good for?",
        "What did Dr. A. B. Smith find?",
        "Which? See A. Smith and B. Jones.",
        "The witness said that (A) he came and (B) he saw the fire. Is this admissible?",
        "Facts:\n(A) he came\n(B) he saw\nWhat follows?",
        "Is it lawful? Facts:\n(A) he came\n(B) he saw\nWhat follows?",
        "Facts:\n(A) he came\n(B) he saw\n\nWhat follows?",
        "A person who (a) is of age and (b) resides here may vote.",
        "It applies to (A) dogs (B) cats and (C) wolves. He keeps one. It bites. He will pay.",
        "What is a pet? Any (A) dog (B) cat. Ann has a wolf. It bites. She will pay for",
        "It applies to (A) dogs, and (B) cats, and (C) wolves",
        "Which is larger, (A) the sun or (B) the moon?",
        "Describe the rights of (a) tenants (b) landlords",
        "Please explain:\n(a) rent\n(b) lease",
        "Answer these.\n(a) What is rent?\n(b) What is a lease?",
        "Why?\n1. red\n2. blue",
        "Why?\n- red\n- blue",
        "Q?\n(B) red\n(C) blue",
        "Q?\n(A) red\n(C) blue",
        "Q?\n(A) red",
        "Q?\n(A) red\n(A) green\n(B) blue",
        "Q?\n(A) red\n(B) green\n(B) blue",
        "Q? (A) red (A) green (B) blue",
        "Q?\n(A)\n(B) blue",
        "(A) red\n(B) blue",
        "Options:\nred\nblue",
        "Q?\nOptions:\nred, green or blue",
        "Q?\nOptions:\nred\n\nblue",
        "Q?\nOptions:\nfew\n- red\n- blue",
        "Q?\nOptions:\n2. red\n3. blue",
        "Is f(a) = (b) or (c)?",
        "Does (A] or (B] hold? (A] x (B] y",
        '{"question": "Q?", "choices": ["one"]}',
        '{"question": "Q?", "choices": ["one", " "]}',
        '{"question": "Q?", "choices": ["one", 2]}',
        '{"question": "Q?", "choices": {"x": "one", "y": "two"}}',
        '{"question": "Q?", "choices": ["one", "two"], "options": ["three", "four"]}',
        '{"question": " ", "choices": ["one", "two"]}',
        '{"question": 7, "choices": ["one", "two"]}',
        '{"question": "Q?", "choices": ["one", "two"], "orders": "do as I say"}',
        '{"question": "Q?", "choices": "one or two"}',
        '{"question": "Q?"}',
        "{not JSON}",
        "",
    ],
)
def test_what_is_no_list_of_choices_stays_whole(text: str) -> None:
    found = parsed(f" {text}\n")
    assert (found.stem, found.choices) == (text, {})


@pytest.mark.parametrize(
    "given",
    [
        {"question": ASKED, "choices": ["red", "blue"]},
        {"Question": ASKED, "Choices": {"A": "red", "B": "blue"}},
        {"question": ASKED, "options": {"b": "blue", "a": "red"}},
        {"stem": ASKED, "answer_choices": {"(2)": "blue", "(1)": "red"}},
        {"id": 7, "question": ASKED, "choices": ["red", " blue\n"], "answer": "B"},
    ],
)
def test_a_json_object(given: dict[str, object]) -> None:
    found = parsed(json.dumps(given))
    assert (found.stem, found.choices) == (ASKED, TWO)


def test_what_the_question_of_an_object_builds_on_comes_before_it() -> None:
    given = {"question": "Who pays?", "context": "A boat sank.", "choices": ["Ann", "Bo"]}
    assert parsed(json.dumps(given)).stem == "A boat sank.\nWho pays?"


def test_too_many_for_the_letters() -> None:
    typed = "Q?\nOptions:\n" + "\n".join(f"- choice {at}" for at in range(MOST + 1))
    assert parsed(typed).choices == {}


def test_nothing_to_choose_from_is_rendered_as_it_is() -> None:
    assert rendered("Why?", {}) == "Why?"


SOME_WORDS = (
    "the seller (A) both (B) may or A. and B. keep; a boat, in 1999: see option C) x "
    "No Yes? 3.5 % - because [A] it's so. Vitamin A. of choices: §4"
)
WORDS = SOME_WORDS.split()
MARKS = (
    "({upper}) {text}",
    "{upper}. {text}",
    "{upper}) {text}",
    "{lower}) {text}",
    "[{upper}] {text}",
)
HEADED = ("Options:\n{list}", "Answer choices:\n{list}", "Choices:\n\n{list}")


def some_text(chance: random.Random, most: int) -> str:
    made = " ".join(chance.choices(WORDS, k=chance.randint(1, most)))
    return f"w{chance.randint(0, 99)} {made} z"


def some_question(chance: random.Random) -> tuple[str, dict[str, str]]:
    count = chance.randint(2, 8)
    texts = [some_text(chance, 7) for _ in range(count)]
    return some_text(chance, 20) + "?", dict(zip(string.ascii_uppercase, texts, strict=False))


def test_whatever_is_rendered_is_read_again() -> None:
    chance = random.Random(1)
    for _ in range(1000):
        stem, choices = some_question(chance)
        found = parsed(rendered(stem, choices))
        assert (found.stem, found.choices) == (stem, choices)


def test_whatever_form_a_list_of_lines_has_it_is_read() -> None:
    chance = random.Random(2)
    read = 0
    for _ in range(1000):
        stem, choices = some_question(chance)
        form = chance.choice(MARKS)
        lines = [
            form.format(upper=letter, lower=letter.lower(), text=text)
            for letter, text in choices.items()
        ]
        listed = chance.choice(["\n", "\n\n"]).join(lines)
        head = chance.choice(HEADED) if chance.random() < 0.5 else "{list}"
        found = parsed(f"{stem}\n{head.format(list=listed)}")
        # Where only the last asks, the question may come after a list of facts.
        if "?" not in lines[-1] or any("?" in line for line in lines[:-1]):
            assert (found.stem, found.choices) == (stem, choices)
            read += 1
    assert read > 800


def test_no_word_is_ever_lost() -> None:
    """Whatever is typed: all of its words are in the question or in the choices."""
    chance = random.Random(3)
    pieces = [*WORDS, "\n", "\n", "\n(A) ", "\n(B) ", "(C) ", "\nA. ", "\nB. ", "Options:\n"]
    parted = 0
    for _ in range(2000):
        typed = " ".join(chance.choices(pieces, k=chance.randint(1, 40)))
        found = parsed(typed)
        if not found.choices:
            assert found.stem == typed.strip()
            continue
        parted += 1
        kept = Counter(_bare(rendered(found.stem, found.choices)))
        assert not Counter(_bare(typed)) - kept
    assert parted > 100


@pytest.mark.parametrize("piece", ["(A) x (B) y ", "\n(A) x\n(B) y", "A. ", "(A", "Options:\n"])
def test_a_long_hostile_text_is_read_in_no_time(piece: str) -> None:
    text = "Q? " + piece * (200_000 // len(piece))
    began = time.process_time()
    parsed(text)
    assert time.process_time() - began < 5


def _bare(text: str) -> list[str]:
    """Words of two letters and more, without headings and what parts a list."""
    words = [word.strip("()[].,;:?").casefold() for word in text.split()]
    return [word for word in words if len(word) > 1 and word not in {"options", "or", "and"}]
