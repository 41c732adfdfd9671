"""Documents over HTTP: what a client sees of a library with a text, a table and a failed file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.library_http import HARBOUR, LIBRARY, SALES, documents, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("served")) as client:
        uploaded(client, ("survey.md", HARBOUR), ("sales.csv", SALES), ("bad.pdf", b"%PDF-1.4"))
        yield client


def test_documents_are_listed_with_what_failed(client: TestClient) -> None:
    found = documents(client)
    assert next(iter(found)) == "bad.pdf"
    assert found["bad.pdf"]["status"] == "failed"
    assert found["bad.pdf"]["reason"]
    assert found["bad.pdf"]["id"].startswith("failed:")
    survey = found["survey.md"]
    assert survey["title"] == "Harbour survey"
    assert survey["status"] == "ready"
    assert survey["has_original"]
    assert survey["uploaded"]
    (table,) = found["sales.csv"]["tables"]
    assert (table["name"], table["rows"], table["columns"]) == ("sales", 60, 3)


@pytest.mark.parametrize(
    "path",
    [
        "documents/0000000000000000",
        "documents/0000000000000000/text",
        "passages/0000000000000000.0",
        "tables/nothing",
        "jobs/nothing/events",
    ],
)
def test_what_is_not_there_is_a_problem_with_a_code(client: TestClient, path: str) -> None:
    response = client.get(f"{LIBRARY}/{path}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"].endswith("_missing")
    assert response.json()["hint"]


def test_a_table_is_shown_with_its_profile_and_rows(client: TestClient) -> None:
    (listed,) = client.get(f"{LIBRARY}/tables").json()
    assert listed["document"] == documents(client)["sales.csv"]["id"]
    shown = client.get(f"{LIBRARY}/tables/{listed['id']}", params={"rows": 2}).json()
    assert shown["rows"] == [["North", 10.5, 1], ["South", 11.5, 2]]
    assert [(one["name"], one["type"]) for one in shown["columns"]] == [
        ("region", "text"),
        ("price", "number"),
        ("units", "integer"),
    ]
    assert shown["columns"][0]["about"] == "East (20), North (20), South (20)"
    assert shown["columns"][1]["about"] == "10.5 to 69.5, mean 40"
    assert shown["total_rows"] == 60
    assert client.get(f"{LIBRARY}/tables/sales", params={"rows": 0}).json()["rows"] == []
    assert client.get(f"{LIBRARY}/tables/sales", params={"rows": 9999}).status_code == 422


def test_search_finds_passages_that_can_be_fetched(client: TestClient) -> None:
    found = client.post(f"{LIBRARY}/search", json={"query": "how deep is berth 4", "k": 1}).json()
    (hit,) = found["hits"]
    assert "7.5 metres" in hit["text"]
    assert hit["heading"] == "Harbour survey \u203a Depths"
    passage = client.get(f"{LIBRARY}/passages/{hit['passage']}").json()
    assert passage["text"] == hit["text"]
    elsewhere = {"query": "how deep is berth 4", "documents": ["sales.csv"]}
    hits = client.post(f"{LIBRARY}/search", json=elsewhere).json()["hits"]
    assert {hit["title"] for hit in hits} <= {"sales"}
    unknown = client.post(f"{LIBRARY}/search", json={"query": "x", "documents": ["nowhere"]})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "usage_error")
