"""Answers without a language model: whose row, which sentence, who is who, and what is denied."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes.extract import extract
from secondlook.reading.port import Reading
from secondlook.roles.sentences import sentence_bounds, whole_numbers
from tests.support.engine import WordShelf, context_of, passages_of, settings_of

if TYPE_CHECKING:
    from secondlook.nodes.state import DraftData, Found
    from secondlook.passage import Passage

STAFF = (
    "name | role | city | salary\n"
    "name: Marko Horvat; role: Engineer; city: Zagreb; salary: 52000\n"
    "name: Ana Kova\u010d; role: Analyst; city: Split; salary: 59000\n"
    "name: Ivan Babi\u0107; role: Designer; city: Rijeka; salary: 47000"
)


@dataclass(slots=True)
class Desk(WordShelf):
    """Finds in a text read alone the words it is told to, if they are there."""

    finds_alone: str = ""
    margin: float = 9.0

    def read_text(self, query: str, text: str) -> Reading:
        start = text.find(self.finds_alone)
        score = self.margin if start >= 0 else -5.0
        start = max(start, 0)
        end = start + len(self.finds_alone)
        return Reading(score, score, start, end, span_score=score, null_score=0.0)


def found(passage: Passage, span: str, margin: float = 12.0) -> Found:
    start = passage.text.index(span)
    item: Any = {
        "id": passage.id,
        "document": passage.document,
        "start": passage.start,
        "end": passage.end,
        "kept": True,
        "relevance": margin,
        "answerable": margin,
        "span_start": start,
        "span_end": start + len(span),
        "span_score": margin,
        "null_score": 0.0,
        "score": 1.0,
        "fusion_score": 1.0,
        "dense_rank": 1,
        "lexical_rank": 1,
    }
    made: Found = item
    return made


def answer(
    question: str, *read: tuple[str, str], alone: str = "", margin: float = 9.0, **given: Any
) -> DraftData:
    """What is made of passages and the span that the reader saw in each, all of one document."""
    passages = passages_of([("papers", text) for text, _ in read])
    given = {"reader_name": given.pop("reader_name", WordShelf().reader_name), **given}
    desk = Desk(held=passages, finds_alone=alone, margin=margin, reader_name=given["reader_name"])
    settings = settings_of(answer=given.get("answer", {}))
    items = [found(one, span) for one, (_, span) in zip(passages, read, strict=True)]
    context = context_of(shelf=desk, settings=settings, question=question)
    return asyncio.run(extract(context, question, items))


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_bounds(text)]


# Rows


def test_the_value_comes_from_the_row_that_is_asked_about() -> None:
    drafted = answer("what is the salary of Ana Kovac", (STAFF, "52000"), alone="59000")
    assert drafted["short"] == "59000"
    assert drafted["sentences"][0]["text"] == STAFF.split("\n")[2]
    assert drafted["reasons"][-1] == "taken from the row that names Ana Kovac"
    sure = answer("what is the salary of Marko Horvat", (STAFF, "52000"))
    assert sure["short"] == "52000"
    assert (drafted["confidence"] or 1) < (sure["confidence"] or 0)


def test_the_row_may_lie_in_another_passage_of_the_document() -> None:
    more = "name: Eva Lind; role: Clerk; city: Graz; salary: 39000"
    read = (STAFF, "52000"), (more, "Clerk")
    assert answer("salary of Eva Lind", *read, alone="39000")["short"] == "39000"


def test_rows_that_fit_equally_well_are_not_chosen_between() -> None:
    drafted = answer("What is the salary?", (STAFF, "52000"))
    assert drafted["stop"] == "low_confidence"
    assert drafted["reasons"][-1] == "3 rows fit the question equally well"
    two = STAFF + "\nname: Ana Kova\u010d; role: Analyst; city: Pula; salary: 61000"
    assert answer("salary of Ana Kova\u010d", (two, "52000"))["confidence"] == 0.0
    assert answer("salary of Ana Kova\u010d", (two, "61000"))["confidence"] == 0.5
    assert answer("role of Ana Kova\u010d", (two, "Analyst"))["confidence"] > 0.5  # type: ignore[operator]


# Names

DEPUTY = "Berths are given out by the master, Piet Aldous, and his deputy, Runa Vestergaard."


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (DEPUTY, "his deputy"),
        ("Runa Vestergaard, Chief Engineer, spoke.", "Chief Engineer"),
        ("Runa Vestergaard was elected Mayor in May.", "Mayor"),
        ("name: Runa Vestergaard; role: Director", "Director"),
        ("Runa Vestergaard came late. She is a diver from Graz.", "a diver"),
    ],
)
@pytest.mark.parametrize("question", ["Who is Runa Vestergaard?", "who is runa vestergaard"])
def test_tells_who_somebody_is(text: str, span: str, question: str) -> None:
    assert answer(question, (text, span))["short"] == span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (DEPUTY, "Piet Aldous"),
        (DEPUTY, "Vestergaard"),
        ("Runa Vestergaard and Tomas Lind met.", "Tomas Lind"),
        ("Piet Aldous is the harbour master.", "the harbour master"),
    ],
)
def test_another_person_is_not_who_somebody_is(text: str, span: str) -> None:
    for reader in (WordShelf().reader_name, "another-reader@0"):
        drafted = answer("Who is Runa Vestergaard?", (text, span), reader_name=reader)
        assert drafted["stop"] == "low_confidence"
        assert drafted["reasons"][-1] == "it does not say who Runa Vestergaard is"


# Denials


def test_who_did_not_do_it_is_not_who_did() -> None:
    text = "The Graz pilot was long. The ethics board did not approve it, as forms were missing."
    drafted = answer("who approved the Graz pilot", (text, "ethics board"))
    assert drafted["stop"] == "low_confidence"
    assert drafted["reasons"][-1] == 'the sentence says "not" where the question does not'
    assert answer("who did not approve the pilot", (text, "ethics board"))["short"]
    shown = answer("who approved it", (text, "ethics board"), answer={"enable_abstention": False})
    assert (shown["short"], shown["confidence"]) == ("ethics board", 0.3)


@pytest.mark.parametrize(
    ("text", "cut", "whole"),
    [
        ("It is 9.5 millimetres.", "5 millimetres", "9.5 millimetres"),
        ("It cost 1,386,000 crowns.", "1,386", "1,386,000"),
        ("At 20:52 it failed.", "20:52", "20:52"),
        ("Berth 4 is deep.", "Berth", "Berth"),
    ],
)
def test_a_span_never_cuts_a_number(text: str, cut: str, whole: str) -> None:
    start = text.index(cut)
    first, last = whole_numbers(text, start, start + len(cut))
    assert text[first:last] == whole


# Languages

BRIDGE = "Die Brücke wurde 1890 von Anna Lehmann gebaut und verbindet die Altstadt mit dem Hafen."
READ_AS_GERMAN = (
    "the passage is in German; the reader was trained for English: how sure it is cannot be told"
)


@pytest.mark.parametrize("margin", [12.0, -9.0])
def test_in_a_language_the_reader_does_not_know_its_scores_decide_nothing(margin: float) -> None:
    passages = passages_of([("papers", BRIDGE)])
    context = context_of(shelf=WordShelf(held=passages), question="Wer hat die Brücke gebaut?")
    items = [found(passages[0], "Anna Lehmann", margin)]
    drafted = asyncio.run(extract(context, context.question, items))
    assert drafted["short"] == "Anna Lehmann"
    assert drafted["sentences"][0]["text"] == BRIDGE
    assert drafted["confidence"] is None
    assert drafted["reasons"] == [READ_AS_GERMAN]
