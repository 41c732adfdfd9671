"""What can be had of an answer: its charts, a second check, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from tests.support.library_http import HARBOUR, LIBRARY, SALES, documents, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("answers")) as client:
        uploaded(client, ("survey.md", HARBOUR), ("sales.csv", SALES))
        yield client


def _asked(client: TestClient, question: str, workflow: str) -> dict[str, Any]:
    response = client.post("/api/ask", json={"question": question, "workflow": workflow})
    assert response.status_code == 200, response.text
    return dict(response.json())


@pytest.fixture(scope="module")
def fact(client: TestClient) -> dict[str, Any]:
    return _asked(client, "how deep is berth 4?", "linear")


@pytest.fixture(scope="module")
def chart(client: TestClient) -> dict[str, Any]:
    return _asked(client, "Draw a bar chart of the mean price by region", "analyst")


def test_an_answer_over_documents_stands(client: TestClient, fact: dict[str, Any]) -> None:
    checked = client.post(f"/api/runs/{fact['run']}/verify").json()
    assert checked["ok"], checked
    assert checked["problems"] == []
    assert checked["checked"] == {"claims": 1, "citations": 1, "tables": 0}


def test_an_answer_over_tables_is_computed_again(client: TestClient, chart: dict[str, Any]) -> None:
    assert chart["status"] == "answered"
    checked = client.post(f"/api/runs/{chart['run']}/verify").json()
    assert (checked["ok"], checked["checked"]["tables"]) == (True, 1)


def test_an_answer_is_saved_as_markdown_json_and_page(
    client: TestClient, fact: dict[str, Any], chart: dict[str, Any]
) -> None:
    markdown = client.get(f"/api/runs/{fact['run']}/export")
    assert markdown.text.startswith("# how deep is berth 4?")
    assert markdown.headers["content-disposition"] == (
        f'attachment; filename="answer-{fact["run"]}.md"'
    )
    stored = client.get(f"/api/runs/{fact['run']}/export", params={"format": "json"})
    assert Answer.model_validate_json(stored.content) == Answer.model_validate(fact)
    page = client.get(f"/api/runs/{chart['run']}/export", params={"format": "html"})
    assert page.headers["content-type"].startswith("text/html")
    assert "Plotly.newPlot" in page.text
    none = client.get(f"/api/runs/{fact['run']}/export", params={"format": "html"})
    assert (none.status_code, none.json()["code"]) == (404, "figure_missing")
    other = client.get(f"/api/runs/{fact['run']}/export", params={"format": "docx"})
    assert other.status_code == 422


def _suggested(client: TestClient) -> list[str]:
    return [one["question"] for one in client.get(f"{LIBRARY}/suggestions").json()["questions"]]


def test_suggested_questions_are_answered_by_the_files_they_were_made_from(
    client: TestClient,
) -> None:
    made = _suggested(client)
    assert made[0] == "What is the mean price by region?"
    assert len(set(made)) == 3
    for question in made:
        workflow = "summary" if question.startswith("Summarise") else "analyst"
        answer = _asked(client, question, workflow)
        assert answer["status"] == "answered", (question, answer["text"])


def test_an_answer_whose_document_is_gone_no_longer_stands(
    client: TestClient, fact: dict[str, Any]
) -> None:
    document = documents(client)["survey.md"]["id"]
    before = _suggested(client)
    client.delete(f"{LIBRARY}/documents/{document}")
    assert _suggested(client) != before, "made again when documents change"
    runs = client.app.state.served.runs  # type: ignore[attr-defined]
    with runs._lock:  # as after a restart: only the record knows the run
        runs._kept.clear()
    checked = client.post(f"/api/runs/{fact['run']}/verify").json()
    assert not checked["ok"]
    assert checked["problems"][0]["message"]
