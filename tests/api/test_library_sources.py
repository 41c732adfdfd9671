"""Documents, tables and passages over HTTP, and the file that an answer comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import files
from tests.support.library_http import HARBOUR, LIBRARY, SALES, documents, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

PAGES = [["The depth of berth 4 is 7.5 metres."], ["The gate is closed."], ["The end of it all."]]
LONG = "".join(f"Line {at} says what happened on day {at} in the harbour.\n" for at in range(1000))
SCRIPT = "<html><script>alert(1)</script><p>The harbour is open every day of the week.</p></html>"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[TestClient]:
    with client_of(place) as client:
        uploaded(
            client,
            ("survey.pdf", files.pdf(PAGES)),
            ("long.txt", LONG),
            ("page.html", SCRIPT),
            ("note \u2013 \u00fc.md", HARBOUR),
            ("sales.csv", SALES),
            ("bad.pdf", b"%PDF-1.4"),
        )
        yield client


def _text(client: TestClient, name: str, **query: Any) -> Any:
    document = documents(client)[name]["id"]
    response = client.get(f"{LIBRARY}/documents/{document}/text", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_page_is_shown_with_its_neighbours(client: TestClient) -> None:
    second = _text(client, "survey.pdf", page=2)
    assert second["text"].strip() == "The gate is closed."
    assert (second["page"], second["pages"]) == (2, 3)
    assert (second["previous_page"], second["next_page"]) == (1, 3)
    assert _text(client, "survey.pdf", page=1)["previous_page"] is None
    assert _text(client, "survey.pdf", page=3)["next_page"] is None
    document = documents(client)["survey.pdf"]["id"]
    missing = client.get(f"{LIBRARY}/documents/{document}/text", params={"page": 9})
    assert (missing.status_code, missing.json()["code"]) == (404, "page_missing")
    assert missing.json()["hint"] == "its pages are 1 to 3"


@pytest.mark.parametrize("name", ["survey.pdf", "long.txt", "note \u2013 \u00fc.md"])
def test_a_quote_is_where_its_offsets_say(client: TestClient, name: str) -> None:
    asked = {"query": "how deep is berth 4 and what happened on day 500", "documents": [name]}
    for hit in client.post(f"{LIBRARY}/search", json=asked).json()["hits"]:
        shown = _text(client, name, start=hit["start"], end=hit["end"])
        quote = shown["text"][hit["start"] - shown["start"] : hit["end"] - shown["start"]]
        assert quote == hit["text"]
        assert len(shown["text"]) == shown["end"] - shown["start"]


def _original(client: TestClient, name: str) -> Any:
    document = documents(client)[name]["id"]
    return client.get(f"{LIBRARY}/documents/{document}/original")


def test_a_pdf_is_shown_and_everything_else_saved(client: TestClient) -> None:
    shown = _original(client, "survey.pdf")
    assert shown.content == files.pdf(PAGES)
    assert shown.headers["content-type"] == "application/pdf"
    assert shown.headers["content-disposition"].startswith("inline")
    for name, data in [("page.html", SCRIPT), ("note \u2013 \u00fc.md", HARBOUR)]:
        saved = _original(client, name)
        assert saved.content == data.encode()
        assert saved.headers["content-type"] == "application/octet-stream"
        assert saved.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in saved.headers["content-security-policy"]
        assert saved.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in shown.headers["content-security-policy"]


def test_a_file_that_changed_or_went_is_gone(tmp_path: Path) -> None:
    (tmp_path / "in" / "note.md").parent.mkdir()
    with client_of(tmp_path) as client:
        uploaded(client, ("note.md", HARBOUR))
        stored = tmp_path / "library" / "uploads" / "note.md"
        stored.write_text("something else", "utf-8")
        changed = _original(client, "note.md")
        assert (changed.status_code, changed.json()["code"]) == (410, "original_gone")
        assert changed.json()["hint"]
        stored.unlink()
        assert _original(client, "note.md").status_code == 410
        assert documents(client)["note.md"]["has_original"] is False
        # A link to what was never added is no way to read it.
        secret = tmp_path / "secret.txt"
        secret.write_text("secret", "utf-8")
        stored.symlink_to(secret)
        assert _original(client, "note.md").status_code == 410


def test_documents_are_listed_with_what_failed(client: TestClient) -> None:
    found = documents(client)
    assert next(iter(found)) == "bad.pdf"
    assert found["bad.pdf"]["status"] == "failed"
    assert found["bad.pdf"]["reason"]
    assert found["bad.pdf"]["id"].startswith("failed:")
    note = found["note \u2013 \u00fc.md"]
    assert note["title"] == "Harbour survey"
    assert note["status"] == "ready"
    assert note["has_original"]
    assert note["uploaded"]
    (table,) = found["sales.csv"]["tables"]
    assert (table["name"], table["rows"], table["columns"]) == ("sales", 60, 3)


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
    found = client.post(
        f"{LIBRARY}/search",
        json={"query": "how deep is berth 4", "k": 1, "documents": ["note \u2013 \u00fc.md"]},
    ).json()
    (hit,) = found["hits"]
    assert "7.5 metres" in hit["text"]
    assert hit["heading"] == "Harbour survey \u203a Depths"
    assert client.get(f"{LIBRARY}/passages/{hit['passage']}").json()["text"] == hit["text"]
    elsewhere = {"query": "how deep is berth 4", "documents": ["sales.csv"]}
    hits = client.post(f"{LIBRARY}/search", json=elsewhere).json()["hits"]
    assert {hit["title"] for hit in hits} <= {"sales"}
    unknown = client.post(f"{LIBRARY}/search", json={"query": "x", "documents": ["nowhere"]})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "usage_error")


def test_a_pdf_is_seen_page_by_page_with_its_words_marked(client: TestClient) -> None:
    at = f"{LIBRARY}/documents/{documents(client)['survey.pdf']['id']}"
    shown = client.get(f"{at}/pages/2", params={"width": 600})
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
    assert shown.content.startswith(b"\x89PNG")
    again = client.get(
        f"{at}/pages/2", params={"width": 600}, headers={"If-None-Match": shown.headers["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    page = _text(client, "survey.pdf", page=2)
    found = client.get(f"{at}/places", params={"start": page["start"], "end": page["end"]}).json()
    assert found["pages"] == 3
    ((left, top, right, bottom),) = found["places"][0]["rectangles"]
    assert (found["places"][0]["page"], 0.1 < left < right < 0.4) == (2, True)
    assert 0.07 < top < bottom < 0.1
    assert client.get(f"{at}/pages/4").json()["code"] == "page_missing"
    assert client.get(f"{at}/pages/2", params={"width": 99_999}).status_code == 422
    page_html = f"{LIBRARY}/documents/{documents(client)['page.html']['id']}"
    assert client.get(f"{page_html}/pages/1").json()["code"] == "no_pages"
