"""What people see of a research on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, Screening
from secondlook.cli.answers import print_answer
from tests.support.researched import RECALLED, guess, refused, research, researched

if TYPE_CHECKING:
    from collections.abc import Callable

    Shown = Callable[..., str]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    def show(answer: Answer, **options: Any) -> str:
        print_answer(answer, **options)
        return capsys.readouterr().out

    return show


def test_the_choice_stands_with_its_reasons_the_chosen_option_first(shown: Shown) -> None:
    out = shown(researched())
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


def test_the_steps_tell_phase_question_status_and_confidence(shown: Shown) -> None:
    out = shown(researched())
    assert "research, multi hop: 1 completed, 1 weak, 1 failed; enough steps" in out
    assert (
        "  1. Rule: When has a skipper a claim? completed, confidence 0.82, 1 sentence cut" in out
    )
    assert "  2. Weather: Who bears storms? failed, confidence 0.21" in out
    assert "weak, confidence 0.55, step 2 in other words" in out
    assert "also searched for" not in out
    assert "from memory" not in out.casefold()
    assert "screen:" not in out


def test_what_comes_from_memory_says_so_first_and_how_to_ask_afresh(shown: Shown) -> None:
    for quiet in (True, False):
        out = shown(researched(research=research(recalled=RECALLED)), quiet=quiet)
        assert out.startswith(
            'From memory: "May a skipper who did not call claim damages?" '
            "(0.97 alike, 2026-01-02); --fresh asks again.\n"
        )


def test_a_refused_question_says_where_and_why(shown: Shown) -> None:
    out = shown(refused())
    assert out.startswith("Refused: option C gives orders to a model.")
    assert "screen: refused in option C, by rules: it orders a model about" in out
    assert "\nit orders a model about\n" not in out
    assert refused().exit_code == 4


def test_what_nobody_could_screen_is_told(shown: Shown) -> None:
    screen = Screening(verdict="unclear", where="question")
    out = shown(researched(research=research(screen=screen, quarantined=2, escalated=True)))
    assert "screen: let in, as the screen was unsure in the question\n" in out
    assert "quarantined: 2 passages that give a model orders, left out" in out
    assert "multi hop, after one step failed" in out
    assert "1 passage that gives" in shown(researched(research=research(quarantined=1)))


def test_a_guess_is_marked(shown: Shown) -> None:
    out = shown(guess())
    assert "Ungrounded: from the model's own knowledge, without a source." in out
    assert "Chosen: (C), ungrounded: the research found nothing" in out
