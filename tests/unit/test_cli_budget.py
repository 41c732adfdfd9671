"""What a question may take, from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from secondlook.cli.ask import budget_of, load_for_asking
from secondlook.cli.command import Call
from secondlook.cli.main import app

if TYPE_CHECKING:
    from secondlook.settings.sections import BudgetSettings


def loaded(**given: float | None) -> BudgetSettings:
    flags = {"calls": None, "tokens": None, "cost": None, "seconds": None, **given}
    return load_for_asking(
        Call(None, quiet=False, as_json=False, debug=False),
        preset=None,
        workflow=None,
        model=None,
        k=None,
        web=None,
        budget=budget_of(**flags),  # type: ignore[arg-type]
        max_risk=None,
    ).settings.budget


def test_flags_are_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_BUDGET_CALLS", "7")
    assert loaded().model_dump() == {"calls": 7, "tokens": 0, "money": 0.0, "seconds": 0.0}
    given = loaded(calls=3, tokens=8000, cost=0.02, seconds=20.0)
    assert given.model_dump() == {"calls": 3, "tokens": 8000, "money": 0.02, "seconds": 20.0}
    assert loaded(calls=0).calls == 0, "0 takes a cap away"


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--max-calls", "-1"),
        ("--max-calls", "1.5"),
        ("--max-tokens", "many"),
        ("--max-cost", "-0.1"),
        ("--max-cost", "nan"),
        ("--timeout", "inf"),
    ],
)
@pytest.mark.parametrize("command", ["ask", "chat"])
def test_what_is_no_cap_is_told_by_the_name_of_its_flag(
    command: str, flag: str, value: str
) -> None:
    asked = ["how deep is it"] if command == "ask" else []
    told = CliRunner().invoke(app, [command, *asked, flag, value])
    assert flag in told.stderr
    assert not told.stdout
