"""Answers without a language model: which span, how sure, and whether sealed or only quoted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes.extract import extract
from secondlook.reading.second_look import is_yes_or_no
from secondlook.reading.support import CoverageSupport
from secondlook.roles.sentences import whole_numbers
from tests.support.engine import WordShelf, context_of, passages_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.state import DraftData, Found
    from secondlook.passage import Passage

INVOICE = "Invoice 0035\nInvoice date: 3 March 2025\nDue date: 2 April 2025"
SURE = 16.0


@dataclass(frozen=True, slots=True)
class Told(CoverageSupport):
    """Judges question and answer together as it is told to, by the answer."""

    logits: dict[str, float] = field(default_factory=dict)

    def together(self, asked: Sequence[tuple[str, str]]) -> list[float] | None:
        if not self.logits:
            raise RuntimeError("no session")
        return [next(v for k, v in self.logits.items() if one.endswith(k)) for one, _ in asked]


def found(passage: Passage, span: str, margin: float = SURE) -> Found:
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
    question: str, *read: tuple[str, str, float], logits: dict[str, float] | None, **given: Any
) -> DraftData:
    """What is made of passages, the span that the reader saw in each and its margin."""
    passages = passages_of([("papers", text) for text, _, _ in read])
    items = [found(one, *seen[1:]) for one, seen in zip(passages, read, strict=True)]
    context = context_of(
        shelf=WordShelf(held=passages), settings=settings_of(answer=given), question=question
    )
    support = CoverageSupport() if logits is None else Told(logits=logits)
    return asyncio.run(extract(replace(context, support=support), question, items))


def test_the_name_of_a_column_is_no_part_of_an_answer() -> None:
    row = "Item: Radar; Cost (GBP): 1,970; Hours: 5"
    made = answer("what did the radar cost", (row, "GBP): 1,970", SURE), logits=None)
    assert (made["short"], made["sentences"][0]["text"]) == ("1,970", row)


# The second look


def test_of_two_dates_the_one_that_goes_with_the_question_is_taken() -> None:
    read = (INVOICE, "3 March 2025", SURE), (INVOICE, "2 April 2025", SURE - 1)
    judged = {"3 March 2025": -4.0, "2 April 2025": 12.0}
    drafted = answer("when is invoice 0035 due", *read, logits=judged)
    assert drafted["short"] == "2 April 2025"
    assert drafted["sentences"][0]["supported"] is True


def test_what_does_not_go_with_the_question_is_never_sealed() -> None:
    read = (INVOICE, "3 March 2025", SURE)
    tried: tuple[dict[str, float] | None, ...] = ({"3 March 2025": -4.0}, None, {})
    for logits in tried:
        drafted = answer("when is invoice 0035 due", read, logits=logits, enable_abstention=False)
        assert [one["supported"] for one in drafted["sentences"]] == [None]
    sealed = answer("when is invoice 0035 due", read, logits={"3 March 2025": 12.0})
    assert (sealed["confidence"] or 0) > (drafted["confidence"] or 0)


def test_without_a_second_look_the_first_one_counts() -> None:
    read = (INVOICE, "2 April 2025", SURE)
    tried: tuple[dict[str, float] | None, ...] = (None, {})
    for logits in tried:
        assert answer("when is invoice 0035 due", read, logits=logits)["short"] == "2 April 2025"


@pytest.mark.parametrize(("yes", "no", "said"), [(5.0, -5.0, "Yes"), (-6.0, 4.0, "No")])
def test_a_question_for_yes_or_no_is_answered_so(yes: float, no: float, said: str) -> None:
    clause = "The tenant shall not sublet the unit without written consent."
    read = (clause, "shall not sublet the unit", SURE)
    drafted = answer("can we sublet", read, logits={"yes": yes, "no": no})
    assert drafted["short"] == said
    assert drafted["sentences"][0]["text"] == clause


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("Can zlib handle .Z files?", True),
        ("may i list the home for weekend stays", True),
        ("if they never answer, is my fence approved", True),
        ("isn't the deposit refundable", True),
        ("is it red or blue?", False),
        ("could you tell me the due date?", False),
        ("how many days are there", False),
        ("canned goods, which shelf", False),
    ],
)
def test_what_asks_for_yes_or_no(question: str, is_one: bool) -> None:
    assert is_yes_or_no(question) is is_one


STAFF = (
    "name | role | city | salary\n"
    "name: Marko Horvat; role: Engineer; city: Zagreb; salary: 52000\n"
    "name: Ana Kova\u010d; role: Analyst; city: Split; salary: 59000\n"
    "name: Ivan Babi\u0107; role: Designer; city: Rijeka; salary: 47000"
)


def test_of_rows_that_fit_equally_well_none_is_taken() -> None:
    judged = {"59000": 9.0}
    for question in ("what is the average salary", "how much do we pay", "salary in Paris"):
        drafted = answer(question, (STAFF, "59000", SURE), logits=judged)
        assert drafted["sentences"] == []
    drafted = answer("what is the salary of Ana Kovac", (STAFF, "59000", SURE), logits=judged)
    assert drafted["short"] == "59000"


def test_an_answer_that_is_unlikely_is_withheld() -> None:
    drafted = answer("who approved it", (INVOICE, "Invoice", -9.0), logits={"Invoice": -9.0})
    assert (drafted["stop"], drafted["sentences"]) == ("low_confidence", [])


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


@pytest.mark.parametrize("margin", [SURE, -9.0])
@pytest.mark.parametrize("question", ["Wer hat die Brücke gebaut?", "Who built the bridge?"])
def test_a_language_the_reader_does_not_know_is_not_guessed_at(
    question: str, margin: float
) -> None:
    drafted = answer(question, (BRIDGE, "Anna Lehmann", margin), logits={"Anna Lehmann": 9.0})
    assert (drafted["stop"], drafted["sentences"]) == ("low_confidence", [])
    assert drafted["note"] == "I do not read German well enough to answer."
    assert "is in German; the reader was trained for English" in drafted["reasons"][0]


def test_a_passage_in_another_language_does_not_stand_in_the_way() -> None:
    english = "The bridge was built by Anna Lehmann in 1890."
    read = (BRIDGE, "1890", SURE), (english, "Anna Lehmann", 6.0)
    drafted = answer("Who built the bridge?", *read, logits={"Anna Lehmann": 5.0, "1890": 9.0})
    assert drafted["sentences"][0]["text"] == english
