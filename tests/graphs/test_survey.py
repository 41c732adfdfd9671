"""A survey over scripted documents: what each says, what comes of it, and who was not asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.engine.execution import Watched, failed
from secondlook.graphs import survey as graph
from secondlook.graphs.registry import workflow
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps
from secondlook.nodes.survey import tallied
from secondlook.nodes.survey_set import BATCH, members
from secondlook.reading.port import Reading
from secondlook.roles.surveys import planned
from secondlook.verify.report import Report
from secondlook.verify.wording import check_computed, check_wording
from tests.support.engine import WordShelf, context_of, passages_of, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.context import Context

TOTAL = "survey sum: total? || documents"
PAPERS = [(f"paper{at}", f"Total: £{100 + at}.50") for at in range(1, 4)]


@dataclass(frozen=True)
class Named:
    id: str
    title: str
    paths: tuple[str, ...] = ()
    language: str | None = None


class LabelShelf(WordShelf):
    """Reads what stands behind the first colon of a text; of a text without one, nothing."""

    def read_text(self, query: str, text: str) -> Reading:
        start = text.find(": ") + 2
        label = query.rsplit(maxsplit=1)[-1].strip("?")
        score = 9.0 if start > 1 and label in text.casefold() else -9.0
        return Reading(score, score, start, len(text), span_score=score, null_score=0.0)


class Hurried(Ledger):
    """Has time for so many documents."""

    left = 2

    def must_end(self, node: str) -> bool:
        self.left -= 1
        if self.left < 0:
            self.refuse(self._too_late(f"{node} may not go on"))
        return self.refusal is not None


def context_with(pieces: Sequence[tuple[str, str]], question: str = TOTAL, **more: Any) -> Context:
    shelf = LabelShelf(passages_of(pieces))
    named = [Named(one, one) for one, _ in pieces]
    context = context_of(shelf=shelf, question=question, workflow="survey")
    return replace(context, titles=lambda _scope: named, **more)


def run(context: Context) -> tuple[Answer, list[dict[str, Any]]]:
    graph = workflow("survey").build(context.settings).compile()
    state = asyncio.run(graph.ainvoke(state_of(context.question), context=context))
    answer, report = Answer.model_validate(state["answer"]), Report()
    check_wording(answer, report)
    check_computed(answer, report)
    assert not report.problems
    return answer, state["steps"]


def test_a_total_cites_each_value_and_can_be_computed_again() -> None:
    answer, _ = run(context_with(PAPERS))
    assert answer.short == "£307.50"
    assert answer.claims[0].computation is not None
    assert len(answer.claims[0].citations) == len(answer.citations) == 3
    assert "Asked 3 documents; 3 answered." in answer.text
    assert answer.analysis is not None
    table = answer.analysis.table
    assert table is not None
    assert table.rows == tuple((name, text.partition(": ")[2]) for name, text in PAPERS)
    assert table.citations == ((None, 1), (None, 2), (None, 3))


def test_currencies_are_kept_apart_and_what_is_missing_is_named() -> None:
    papers = [*PAPERS, ("abroad", "Total: EUR 20.00"), ("card", "A card without an amount")]
    answer, _ = run(context_with(papers))
    assert answer.short == "£307.50 and €20"
    assert answer.text.startswith("Most likely: Of 4 of 5 documents: the total is")
    assert "Not stated in: card." in answer.text
    assert answer.tier == "likely"


def test_units_that_cannot_be_compared_give_a_winner_each() -> None:
    papers = [("one", "Total: £30"), ("two", "Total: £40"), ("three", "Total: €35")]
    answer, _ = run(context_with(papers, "survey most: total? || documents"))
    assert answer.short == "two (£40) and three (€35)"


def test_dates_without_a_day_are_not_compared_with_others() -> None:
    papers = [("one", "Ends: 3 May 2025"), ("two", "Ends: May 2025")]
    answer, _ = run(context_with(papers, "survey earliest: ends? || documents"))
    assert answer.status == "abstained"
    assert "cannot be compared" in answer.text


def test_what_all_name_is_found_whatever_their_order() -> None:
    papers = [
        ("one", "Present: Ada Lund, Bo Hale, Cy Orr"),
        ("two", "Present: Cy Orr and Ada Lund"),
    ]
    answer, _ = run(context_with(papers, "survey both: present? || documents"))
    assert answer.short == "Ada Lund and Cy Orr"


def test_a_survey_out_of_time_says_who_was_not_asked() -> None:
    ledger = Hurried(Caps(seconds=60))
    answer, _ = run(context_with(PAPERS, ledger=ledger))
    assert answer.status == "partial"
    assert answer.short == "£204"
    assert "Not asked: paper3." in answer.text
    assert ledger.refusal is not None


def test_a_run_that_is_stopped_tells_what_it_has() -> None:
    context = context_with(PAPERS)
    graph = workflow("survey").build(context.settings).compile()
    state = asyncio.run(graph.ainvoke(state_of(TOTAL), context=context))
    state |= {"rows": state["rows"][:2], "asked": 2}
    scope: Any = {"documents": None, "labels": []}
    answer = asyncio.run(failed(Watched(context, state=state), TimeoutError(), scope))
    assert (answer.status, answer.stop_reason) == ("partial", "deadline")
    assert answer.short == "£204"
    assert "Not asked: paper3." in answer.text


def test_documents_are_asked_some_at_a_time_and_kept() -> None:
    papers = [(f"paper{at}", f"Total: £{at}") for at in range(1, BATCH + 4)]
    answer, steps = run(context_with(papers))
    assert [one["numbers"]["asked"] for one in steps if one["node"] == "ask_each"] == [8, 11]
    assert answer.short == "£66"


def test_of_more_documents_than_it_asks_it_says_which_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "MOST_ASKED", BATCH)
    papers = [(f"paper{at:02}", "Total: £1.00") for at in range(BATCH + 2)]
    answer, _ = run(context_with(papers))
    assert answer.status == "partial"
    assert f"Of {BATCH} of {BATCH + 2} documents" in answer.text
    assert "Not asked: paper08, paper09" in answer.text


def test_a_set_that_nobody_can_tell_is_asked_for_by_name() -> None:
    answer, _ = run(context_with(PAPERS, "survey count: unicorns"))
    assert answer.status == "abstained"
    assert "--doc" in answer.text


def test_members_are_like_the_name_and_like_each_other() -> None:
    papers = [
        ("a", "invoice due bank"),
        ("b", "invoice due date"),
        ("c", "invoice due street"),
        ("rules", "invoice kitchen broom gate"),
        ("song", "meadow lark evening river"),
        ("brief", "Die Rechnung ist zu bezahlen."),
    ]
    context = context_with(papers)
    held = [Named(name, "paper", (), "de" if name == "brief" else "en") for name, _ in papers]
    inside, doubted, foreign = members(context, "invoice", held)
    assert [one.id for one in inside] == ["a", "b", "c"]
    assert [one.id for one in doubted] == ["rules"]
    assert [one.id for one in foreign] == ["brief"]
    assert members(context, "lighthouse", held) == ([], [], [])


def test_a_condition_that_nobody_checks_withholds() -> None:
    form = "survey count: is it paid? is no || documents"
    answer, _ = run(context_with(PAPERS, form))
    assert answer.status == "abstained"


@pytest.mark.parametrize(
    ("question", "act", "which"),
    [
        ("what do the receipts come to altogether?", "sum", "receipts"),
        ("which warranty runs out first", "earliest", "warranty"),
        ("how many reminders do we have", "count", "reminders"),
    ],
)
def test_a_question_says_what_is_made_of_which_set(question: str, act: str, which: str) -> None:
    plan = planned(question)
    assert plan is not None
    assert (plan.act, plan.which) == (act, which)
    other = planned("what is the phone number of the plumber")
    assert other is not None
    assert other.likely < 0.2 < plan.likely


def test_nobody_answering_gives_no_figure() -> None:
    row: Any = {"document": "a", "cells": [{"short": None, "confidence": None, "sentence": None}]}
    state: Any = {"act": "sum", "ended": "", "documents": [["a", "A"]], "rows": [row]}
    draft, said = tallied(state)
    assert draft["stop"] == "low_confidence"
    assert said == "Only 0 of 1 documents answered."
