"""What comes with a question: choices become part of it, and a workflow is found for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import secondlook
from secondlook.engine.request import made_stand_alone, with_choices
from secondlook.engine.run import Run
from secondlook.errors import UsageError
from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.nodes.choices import parsed
from secondlook.roles.follow_up import Turn
from secondlook.settings.sections import Settings
from tests.support.engine import settings_of

ASKED = "Who pays?"
LISTED = "Who pays?\n\nAnswer choices:\n(A) Ann\n(B) Bo"


def given(choices: Any, *, question: str = ASKED, workflow: str | None = "research") -> str:
    return with_choices(question, choices, workflow, Settings())[0]


@pytest.mark.parametrize("choices", [["Ann", " Bo\n"], {"b": "Bo", "a": "Ann"}])
def test_choices_become_part_of_the_question(choices: Any) -> None:
    assert given(choices) == LISTED
    assert parsed(LISTED).choices == {"A": "Ann", "B": "Bo"}


def test_the_doors_take_choices(tmp_path: Path) -> None:
    with secondlook.Library.open(tmp_path / "library") as library:
        settings = library.settings
    options: dict[str, Any] = {"library": tmp_path / "library", "settings": settings}
    asked: dict[str, Any] = {"choices": ["Ann", "Bo"], "workflow": "linear"}
    with pytest.raises(UsageError, match="'linear' cannot choose"):
        secondlook.ask(ASKED, **asked, **options)
    with pytest.raises(UsageError, match="'linear' cannot choose"):
        asyncio.run(secondlook.aask(ASKED, **asked, **options))


def test_a_follow_up_is_made_stand_alone_without_its_choices() -> None:
    said = "The Tamsel ferry is run by Ann Weir."
    earlier = [Turn(asked="Who runs the Tamsel ferry?", short="Ann Weir", text=said)]
    typed = "When did she begin?\n(A) 1990\n(B) 2001"
    asker = Models(Settings()).asker(
        run="r", workflow="linear", ledger=Ledger(Caps()), journal=MemoryJournal()
    )
    made = asyncio.run(made_stand_alone(asker, typed, earlier))
    assert parsed(made.asked).choices == {"A": "1990", "B": "2001"}
    assert "Ann Weir" in parsed(made.asked).stem


def test_bytes_that_are_no_text_are_marked_and_the_question_goes_on() -> None:
    assert Run(question="who pays\udcff?").prepared(Settings()).question == "who pays\ufffd?"
    assert given(["\udcfe yes", "no \U0001f600"]).endswith("(B) no \U0001f600")


@pytest.mark.parametrize(
    ("configured", "web", "meant"),
    [("linear", True, "adaptive"), ("adaptive", False, "adaptive"), ("auto", True, "auto")],
)
def test_who_allows_the_web_means_the_workflow_that_has_it(
    configured: str, web: bool, meant: str
) -> None:
    settings = settings_of(answer={"workflow": configured}, web={"enable_web_search": web})
    assert Run(question=ASKED).prepared(settings).workflow == meant
