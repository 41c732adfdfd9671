"""A reply to a question back is taken as the reading of the question before."""

from __future__ import annotations

import pytest

from secondlook.engine.secondlook import turn_of
from secondlook.roles.ambiguity import reading
from secondlook.roles.follow_up import Turn
from tests.support.memory_runs import full_answer

SHE = Turn(
    "When did she leave her group?",
    asks_back='Whom do you mean by "she": Beyoncé, Kelly Rowland or Michelle Williams?',
)


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("Beyoncé", "Beyoncé"),
        ("beyonce", "Beyoncé"),
        ("Beyonce?", "Beyoncé"),
        ("I mean Beyoncé, please.", "Beyoncé"),
        ("sorry, kelly rowland", "Kelly Rowland"),
        ("rowland", "Kelly Rowland"),
        ("the second one", "Kelly Rowland"),
        ("2", "Kelly Rowland"),
        ("the last", "Michelle Williams"),
        ("LaTavia Roberson", "LaTavia Roberson"),
        ("The Supremes", "The Supremes"),
    ],
)
def test_a_reply_fills_the_unclear_word(reply: str, meant: str) -> None:
    assert reading(reply, SHE) == f"When did {meant} leave her group?"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "?",
        "Thanks",
        "Both",
        "neither",
        "Who",
        "never mind",
        "the fourth",
        "Who is the mayor?",
        "What about Solange?",
        "And Kelly Rowland and Beyoncé in 2004",
        "how deep is berth 4",
        "x" * 200,
    ],
)
def test_anything_else_is_a_question_of_its_own(reply: str) -> None:
    assert reading(reply, SHE) is None


def test_what_was_asked_back_is_remembered_for_one_turn() -> None:
    back = full_answer("r").model_copy(update={"asks_back": SHE.asks_back, "asked": SHE.asked})
    turns = (turn_of(back), turn_of(full_answer("s")))
    assert turns[0].asks_back == SHE.asks_back
    assert reading("Beyoncé", turns[0])
    assert reading("Beyoncé", turns[1]) is None
