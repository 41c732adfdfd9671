"""Questions to begin with: made from one's own files, and answered by them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.errors import TableError
from secondlook.library.library import Library
from secondlook.server import suggestions as made_questions
from secondlook.server.suggestions import about_tables, suggestions
from secondlook.settings.sections import Settings
from tests.support.library_http import HARBOUR, LIBRARY, SALES, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

FACTS = (
    "The lighthouse of Halvermouth was built in 1871 by the harbour trust. "
    "The new fish market was opened by the mayor on 4 May 2023 with the town band in attendance. "
    "The storm and the sea took a great deal of the old wall with them in one single night.\n"
)
GERMAN = "Der Hafen wurde im Jahre 1871 gebaut und gehört der Stadt. " * 20


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
    made = suggestions(library, lambda: False)
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


def test_what_cannot_be_computed_is_not_suggested(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TableError("the worker is gone")

    monkeypatch.setattr(made_questions, "_computes", broken)
    kinds = [one.why for one in suggestions(library, lambda: False)]
    assert len(kinds) == 2
    assert not [why for why in kinds if "table" in why]


def test_of_another_language_an_overview_can_be_asked_for(tmp_path: Path) -> None:
    with _library(tmp_path, hafen_txt=GERMAN) as library:
        (made,) = suggestions(library, lambda: False)
        assert made.question == "Summarise hafen"


def test_a_table_alone_is_asked_things_of_different_kinds(tmp_path: Path) -> None:
    with _library(tmp_path, sales_csv=SALES) as library:
        asked = [one.question for one in suggestions(library, lambda: False)]
    assert asked == [
        "What is the mean price by region?",
        "What is the highest price?",
        "How many rows are there by region?",
    ]


def test_columns_that_nobody_would_say_are_left_out(tmp_path: Path) -> None:
    strange = "Unnamed: 0,1234,x\n" + "".join(f"a{at},{at},{at * 1.5}\n" for at in range(30))
    with _library(tmp_path, odd_csv=strange) as library:
        assert list(about_tables(library, library.documents())) == []


def _ready(client: TestClient) -> dict[str, Any]:
    """Asks until they are made, which takes a few searches."""
    for _ in range(3000):
        found = client.get(f"{LIBRARY}/suggestions").json()
        if found["ready"]:
            return dict(found)
        threading.Event().wait(0.01)
    raise AssertionError("they were never made")


def test_they_are_made_in_the_background_and_again_when_documents_change(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        assert client.get(f"{LIBRARY}/suggestions").json() == {"questions": [], "ready": True}
        uploaded(client, ("facts.txt", FACTS))
        assert client.get(f"{LIBRARY}/suggestions").json() == {"questions": [], "ready": False}
        first = _ready(client)["questions"]
        assert [one["question"] for one in first] == ["Summarise facts"]
        uploaded(client, ("sales.csv", SALES))
        assert not client.get(f"{LIBRARY}/suggestions").json()["ready"]
        second = _ready(client)["questions"]
        assert second[0]["question"] == "What is the mean price by region?"
        assert client.get(f"{LIBRARY}/suggestions").json()["questions"] == second
