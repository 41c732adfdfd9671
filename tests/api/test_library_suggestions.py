"""Questions to begin with: made from one's own files, and answered by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.server.suggestions import suggestions
from secondlook.settings.sections import Settings
from tests.support.library_http import HARBOUR, LIBRARY, SALES, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


FACTS = (
    "The lighthouse of Halvermouth was built in 1871 by the harbour trust. "
    "The new fish market was opened by the mayor on 4 May 2023 with the town band in attendance. "
    "The storm and the sea took a great deal of the old wall with them in one single night.\n"
)


def _library(folder: Path, **files: str) -> Library:
    library = Library.open(folder / "library", settings=Settings())
    for name, text in files.items():
        file = folder / name.replace("_", ".")
        file.write_text(text, "utf-8")
        library.add(file)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("suggesting")
    with _library(folder, facts_txt=FACTS, survey_md=HARBOUR, sales_csv=SALES) as library:
        yield library


def test_each_is_answered_by_the_library_it_was_made_from(library: Library) -> None:
    made = suggestions(library)
    assert len(made) == 3
    assert made[0].question == "What is the mean price by region?"
    assert len({one.question for one in made}) == 3
    own = Library.open(library.path, settings=library.settings)
    with Secondlook(own) as engine:
        for one in made:
            answer = engine.ask(one.question, workflow=_workflow(one.question))
            assert answer.status == "answered", (one, answer.text)
            assert one.why


def _workflow(question: str) -> str:
    return "summary" if question.startswith("Summarise") else "analyst"


def test_a_table_alone_is_asked_things_of_different_kinds(tmp_path: Path) -> None:
    with _library(tmp_path, sales_csv=SALES) as library:
        asked = [one.question for one in suggestions(library)]
    assert asked == [
        "What is the mean price by region?",
        "What is the highest price?",
        "How many rows are there by region?",
    ]


def test_they_are_made_again_when_documents_change(tmp_path: Path) -> None:
    def asked() -> dict[str, Any]:
        return dict(client.get(f"{LIBRARY}/suggestions").json())

    with client_of(tmp_path) as client:
        assert asked() == {"questions": [], "ready": True}
        uploaded(client, ("facts.txt", FACTS))
        assert [one["question"] for one in asked()["questions"]] == ["Summarise facts"]
        uploaded(client, ("sales.csv", SALES))
        second = asked()["questions"]
        assert second[0]["question"] == "What is the mean price by region?"
        assert asked()["questions"] == second
