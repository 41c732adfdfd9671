"""Forms of questions that need several facts; all others stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.nodes.combine import subjects
from secondlook.roles.split import needs_more, split_by_form

ARITHMETIC = [
    (
        "How many years between Beyonc\u00e9's birth and her first Grammy?",
        ("When was Beyonc\u00e9 born?", "When did Beyonc\u00e9 win her first Grammy?"),
        "years",
    ),
    (
        "How many years passed between the founding of Oslo and the death of Harald Hardrada?",
        ("When was Oslo founded?", "When did Harald Hardrada die?"),
        "years",
    ),
    (
        "How many years after the release of Thriller was Bad released?",
        ("When was Thriller released?", "When was Bad released?"),
        "years",
    ),
    (
        "How much taller is the Eiffel Tower than Big Ben?",
        ("How tall is the Eiffel Tower?", "How tall is Big Ben?"),
        "difference",
    ),
    (
        "How many more goals did Ada Vane score than Bo Reed?",
        ("How many goals did Ada Vane score?", "How many goals did Bo Reed score?"),
        "difference",
    ),
    (
        "How many boats do Oslo and Bergen own together?",
        ("How many boats does Oslo own?", "How many boats does Bergen own?"),
        "sum",
    ),
]
COMPARISON = [
    ("Which is larger, Scotland or Wales?", "How large is Scotland?", "most"),
    ("Who is taller, Ada Vane or Bo Reed?", "How tall is Ada Vane?", "most"),
    ("Who was born first, Ada Vane or Bo Reed?", "When was Ada Vane born?", "earliest"),
    ("Which band is older, Polvo or Garbage?", "When was Polvo founded?", "earliest"),
    ("Which was first published, Golf or Time?", "When was Golf published?", "earliest"),
    ("Which film, Alien or Jaws, came out first?", "When did Alien come out?", "earliest"),
    ("Who died later, Ada Vane or Bo Reed?", "When did Ada Vane die?", "latest"),
    ("Between Tosca and Aida, which has more acts?", "How many acts does Tosca have?", "most"),
    (
        "Which has the higher mean depth, Lake A or Lake B?",
        "What is the mean depth of Lake A?",
        "most",
    ),
    ("Were Ince and McGrath of the same nationality?", "What is the nationality of Ince?", "same"),
    ("Are Ada Vane and Bo Reed both musicians?", "Is Ada Vane a musician?", "both"),
    ("Were the magazines Time and Life both monthly?", "Was Time monthly?", "both"),
]
BRIDGE = [
    (
        "Who directed the film that Yu Rongguang starred in?",
        ("What is the film that Yu Rongguang starred in?", "Who directed {1}?"),
    ),
    (
        "Who is the mother of the director of Jaws?",
        ("Who is the director of Jaws?", "Who is the mother of {1}?"),
    ),
    (
        "When was the company that owns Bonifacio High Street founded?",
        ("What is the company that owns Bonifacio High Street?", "When was {1} founded?"),
    ),
]
WHOLE = [
    "What is the capital of France?",
    "What is the difference between TCP and UDP?",
    "How many years between her birth and her first Grammy?",
    "Which is larger, the first or the second?",
    "Are both The Day and Lennon or McCartney short films?",
    "Which is nicer, Oslo or Bergen?",
    "What is the name of the dance that Ada Vane invented?",
    "Who directed the film of the year?",
    "",
    "Who " + "very " * 100 + "was it?",
]


@pytest.mark.parametrize(("question", "parts", "combining"), ARITHMETIC)
def test_arithmetic(question: str, parts: tuple[str, ...], combining: str) -> None:
    made = split_by_form(question)
    assert made is not None
    assert (made.parts, made.combining) == (parts, combining)


@pytest.mark.parametrize(("question", "first", "combining"), COMPARISON)
def test_comparison(question: str, first: str, combining: str) -> None:
    made = split_by_form(question)
    assert made is not None
    assert (made.parts[0], made.combining) == (first, combining)
    one, other = subjects(made.parts)
    assert one in question
    assert other in question
    assert one != other
    assert made.parts[1] == made.parts[0].replace(one, other)


@pytest.mark.parametrize(("question", "parts"), BRIDGE)
def test_bridge(question: str, parts: tuple[str, ...]) -> None:
    made = split_by_form(question)
    assert made is not None
    assert (made.parts, made.combining) == (parts, "last")


@pytest.mark.parametrize("question", WHOLE)
def test_what_is_not_surely_a_form_stays_whole(question: str) -> None:
    assert split_by_form(question) is None


@given(st.text(max_size=200))
def test_any_text_has_a_form_or_none(text: str) -> None:
    made = split_by_form(text)
    assert made is None or len(made.parts) == 2
    needs_more(text)


@pytest.mark.parametrize(
    "question",
    [
        "What do Ada Vane and Bo Reed have in common?",
        "Which film was directed by Ada Vane, Alien or Jaws?",
        "How many years later was Maclure's memoir published after the map?",
        "In which part of Oslo was the singer who released the song No Problem raised?",
    ],
)
def test_several_facts_are_suspected(question: str) -> None:
    assert split_by_form(question) is None
    assert needs_more(question)
