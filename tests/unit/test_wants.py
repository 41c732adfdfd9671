"""What a question wants: the embedded understander's reading, and what code makes of any text it
may write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.nodes.combine import subjects
from secondlook.reading.understander import Written
from secondlook.roles import wants
from secondlook.roles.wants import Split, filled, is_talk, read_form, wanted, wrong_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.roles.wants import Combining, Kind

# Classes of questions, as the shipped understander reads them. Its share of right ones is in the
# documentation; these must not break.

KINDS: dict[Kind, tuple[str, ...]] = {
    "one": (
        "How deep is berth 4?",
        "who signed the lease for the flat in Elm Road",
        "What is the law of supply and demand?",
        "average units of the north region in March",
        "thanks to whom was the pier built?",
        "what does the summary say about dredging costs in 2019",
        "how many documents must a tenant sign?",
    ),
    "account": ("compare the two offers for the roof", "pros and cons of renewing the lease"),
    "summary": ("summarise the harbour survey", "give me an overview of the staff handbook"),
    "files": ("which files do you have?", "how many documents are there"),
    "hello": ("hi", "Good morning!"),
    "thanks": ("thanks a lot", "Thank you very much."),
    "help": ("what can you do?",),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wanted(kind: Kind) -> None:
    assert {one: wanted(one).kind for one in KINDS[kind]} == dict.fromkeys(KINDS[kind], kind)


def test_what_a_summary_and_files_are_about() -> None:
    assert wanted("summarise the harbour survey").about == "the harbour survey"
    assert wanted("summarise everything").about == ""
    assert wanted("which files do you have about the ferries?").about == "the ferries"
    assert is_talk("which files do you have?")
    assert not is_talk("which files do you have about the ferries?")


PARTS = [
    (
        "which channel does the office use, and when was the market opened?",
        ("Which channel does the office use?", "When was the market opened?"),
        "each",
    ),
    (
        "Who is the mother of the director of Jaws?",
        ("Who is the director of Jaws?", "Who is the mother of {1}?"),
        "last",
    ),
    (
        "Who was born first, Ada Vane or Bo Reed?",
        ("When was Ada Vane born?", "When was Bo Reed born?"),
        "earliest",
    ),
    (
        "Who died later, Ada Vane or Bo Reed?",
        ("When did Ada Vane die?", "When did Bo Reed die?"),
        "latest",
    ),
    (
        "Which is taller, the Long Tower or the Old Mill?",
        ("How tall is the Long Tower?", "How tall is the Old Mill?"),
        "most",
    ),
    (
        "Were Ince and McGrath of the same nationality?",
        ("What is the nationality of Ince?", "What is the nationality of McGrath?"),
        "same",
    ),
]


@pytest.mark.parametrize(("question", "parts", "combining"), PARTS)
def test_parts(question: str, parts: tuple[str, ...], combining: str) -> None:
    made = wanted(question).split
    assert made is not None
    assert (made.parts, made.combining) == (parts, combining)
    if combining not in {"each", "last"}:
        assert all(one in question for one in subjects(parts))


def test_what_the_understander_cannot_read_is_not_put_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wants, "understander", lambda: None)
    assert wanted(" ").kind == "one"
    assert wanted("Wie hoch ist die Miete der Wohnung, und wann ist sie zu zahlen?").kind == "one"
    assert wanted("who " * 300).kind == "several"


# Whatever is written


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], None]:
    def script(text: str, likelihood: float) -> None:
        one = SimpleNamespace(write=lambda *_: Written(text, likelihood))
        monkeypatch.setattr(wants, "understander", lambda: one)

    return script


@pytest.mark.parametrize(
    ("text", "likelihood", "kind"),
    [
        ("one", 0.9, "one"),
        ("one", 0.5, "several"),
        ("each: who owns the boat? || what did it cost?", 0.9, "parts"),
        ("each: who owns the boat? || what did it cost?", 0.1, "several"),
        ("each: who owns the boat? || who owns the boat?", 0.9, "several"),
        ("each: who painted the ceiling? || what is a lien?", 0.9, "several"),
        ("last: who owns the boat? || what did it cost?", 0.9, "several"),
        ("summary: the boat", 0.9, "summary"),
        ("summary: the boat", 0.1, "one"),
        ("each: who owns the boat?", 0.9, "one"),
        ("hello: the boat", 0.9, "one"),
        ("gibberish || #7", 0.9, "one"),
        ("", 0.9, "one"),
    ],
)
def test_only_what_it_is_sure_of_and_what_the_question_says(
    text: str, likelihood: float, kind: str, writes: Callable[[str, float], None]
) -> None:
    writes(text, likelihood)
    assert wanted("who owns the boat and what did it cost").kind == kind


@given(st.text(max_size=60), st.sampled_from(("last", "each", "summary", "years", "")))
def test_any_text_is_a_form_or_none(text: str, head: str) -> None:
    made = read_form(f"{head}: {text}")
    assert made is None or made.split is None or len(made.split.parts) > 1


@pytest.mark.parametrize(
    ("parts", "combining", "why"),
    [
        (("Who owns the boat?",), "each", "not from 2 to 4"),
        (("Who owns the boat?", ""), "each", "empty"),
        (("Who owns {1}?", "What did the boat cost?"), "last", "does not come before"),
        (("Who owns the boat?", "What did {cost} cost?"), "last", "no hole"),
        (("Who owns the boat?", "What did the boat cost?"), "last", "needs no answer"),
        (("Who owns the boat?", "What did {1} cost?"), "years", "two values"),
        (("Who owns the boat?", "What did {1} cost?"), "same", "several values"),
        (("Who owns it?", "Where does the long red whale in Oslo sleep?"), "each", "else"),
    ],
)
def test_parts_that_cannot_be_asked(parts: tuple[str, ...], combining: Combining, why: str) -> None:
    split = Split(parts, combining)
    assert why in (wrong_parts(split, "Who owns the boat and what did it cost?") or "")


def test_holes_are_filled_with_what_came_before() -> None:
    assert (
        filled("When was {1} born in {2}?", ["Ada Vane.", "Hull"])
        == "When was Ada Vane born in Hull?"
    )
