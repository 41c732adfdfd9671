"""An answer on the screen, what it says of its corrections and research, and the steps before."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from secondlook import events
from secondlook.answer import (
    Answer,
    AnswerPart,
    Claim,
    Computation,
    Operand,
    Screening,
    Trouble,
    Usage,
)
from secondlook.cli.answers import footer, print_answer
from secondlook.cli.command import Call
from secondlook.cli.progress import run_watched as watched
from secondlook.events import NodeFinished, PassagesFound, Redrafted
from tests.support.memory_runs import full_answer
from tests.support.researched import RECALLED, guess, refused, research, researched

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.events import Event

    Shown = Callable[..., str]

Printed = tuple[str, str]
FAILED = Trouble(
    node="answer",
    error="ModelError",
    message="it is\naway",
    consequence="the reader's own answer was given instead",
)
TOLD = "warning: answer: it is away; the reader's own answer was given instead"
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


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    def show(*, quiet: bool = False, **given: Any) -> Printed:
        print_answer(answer(**given), quiet=quiet)
        return capsys.readouterr()

    return show


def answer(**given: Any) -> Answer:
    plain = {"warnings": (), "queries": ("Who lit the lamp?",)}
    return full_answer("r").model_copy(update={**plain, **given})


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (0.0, "1.5 s · 2 model calls · 900 tokens · linear · run r"),
        (None, "1.5 s · 2 model calls · 900 tokens · cost unknown · linear · run r"),
        (0.0125, "1.5 s · 2 model calls · 900 tokens · $0.0125 · linear · run r"),
        (0.00001, "1.5 s · 2 model calls · 900 tokens · under $0.0001 · linear · run r"),
    ],
)
def test_what_it_took(cost: float | None, told: str) -> None:
    usage = Usage(calls=2, tokens_in=800, tokens_out=100, cost=cost, seconds=1.5)
    assert footer(answer(usage=usage, workflow="linear")) == told


@pytest.mark.parametrize(
    ("asked", "quoted"),
    [
        ("who built\nit", '"who built it"'),
        ("what is $HOME", "'what is $HOME'"),
        ('who said "no"', "'who said \"no\"'"),
    ],
)
def test_a_withheld_answer_says_how_to_see_the_nearest(
    printed: Callable[..., Printed], asked: str, quoted: str
) -> None:
    hint = f"hint: secondlook search {quoted} shows the nearest passages\n"
    assert printed(status="abstained", asked=asked)[1] == hint
    assert not printed(status="abstained", asked=asked, quiet=True)[1]
    assert not printed(status="abstained", asked=asked, passages=())[1]
    assert not printed(asked=asked)[1]


def test_another_ones_answer_is_told_however_quiet(printed: Callable[..., Printed]) -> None:
    out, err = printed(quiet=True, method="extractive", warnings=(FAILED,))
    assert err == f"{TOLD}\n"
    assert "warning" not in out
    out, err = printed(method="extractive", warnings=(FAILED,))
    assert TOLD in out
    assert not err


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


@pytest.fixture
def drawn(capsys: pytest.CaptureFixture[str]) -> Shown:
    def show(answer: Answer, **options: Any) -> str:
        print_answer(answer, **options)
        return capsys.readouterr().out

    return show


def test_the_choice_stands_with_its_reasons_the_chosen_option_first(drawn: Shown) -> None:
    out = drawn(researched())
    head = "Chosen: (C), confidence 0.64 (provisional): all that must hold is met for C alone"
    lines = out.splitlines()
    at = lines.index(head)
    assert lines[at + 1].startswith("  * (C) No, because he did not call")
    assert lines[at + 2 : at + 5] == [
        '        met: He must have called [1] ("without calling the harbour office")',
        "        met: The harbour told him the depth [3]",
        "        Reason for C.",
    ]
    assert lines[at + 5].startswith("    (A) Yes")
    assert "        not met: He must have called [1]" in lines
    assert "        unknown: The harbour told him the depth [3]" in lines


def test_the_steps_tell_phase_question_status_and_confidence(drawn: Shown) -> None:
    out = drawn(researched())
    assert "research, multi hop: 1 completed, 1 weak, 1 failed; enough steps" in out
    assert (
        "  1. Rule: When has a skipper a claim? completed, confidence 0.82, 1 sentence cut" in out
    )
    assert "  2. Weather: Who bears storms? failed, confidence 0.21" in out
    assert "weak, confidence 0.55, step 2 in other words" in out
    assert "also searched for" not in out
    assert "from memory" not in out.casefold()
    assert "screen:" not in out


def test_what_comes_from_memory_says_so_first_and_how_to_ask_afresh(drawn: Shown) -> None:
    for quiet in (True, False):
        out = drawn(researched(research=research(recalled=RECALLED)), quiet=quiet)
        assert out.startswith(
            'From memory: "May a skipper who did not call claim damages?" '
            "(0.97 alike, 2026-01-02); --fresh asks again.\n"
        )


def test_a_refused_question_says_where_and_why(drawn: Shown) -> None:
    out = drawn(refused())
    assert out.startswith("Refused: option C gives orders to a model.")
    assert "screen: refused in option C, by rules: it orders a model about" in out
    assert "\nit orders a model about\n" not in out
    assert refused().exit_code == 4


def test_what_nobody_could_screen_is_told(drawn: Shown) -> None:
    screen = Screening(verdict="unclear", where="question")
    out = drawn(researched(research=research(screen=screen, quarantined=2, escalated=True)))
    assert "screen: let in, as the screen was unsure in the question\n" in out
    assert "quarantined: 2 passages that give a model orders, left out" in out
    assert "multi hop, after one step failed" in out
    assert "1 passage that gives" in drawn(researched(research=research(quarantined=1)))


def test_a_guess_is_marked(drawn: Shown) -> None:
    out = drawn(guess())
    assert "Ungrounded: from the model's own knowledge, without a source." in out
    assert "Chosen: (C), ungrounded: the research found nothing" in out
