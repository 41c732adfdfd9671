"""What was asked for and has no effect is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.ask import load_for_asking, tell_what_has_no_effect
from secondlook.cli.command import Call
from secondlook.errors import SettingsError
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from pathlib import Path

CHOICES = "Who pays? (A) the harbour (B) the council"


def told(capsys: pytest.CaptureFixture[str], question: str = "Who pays?", **given: Any) -> str:
    workflow, model = given.pop("workflow", "linear"), given.pop("model", "none")
    settings = settings_of(answer={"workflow": workflow}, models={"default": model})
    call = Call(None, quiet=given.pop("quiet", False), as_json=False, debug=False)
    options = {"guess": False, "fresh": False, **given}
    tell_what_has_no_effect(call, settings, question, **options)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"guess": True}, "hint: --guess has no effect without --workflow research\n"),
        ({"fresh": True}, "hint: --fresh has no effect without --workflow research\n"),
        (
            {"question": CHOICES},
            "hint: --workflow research chooses among the choices of this question\n",
        ),
        (
            {"guess": True, "workflow": "research"},
            "hint: --guess needs a model (--model): without one nobody guesses\n",
        ),
        ({"guess": True, "workflow": "research", "model": "ollama:qwen2.5"}, ""),
        ({"question": CHOICES, "fresh": True, "workflow": "research"}, ""),
        ({"question": CHOICES, "fresh": True, "workflow": "auto"}, ""),
        (
            {"guess": True, "workflow": "auto"},
            "hint: --guess has no effect: the question has no choices\n",
        ),
        (
            {"question": CHOICES, "guess": True, "workflow": "auto"},
            "hint: --guess needs a model (--model): without one nobody guesses\n",
        ),
        ({}, ""),
        ({"guess": True, "quiet": True}, ""),
    ],
)
def test_a_person_is_told(
    given: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, **given) == said


def loaded(path: Path, **texts: str) -> Any:
    names = ("preset", "workflow", "model", "k", "web", "max_risk")
    unset: dict[str, Any] = {**dict.fromkeys(names), "budget": {}}
    call = Call(path, quiet=False, as_json=False, debug=False)
    return load_for_asking(call, **unset, texts=texts)


def test_any_setting_can_be_set_for_one_question(tmp_path: Path) -> None:
    made = loaded(tmp_path, **{"research.enable_screen": "false", "answer.k": "7"}).settings
    assert (made.research.enable_screen, made.answer.k) == (False, 7)


def test_a_setting_that_does_not_exist_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="enable_scren"):
        loaded(tmp_path, **{"research.enable_scren": "false"})
