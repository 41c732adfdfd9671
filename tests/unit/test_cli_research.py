"""What people see of a research on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, Screening, SeenPassage, Trouble
from secondlook.cli.answers import print_answer, step_line
from tests.support.researched import (
    RECALLED,
    choice,
    guess,
    refused,
    research,
    researched,
    steps,
)

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


def test_the_letter_is_not_said_twice(shown: Shown) -> None:
    assert "C" not in shown(researched()).splitlines()


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


def test_quiet_leaves_out_steps_and_options(shown: Shown) -> None:
    out = shown(researched(), quiet=True)
    assert "Answer: (C)" in out
    assert "Chosen:" not in out
    assert "Who bears storms?" not in out


def test_a_quiet_answer_that_no_model_wrote_still_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    away = Trouble(
        node="synthesise", error="ModelUnavailable", message="away", consequence="quoted instead"
    )
    print_answer(researched(method="extractive", warnings=(away,)), quiet=True)
    assert capsys.readouterr().err == "warning: synthesise: away; quoted instead\n"


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


def test_documents_that_give_a_model_orders_are_named(shown: Shown) -> None:
    seen = SeenPassage(
        id="c.0",
        document="c",
        title="Crane rules",
        start=0,
        end=9,
        score=1.0,
        kept=False,
        why="quarantined: sets earlier instructions aside",
    )
    out = shown(researched(research=research(quarantined=1), passages=(seen,)))
    assert 'quarantined: 1 passage that gives a model orders, left out: "Crane rules"\n' in out


def test_of_a_long_question_its_beginning_is_shown() -> None:
    long = steps()[0].model_copy(update={"question": "who pays " * 9_000})
    line = step_line(long)
    assert len(line) < 300
    assert "who pays... completed" in line


def test_a_question_without_a_mark_is_told_from_how_it_ended() -> None:
    bare = steps()[0].model_copy(update={"question": "who pays"})
    assert "who pays: completed" in step_line(bare)


def test_a_guess_is_marked(shown: Shown) -> None:
    out = shown(guess())
    assert "Ungrounded: from the model's own knowledge, without a source." in out
    assert "Chosen: (C), ungrounded: the research found nothing" in out


def test_a_choice_that_is_none_says_why(shown: Shown) -> None:
    none = choice(letter=None, text=None, confidence=None, why="nothing tells them apart")
    out = shown(researched(choice=none))
    assert "Nothing chosen: nothing tells them apart" in out
    assert "  * (" not in out


@pytest.mark.parametrize(
    ("agreed", "told"),
    [(True, ", the same in another order:"), (False, ", another in another order:")],
)
def test_another_order_is_told_of(shown: Shown, agreed: bool, told: str) -> None:
    assert told in shown(researched(choice=choice(agreed=agreed)))


def test_a_verdict_on_no_element_is_shown_by_its_number(shown: Shown) -> None:
    assert "met: element 2" in shown(researched(choice=choice(elements=())))
