"""Names in passages, and which of them an unclear word may stand for."""

from __future__ import annotations

import pytest

from secondlook.passage import Passage
from secondlook.roles.ambiguity import (
    Rival,
    Witness,
    competing,
    leader,
    mentioned,
    name_words,
    rivals,
    unresolved,
)

ADA = "Ada Lovelace was born in London. She wrote the notes in 1843. Lovelace died in 1852."
RHINE = "The Rhine is a river in Europe. It begins in the Alps. Bonn lies on the Rhine."


def passage(text: str, title: str = "Notes", name: str = "p1") -> Passage:
    return Passage(
        id=name, document=name, sha256="0" * 64, title=title, text=text, start=0, end=len(text)
    )


def meant(question: str, *texts: str, titles: tuple[str, ...] = ()) -> list[Rival]:
    unclear = unresolved(question)
    assert unclear is not None
    named = [*titles, *["Notes"] * len(texts)]
    witnesses = [Witness(passage(text, named[at], f"p{at}"), 1.0) for at, text in enumerate(texts)]
    return rivals(unclear, question, witnesses)


def test_a_part_of_a_name_counts_as_the_whole() -> None:
    found = mentioned(ADA, "Notes")
    assert len(found["ada lovelace"].places) == 2
    assert found["ada lovelace"].goes_on["she"] == 1
    assert found["london"].as_place == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("However, the light failed. The town was dark.", "however"),
        ("Small boats lie there. They are small.", "small"),
        ("He was an American singer.", "american"),
        ("It was in March that it failed.", "march"),
    ],
)
def test_a_capital_alone_makes_no_name(text: str, name: str) -> None:
    assert name not in mentioned(text, "Notes")


def test_a_title_counts_where_the_text_only_goes_on() -> None:
    known = name_words("Long ago Ada Lovelace wrote notes.")
    found = mentioned("She left the group in 2005.", "Ada Lovelace (writer)", known)
    assert found["ada lovelace"].is_title
    assert found["ada lovelace"].goes_on["she"] == 1
    assert mentioned("She left the group in 2005.", "Survey", known) == {}


def test_she_is_who_the_text_calls_she() -> None:
    text = f"{ADA} Charles Babbage was an engineer. He built engines."
    found = meant("When did she die?", text)
    assert found[0].name == "Ada Lovelace"
    assert leader(found) == found[0]
    him = meant("When did he die?", text)
    assert him[0].name == "Charles Babbage"


def test_two_that_are_alike_have_no_leader() -> None:
    one = "Ada Lovelace left the club in 1843. She went to London."
    two = "Eve Curie left the club in 1938. She went to Paris."
    found = meant("When did she leave her club?", one, two)
    assert leader(found) is None
    assert {rival.name for rival in competing(found)} >= {"Ada Lovelace", "Eve Curie"}
    assert sum(rival.share for rival in found) == pytest.approx(1)


def test_a_thing_is_no_person_and_keeps_its_article() -> None:
    found = meant("How long is it?", f"{RHINE} Ada Lovelace saw it. She was glad.")
    assert found[0].name == "Rhine"
    assert found[0].takes_the
    assert "Ada Lovelace" not in [rival.name for rival in found]


def test_a_noun_is_what_is_called_so() -> None:
    text = (
        "Blue Train is the second album by John Coltrane. It came out in 1958. "
        'His album "Giant Steps" came out in 1960.'
    )
    found = meant("When did the album come out?", text)
    assert {rival.name for rival in found} == {"Blue Train", "Giant Steps"}
    war = meant("Who won the war?", "The Crimean War began in 1853. Russia lost.")
    assert [rival.name for rival in war] == ["Crimean War"]
