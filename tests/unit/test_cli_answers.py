"""An answer on the screen, what it says of its corrections and research, and the steps before."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from rich.padding import Padding
from rich.text import Text

from secondlook import events
from secondlook.answer import Answer, Trouble
from secondlook.cli.answers import print_answer
from secondlook.cli.command import Call, one_line, output
from secondlook.cli.progress import run_watched as watched
from secondlook.cli.progress import shown_progress
from secondlook.events import Event, NodeFinished, PassagesFound, Redrafted
from secondlook.library.report import Progress
from tests.support.memory_runs import full_answer
from tests.support.researched import RECALLED, guess, refused, research, researched

if TYPE_CHECKING:
    from collections.abc import Callable

    Shown = Callable[..., str]

Printed = tuple[str, str]
FAILED = Trouble(
    node="answer",
    error="ModelError",
    message="it is\naway",
    consequence="the reader's own answer was given instead",
)
TOLD = "warning: answer: it is away; the reader's own answer was given instead"
RETITLED = "who \x1b]0;pwned\x07voted\x9b31m?"
BACK = 'Whom do you mean by "she": Ada Lovelace or Grace Hopper?'


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    def show(made: Answer | None = None, *, quiet: bool = False, **given: Any) -> Printed:
        print_answer(made or answer(**given), quiet=quiet)
        return capsys.readouterr()

    return show


@pytest.fixture
def shown(printed: Callable[..., Printed]) -> Shown:
    return lambda *made, **given: printed(*made, **given)[0]


def answer(**given: Any) -> Answer:
    plain = {"warnings": (), "queries": ("Who lit the lamp?",)}
    return full_answer("r").model_copy(update={**plain, **given})


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


def test_what_was_taken_for_granted_stands_before_the_answer(shown: Shown) -> None:
    for quiet in (False, True):
        lines = shown(assumed="she = Ada\nLovelace", quiet=quiet).splitlines()
        assert lines[:2] == ["Taken as: she = Ada Lovelace", "the keeper"]


def test_a_question_back_stands_last(shown: Shown) -> None:
    for quiet in (False, True):
        assert shown(asks_back=BACK, status="partial", quiet=quiet).splitlines()[-2:] == ["", BACK]


# On the way


def test_a_trace_tells_grades_and_what_is_withshown(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_what_comes_from_memory_says_so_first_and_how_to_ask_afresh(shown: Shown) -> None:
    for quiet in (True, False):
        assert shown(researched(research=research(recalled=RECALLED)), quiet=quiet).startswith(
            'From memory: "May a skipper who did not call claim damages?" '
            "(0.97 alike, 2026-01-02); --fresh asks again.\n"
        )


def test_a_refused_question_says_where_and_why(shown: Shown) -> None:
    out = shown(refused())
    assert out.startswith("Refused: option C gives orders to a model.")
    assert "screen: refused in option C, by rules: it orders a model about" in out
    assert "\nit orders a model about\n" not in out
    assert refused().exit_code == 4


def test_a_guess_is_marked(shown: Shown) -> None:
    out = shown(guess())
    assert "Ungrounded: from the model's own knowledge, without a source." in out
    assert "Chosen: (C), ungrounded: the research found nothing" in out


# Adding


def test_a_person_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress(Call()) as listener:
        assert listener is not None
        listener(Progress("reading", 30, 1200, passages=4500, failed=2))
    shown = screen.getvalue()
    assert "30/1,200" in shown
    assert "4,500 passages" in shown
    assert "2 failed" in shown


# Texts that would command the terminal


def test_commands_in_a_text_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    output().print(Text(RETITLED))
    output().print(Padding(Text(f"a\tb\n{RETITLED}", style="bold"), (0, 0, 0, 4)))
    out = capsys.readouterr().out
    assert out.count("who \ufffd]0;pwnedvoted\ufffd31m?") == 2  # rich itself drops the bell
    assert not {"\x1b", "\x07", "\x9b"} & set(out)
    assert one_line(f" {RETITLED}\n b") == "who \ufffd]0;pwned\ufffdvoted\ufffd31m? b"
