"""Each node alone, with the services it is given."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.answer import answer
from secondlook.nodes.cite import Checker, cite
from secondlook.nodes.ranking import assess, assess_again, candidate, glanced_at, kept, ranked
from secondlook.nodes.retrieve import fall_back, rerank, retrieve
from secondlook.nodes.state import Found, unread
from secondlook.reading.support import load_support
from secondlook.roles.sentences import Sentence
from tests.support.engine import QUESTION, WordShelf, context_of, passages_of, settings_of, state_of

if TYPE_CHECKING:
    from secondlook.nodes.context import Context


def visit(node: Any, context: Context, **state: Any) -> dict[str, Any]:
    tokens: list[Any] = []
    runtime = Runtime(context=context, stream_writer=tokens.append)
    update: dict[str, Any] = asyncio.run(node(state_of(**state), runtime))
    return {**update, "tokens": tokens}


def found(context: Context, question: str = QUESTION) -> list[Found]:
    first = visit(retrieve, context, question=question)["found"]
    return cast("list[Found]", visit(rerank, context, question=question, found=first)["found"])


def test_rerank_keeps_as_many_as_an_answer_may_rest_on() -> None:
    items = found(context_of(settings=settings_of(answer={"k": 2})))
    assert [item["id"] for item in kept(items)] == [item["id"] for item in items[:2]]
    assert items[0]["why"] == "among the best"
    assert items[-1]["why"] == "others fit better"


def test_what_is_only_glanced_at_ranks_below_and_is_never_answered_from() -> None:
    shelf = WordShelf(glances=True)
    context = context_of(shelf=shelf, settings=settings_of(search={"looks": 2}))
    update = visit(rerank, context, found=visit(retrieve, context)["found"])
    items = update["found"]
    assert shelf.looks == [2]
    assert [glanced_at(item) for item in items] == [False, False, True, True, True]
    assert [candidate(item) is not None for item in items] == [True, True, False, False, False]
    assert all(item["relevance"] is not None and item["span_start"] is None for item in items[2:])
    assert items[0]["windows"] == 1
    (step,) = update["steps"]
    assert step["said"] == "Read 5 passages, 2 of them closely, and kept the best 5."
    assert step["numbers"]["looked"] == 2


def test_rerank_switched_off_keeps_the_order_of_the_searches() -> None:
    shelf = WordShelf()
    items = found(context_of(shelf=shelf, settings=settings_of(search={"rerank": False})))
    assert shelf.reads == []
    assert [item["fusion_score"] for item in items] == sorted(
        (item["fusion_score"] for item in items), reverse=True
    )


def test_a_passage_that_repeats_a_better_one_is_not_kept() -> None:
    whole, *_ = passages_of()
    part = replace(whole, id="survey.9", end=whole.end - 5, text=whole.text[:-5])
    items = [unread(whole, fusion_score=1.0), unread(part, fusion_score=0.9)]
    first, second = ranked(items, blend=0.7, k=5)
    assert (first["kept"], second["kept"]) == (True, False)
    assert second["why"] == "repeats a better passage"


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({}, "answer"),
        ({"adaptive": {"min_quality": 1.0}}, "fall_back"),
        ({"adaptive": {"min_quality": 0.0}}, "answer"),
        ({"adaptive": {"check": "min_rerank_score", "min_rerank_score": 99.0}}, "fall_back"),
        (
            {
                "adaptive": {"min_quality": 1.0, "enable_adaptive_retrieval": False},
                "web": {"enable_web_search": True, "min_quality": 1.0},
            },
            "search_web",
        ),
    ],
)
def test_assess_decides_by_numbers(settings: dict[str, Any], way: str) -> None:
    context = context_of(settings=settings_of(**settings))
    update = visit(assess, context, found=found(context))
    assert update["route"] == way
    (step,) = update["steps"]
    assert step["route"]["to"] == way
    assert 0 <= update["quality"] <= 1


def test_assess_again_asks_for_the_web_only_where_it_is_allowed() -> None:
    closed = context_of()
    assert visit(assess_again, closed, found=found(closed))["route"] == "answer"
    opened = context_of(settings=settings_of(web={"enable_web_search": True, "min_quality": 1.0}))
    assert visit(assess_again, opened, found=found(opened))["route"] == "search_web"


def test_fall_back_stops_reading_once_the_evidence_is_good_enough() -> None:
    """The answer is the first thing that the second search brings."""
    many = [*((f"p{at}", f"Nothing to see in part {at}.") for at in range(60))]
    many.append(("z", "Berth 4 is how deep: the deepest, at 7.8 metres."))
    shelf = WordShelf(held=passages_of(many))
    context = context_of(shelf=shelf)
    first = [item for item in found(context) if item["document"] != "z"]
    shelf.reads.clear()
    assert kept(visit(fall_back, context, found=first)["found"])[0]["document"] == "z"
    assert shelf.reads == [4]


def test_a_passage_that_only_repeats_the_question_is_no_answer() -> None:
    pieces = [
        ("exam", "How deep is the deepest berth 4"),
        ("survey", "How deep the berth 4 is: the deepest, 7.8 m."),
    ]

    class Echo(WordShelf):
        def read_text(self, query: str, text: str) -> Any:
            reading = WordShelf.read_text(self, query, text)
            whole = text.startswith("How")
            return replace(reading, start=0, end=len(text)) if whole else reading

    context = context_of(shelf=Echo(held=passages_of(pieces)))
    update = visit(answer, context, found=found(context))
    assert [item["cited"][0]["passage"] for item in update["draft"]["sentences"]] == ["survey.0"]


def test_citing_numbers_places_once() -> None:
    context = context_of()
    place = {"passage": "survey.0", "start": 0, "end": 10}
    other = {"passage": "log.0", "start": 0, "end": 5}
    gone = {"passage": "nowhere.0", "start": 0, "end": 5}
    sentences: Any = [
        {"text": "One.", "cited": [place, other], "support": 1.0, "supported": True},
        {"text": "Two.", "cited": [other, gone], "support": 1.0, "supported": True},
    ]
    citations, claims = asyncio.run(cite(context, sentences, []))
    assert [citation.number for citation in citations] == [1, 2]
    assert [claim.citations for claim in claims] == [(1, 2), (2,)]
    assert citations[1].quote == "The m"


# Claims


def checker(**options: Any) -> Checker:
    given_options = {"passages": passages_of(), "support": load_support(), "min_support": 0.5}
    return Checker(**{**given_options, **options})


def test_the_quote_is_the_sentence_that_carries_the_claim() -> None:
    claim = checker().check(Sentence("Berth 4 is 7.8 metres deep.", (1,)))
    assert claim["supported"] is True
    (cited,) = claim["cited"]
    text = passages_of()[0].text
    assert text[cited["start"] : cited["end"]].startswith("Berth 4 remains")
    assert "60 centimetres" not in text[cited["start"] : cited["end"]]


def test_a_claim_over_two_sentences_gets_both() -> None:
    claim = checker().check(
        Sentence("Berth 4, the deepest berth at 7.8 metres, has lost 60 centimetres.", (1,))
    )
    text = passages_of()[0].text
    (cited,) = claim["cited"]
    assert text[cited["start"] : cited["end"]] == text


def test_a_wrong_citation_is_replaced_by_the_passage_that_carries_the_claim() -> None:
    claim = checker().check(Sentence("The light never went out.", (1,)))
    assert claim["supported"] is True
    assert [cited["passage"] for cited in claim["cited"]] == ["log.0"]


@pytest.mark.parametrize(
    "text",
    [
        "Berth 4 is 9.9 metres deep.",
        "In the end Napoleon voted against the money.",
        "The light went out.",
    ],
)
def test_what_no_passage_says_is_not_supported(text: str) -> None:
    assert checker().check(Sentence(text, (1,)))["supported"] is False


@pytest.mark.parametrize(
    ("question", "said", "stands"),
    [
        ("How deep is berth 4?", "7.8 metres", True),
        ("How deep is berth 4?", "It is 7.8 metres.", True),
        ("How deep is berth 4?", "Laut den Unterlagen lautet die Antwort: 7.8 metres.", True),
        ("How deep is berth 4?", "60 centimetres", False),
        ("How deep is berth 4?", "9.9 metres", False),
        ("Did the light go out?", "No.", True),
        ("Did the light go out?", "Yes.", False),
    ],
)
def test_a_bare_answer_is_judged_with_its_question(question: str, said: str, stands: bool) -> None:
    passages = passages_of()
    number = 1 if "berth" in question else 1 + [one.id for one in passages].index("log.0")
    claim = checker(question=question, min_support=0.6).check(Sentence(said, (number,)))
    assert claim["supported"] is stands
    assert claim.get("answers", False) or not stands
