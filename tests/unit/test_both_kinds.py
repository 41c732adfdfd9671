"""Two answers become one, and come apart again."""

from typing import Any

import pytest

from secondlook.answer import Analysis, Answer, Citation, Claim, Confidence
from secondlook.nodes.finish_auto import shifted, together, unanswered
from secondlook.nodes.state import CallData
from secondlook.verify.report import Report
from secondlook.verify.wording import apart

EVERYWHERE: Any = {"documents": None, "labels": []}


def made(text: str, **given: Any) -> Answer:
    values: dict[str, Any] = {
        "run": "r",
        "question": "both?",
        "asked": "a part?",
        "workflow": "corrective",
        "method": "extractive",
        "text": text,
        "status": "answered",
        "stop_reason": "answered",
        "created": "2026-01-01T00:00:00+00:00",
        "version": "0",
    }
    return Answer.model_validate({**values, **given})


OF_PLAN = made(
    "One [note 7]. [1] Two. [1][2]",
    short="One",
    claims=(
        Claim(text="One [note 7].", citations=(1,), support=1.0, supported=True),
        Claim(text="Two.", citations=(1, 2), support=1.0, supported=True),
    ),
    citations=tuple(
        Citation(
            number=number,
            passage=f"d.{number}",
            document="d",
            sha256="d",
            title="Plan",
            start=0,
            end=3,
            quote="so.",
        )
        for number in (1, 2)
    ),
    confidence=Confidence(value=0.8, label="calibrated", reasons=("a near lead",)),
    attempts=1,
)
OF_TABLE = made(
    "Mean: 3.\n\nRead as: mean of x.",
    workflow="analyst",
    method="computed",
    short="3",
    claims=(Claim(text="Mean: 3.", citations=(), support=1.0, supported=True),),
    analysis=Analysis(kind="computed", reading="mean of x"),
    values={"x": 3},
    confidence=Confidence(value=0.6, label="calibrated"),
    attempts=1,
)
WITHHELD = made(
    "I couldn't find a clear answer.", status="abstained", stop_reason="no_evidence", method="none"
)
FAILED = made("No answer.", status="failed", stop_reason="deadline", method="none")


def call(kind: Any, question: str) -> CallData:
    workflow = "analyst" if kind == "tables" else "corrective"
    return CallData(workflow=workflow, question=question, scope=EVERYWHERE, kind=kind, why="")


CALLS = (call("documents", "What?"), call("tables", "How much?"))


def whole(*answers: Answer, calls: Any = CALLS) -> Answer:
    return together("both?", "auto", calls, answers)


def test_each_claim_keeps_its_kind_of_evidence() -> None:
    answer = whole(OF_PLAN, OF_TABLE)
    assert answer.text == f"{OF_PLAN.text}\n\n{OF_TABLE.text}"
    assert [claim.citations for claim in answer.claims] == [(1,), (1, 2), ()]
    assert (answer.status, answer.stop_reason, answer.workflow) == ("answered", "answered", "auto")
    assert answer.short == "One; 3"
    assert answer.values == {"x": 3}
    assert answer.analysis == OF_TABLE.analysis
    assert [part.claims for part in answer.parts] == [(1, 2), (3,)]
    assert answer.attempts == 2


def test_a_part_that_is_refused_refuses_all_of_it() -> None:
    refused = made("Refused.", status="refused", stop_reason="refused", method="none")
    answer = whole(refused, OF_TABLE)
    assert (answer.status, answer.claims, answer.workflow) == ("refused", (), "auto")


def test_it_is_as_sure_as_its_least_sure_part() -> None:
    answer = whole(OF_PLAN, OF_TABLE)
    assert (answer.confidence.value, answer.confidence.label) == (0.6, "calibrated")
    assert answer.confidence.reasons == ("documents: a near lead",)
    answer = whole(OF_PLAN, OF_TABLE.model_copy(update={"confidence": Confidence()}))
    assert answer.confidence.value is None
    assert answer.confidence.reasons[0] == "how sure a part is cannot be told"


def test_numbers_go_on_where_the_first_part_ends() -> None:
    second = shifted(OF_PLAN, citations=2, claims=3)
    assert second.text == "One [note 7]. [3] Two. [3][4]"
    assert [one.number for one in second.citations] == [3, 4]
    assert shifted(second, citations=-2, claims=-3) == OF_PLAN
    outline = OF_PLAN.model_copy(update={"text": "- One (1900 [1]), two [2], three [9]"})
    assert shifted(outline, citations=1, claims=0).text == "- One (1900 [2]), two [3], three [9]"


@pytest.mark.parametrize(
    ("answers", "status", "stop"),
    [
        ((WITHHELD, OF_TABLE), "partial", "no_evidence"),
        ((FAILED, OF_TABLE), "partial", "deadline"),
        ((WITHHELD, WITHHELD), "abstained", "no_evidence"),
        ((WITHHELD, FAILED), "failed", "deadline"),
    ],
)
def test_what_one_part_lacks_the_whole_says(
    answers: tuple[Answer, ...], status: str, stop: str
) -> None:
    answer = whole(*answers)
    assert (answer.status, answer.stop_reason) == (status, stop)
    assert answer.short is None
    if answer.claims:
        lacking = next(part for part in answer.parts if not part.claims)
        assert answer.text.endswith(unanswered(lacking))
        assert lacking.question in answer.text


# Taken apart


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ((OF_PLAN, OF_TABLE), CALLS),
        ((OF_TABLE, OF_PLAN), (CALLS[1], CALLS[0])),
        ((OF_PLAN, WITHHELD), CALLS),
    ],
)
def test_it_comes_apart_into_what_it_was_made_of(answers: Any, calls: Any) -> None:
    report = Report()
    parts = apart(whole(*answers, calls=calls), report)
    assert report.problems == []
    told = [one for one in answers if one.claims]
    assert [one.text for one in parts] == [one.text for one in told]
    assert [one.claims for one in parts] == [one.claims for one in told]
    assert [one.citations for one in parts] == [one.citations for one in told]
    assert [one.analysis for one in parts] == [one.analysis for one in told]
    apart(whole(*answers, calls=calls).model_copy(update={"short": "Two; 3"}), report)
    assert any("short form" in problem.message for problem in report.problems)
