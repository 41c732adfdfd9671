"""The options of `ask` and `chat`: what they set, and what has no effect is said."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from secondlook.cli.ask import OPTIONS, Asking, asking
from secondlook.cli.command import Call
from secondlook.cli.main import app
from secondlook.errors import SettingsError


def how(**given: Any) -> Asking:
    unset: dict[str, Any] = {
        name: getattr(one, "default", one) for name, (_, one) in OPTIONS.items()
    }
    return asking(Call(), **unset | given)


def test_any_setting_can_be_set_for_one_question() -> None:
    made = how(set_=["research.enable_screen=false", "answer.k=7"]).loaded.settings
    assert (made.research.enable_screen, made.answer.k) == (False, 7)


def test_a_setting_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match="enable_scren"):
        how(set_=["research.enable_scren=false"])


def test_flags_are_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_BUDGET_CALLS", "7")
    made = how().loaded.settings.budget.model_dump()
    assert made == {"calls": 7, "tokens": 0, "money": 0.0, "seconds": 0.0}
    given = how(max_calls=3, max_tokens=8000, max_cost=0.02, timeout=20.0).loaded.settings.budget
    assert given.model_dump() == {"calls": 3, "tokens": 8000, "money": 0.02, "seconds": 20.0}
    assert how(max_calls=0).loaded.settings.budget.calls == 0, "0 takes a cap away"


@pytest.mark.parametrize(
    ("command", "flag", "value"),
    [
        ("ask", "--max-calls", "-1"),
        ("chat", "--max-tokens", "many"),
        ("ask", "--max-cost", "nan"),
        ("chat", "--timeout", "inf"),
    ],
)
def test_what_is_no_cap_is_told_by_the_name_of_its_flag(
    command: str, flag: str, value: str
) -> None:
    asked = ["how deep is it"] if command == "ask" else []
    told = CliRunner().invoke(app, [command, *asked, flag, value])
    assert flag in told.stderr
    assert not told.stdout
