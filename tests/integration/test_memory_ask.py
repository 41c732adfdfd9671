"""A question asked twice: researched once, and again when what the answer rests on has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings

ASKED = "how deep is the deepest berth of the north quay"
REWORDED = "Please tell me how deep the deepest berth of the north quay is."


@pytest.fixture
def settings(tmp_path: Path, folder: Path) -> Settings:
    made = settings_of(library={"path": tmp_path / "library"}, runs={"path": tmp_path / "runs.db"})
    with Library.open(settings=made) as library:
        library.add([folder])
    return made


def asked(settings: Settings, question: str) -> Answer:
    with Secondlook.open(settings=settings) as engine:
        return engine.ask(question, workflow="research")


def recalled(answer: Answer) -> str | None:
    assert answer.research is not None
    return answer.research.recalled.question if answer.research.recalled else None


def test_the_same_question_is_answered_from_memory(settings: Settings) -> None:
    first = asked(settings, ASKED)
    assert (first.status, recalled(first)) == ("answered", None)
    assert first.research
    assert first.research.remembered
    again = asked(settings, REWORDED)
    assert recalled(again) == ASKED
    assert (again.status, again.short, again.text) == (first.status, first.short, first.text)
    assert again.citations == first.citations
    assert again.research
    assert not again.research.remembered, "a memory of a memory"
    assert "search_step" not in [step.node for step in again.steps]
    assert any("From memory" in step.said and "--fresh" in step.said for step in again.steps)


def test_a_document_that_changed_is_researched_again(settings: Settings, folder: Path) -> None:
    asked(settings, ASKED)
    page = folder / "harbour.md"
    page.write_text(page.read_text("utf-8").replace("14.2", "13.9"), encoding="utf-8")
    with Library.open(settings=settings) as library:
        library.add([folder])
    answer = asked(settings, ASKED)
    assert recalled(answer) is None
    assert "13.9" in answer.text
