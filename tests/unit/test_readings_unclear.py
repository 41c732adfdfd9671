"""Which words of a question count as unclear, and what is filled in for them."""

from __future__ import annotations

import pytest

from secondlook.roles.ambiguity import (
    Rival,
    assumption,
    choices,
    question_back,
    unresolved,
    with_meaning,
)


@pytest.mark.parametrize(
    ("question", "word", "kind"),
    [
        ("When did she leave her group?", "she", "person"),
        ("What was the name of their first album?", "their", "group"),
        ("Who wrote it?", "it", "thing"),
        ("What is its capital?", "its", "thing"),
        ("What happened to him in 1990?", "him", "person"),
        ("In what year was it built?", "it", "thing"),
        ("Did she win?", "she", "person"),
        ("When did this happen?", "this", "thing"),
        ("How many people live there?", "there", "place"),
        ("When was the album released?", "the album", "noun"),
        ("How large is this region?", "this region", "noun"),
        ("WHEN DID SHE LEAVE?", "SHE", "person"),
        ("  when did she leave?", "she", "person"),
    ],
)
def test_unclear(question: str, word: str, kind: str) -> None:
    found = unresolved(question)
    assert found is not None
    assert (found.word, found.kind) == (word, kind)
    assert question[found.start : found.end] == word


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When did Beyoncé leave her group?",
        "In her first book, what does Austen tell of?",
        "When did she (Beyoncé) leave?",
        "How does a plant make its food?",
        "Who lost his life at Waterloo?",
        "What is the largest bird of its kind?",
        "How many berths are there?",
        "When was the album Dangerously in Love released?",
        "Who wrote the book that began the revolt against taxes?",
        "How deep is the deepest berth 4",
        "she said " * 60,
    ],
)
def test_clear(question: str) -> None:
    assert unresolved(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that ice floats?",
        "How long does it take to dredge a berth?",
        "What is it called when a plant makes food?",
        "How far is it from here to the sea?",
    ],
)
def test_it_that_stands_for_nothing(question: str) -> None:
    assert unresolved(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Wann hat sie ihre Gruppe verlassen?",
        "¿Cuándo dejó ella su grupo?",
        "彼女はいつ辞めましたか",
    ],
)
def test_other_languages_are_left_alone(question: str) -> None:
    assert unresolved(question) is None


@pytest.mark.parametrize(
    ("question", "meant", "filled"),
    [
        ("When did she leave?", Rival("Ada", 1, ()), "When did Ada leave?"),
        ("When did her group split?", Rival("Ada", 1, ()), "When did Ada's group split?"),
        (
            "How long is it?",
            Rival("Rhine", 1, (), takes_the=True),
            "How long is the Rhine?",
        ),
        ("How many people live there?", Rival("Bonn", 1, ()), "How many people live in Bonn?"),
        ("Who directed the film?", Rival("Vertigo", 1, ()), "Who directed Vertigo?"),
    ],
)
def test_the_name_takes_the_place_of_the_word(question: str, meant: Rival, filled: str) -> None:
    unclear = unresolved(question)
    assert unclear is not None
    assert with_meaning(question, unclear, meant) == filled


def test_what_is_asked_back() -> None:
    she, album = unresolved("When did She leave?"), unresolved("When was the album made?")
    there, it = unresolved("Who lives there?"), unresolved("How deep is it?")
    assert she
    assert album
    assert there
    assert it
    assert assumption(she, Rival("Ada", 1, ())) == "she = Ada"
    assert question_back(she, ["Ada", "Eve"]) == 'Whom do you mean by "she": Ada or Eve?'
    assert question_back(album, ["A", "B", "C"]) == "Which album do you mean: A, B or C?"
    assert question_back(there, ["A", "B"]).startswith('Which place do you mean by "there"')
    assert question_back(it, ["A", "B"]).startswith('What do you mean by "it"')
    assert choices([]) == ""
