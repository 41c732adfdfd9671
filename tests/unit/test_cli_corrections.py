"""What an answer that corrected itself shows of that, on the screen and on the way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from secondlook import events
from secondlook.answer import Answer, AnswerPart, Claim, Computation, Operand
from secondlook.cli.answers import print_answer
from secondlook.cli.command import Call
from secondlook.cli.progress import run_watched as watched
from secondlook.events import NodeFinished, PassagesFound, Redrafted
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.events import Event

    Shown = Callable[..., str]

BACK = 'Whom do you mean by "she": Ada Lovelace or Grace Hopper?'
COMPUTED = Claim(
    text="From 1981 to 2004 it is 23 years.",
    citations=(1,),
    computation=Computation(
        operation="years",
        operands=(Operand(text="1981", citation=1), Operand(text="2004", citation=1)),
        result="23 years",
    ),
)
PARTS = (
    AnswerPart(question="When was Ada born?", short="1981", citations=(1,)),
    AnswerPart(question="When did Ada first win?", short=None),
)


def answer(**given: Any) -> Answer:
    plain = {"warnings": (), "queries": ("Who lit the lamp?",)}
    return full_answer("r").model_copy(update={**plain, **given})


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    def show(*, quiet: bool = False, **given: Any) -> str:
        print_answer(answer(**given), quiet=quiet)
        return capsys.readouterr().out

    return show


def test_what_was_taken_for_granted_stands_before_the_answer(shown: Shown) -> None:
    for quiet in (False, True):
        lines = shown(assumed="she = Ada\nLovelace", quiet=quiet).splitlines()
        assert lines[:2] == ["Taken as: she = Ada Lovelace", "the keeper"]


def test_a_question_back_stands_last(shown: Shown) -> None:
    for quiet in (False, True):
        lines = shown(asks_back=BACK, status="partial", quiet=quiet).splitlines()
        assert lines[-2:] == ["", BACK]


def test_a_computed_claim_shows_its_arithmetic(shown: Shown) -> None:
    told = shown(claims=(COMPUTED,), method="computed", model=None)
    assert "\ncomputed: 2004 [1] - 1981 [1] = 23 years\n" in told
    assert "· computed from what the passages say ·" in told


def test_parts_are_told_with_their_answers(shown: Shown) -> None:
    told = shown(parts=PARTS).splitlines()
    at = told.index("    1. When was Ada born? 1981 [1]")
    assert told[at - 1 : at + 2] == [
        "",
        "    1. When was Ada born? 1981 [1]",
        "    2. When did Ada first win? no answer of its own",
    ]


# On the way


def test_a_trace_tells_grades_and_what_is_withdrawn(capsys: pytest.CaptureFixture[str]) -> None:
    seen = full_answer("r").passages[0]
    found = (
        seen.model_copy(update={"answers": True, "graded_by": "reader", "page": 2}),
        seen.model_copy(update={"answers": False, "title": "Log"}),
        seen.model_copy(update={"grade": "irrelevant", "title": "Other"}),
    )
    happened: list[Event] = [
        PassagesFound(run="r", query="q", passages=found),
        NodeFinished(run="r", at=1.0, node="grade", said="2 of 3."),
        NodeFinished(run="r", at=1.0, node="settle", said="Done."),
        Redrafted(run="r", at=2.0, why="more was found"),
    ]
    with watched(Call(quiet=True), trace=True) as see:
        for event in happened:
            see(event)
    assert capsys.readouterr().err.splitlines() == [
        "   1.00 s  grade          2 of 3.",
        f"{'':26}answers it  Harbour, p. 2 (reader)",
        f"{'':26}about it    Log",
        "   1.00 s  settle         Done.",
        f"{'':10}! written anew, the draft before is withdrawn: more was found",
    ]


def test_every_kind_of_event_is_documented_with_its_keys() -> None:
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    section = page.partition("## Events")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", section, re.MULTILINE)
    documented = {kind: set(re.findall(r"`(\w+)`", keys)) for kind, keys in rows}
    kinds = get_args(events.Event)
    common = {"type", "run", "at"}
    assert documented == {
        kind.model_fields["type"].default: kind.model_fields.keys() - common for kind in kinds
    }
