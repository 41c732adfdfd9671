"""A library that fills itself over HTTP: texts, addresses, watched folders, further libraries."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.library.library import Library
from tests.support.library_http import LIBRARY, OWN, documents, ended
from tests.support.serving import client_of, settings_at
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

WEB = {"allow_private": True}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(tmp_path, web=WEB) as made:
        yield made


def added(client: TestClient, what: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    response = client.post(f"{LIBRARY}/{what}", json=body)
    assert response.status_code == 202, response.text
    job = ended(client, response.json()["id"])
    assert job["status"] == "done", job
    return list(job["files"])


def watched(client: TestClient, folder: object, **more: Any) -> Any:
    sent = {"headers": more.pop("headers", {})}
    return client.put(f"{LIBRARY}/watched", json={"folder": str(folder), **more}, **sent)


def test_a_pasted_text_and_a_page_become_documents(client: TestClient) -> None:
    text = {"title": "Call with the bank", "text": "The bank offers 3.2 percent until May."}
    assert [one["status"] for one in added(client, "texts", text)] == ["ready"]
    assert [one["status"] for one in added(client, "texts", text)] == ["unchanged"]
    added(client, "texts", {"text": "../../etc/passwd\nis the first line of this"})
    with Site() as site:
        pages = [site.url("/article"), site.url("/redirect?to=/plain"), site.url("/image")]
        files = {one["name"]: one for one in added(client, "addresses", {"addresses": pages})}
        assert {name: one["status"] for name, one in files.items()} == {
            site.url("/article"): "ready",
            site.url("/plain"): "ready",
            site.url("/image"): "failed",
        }
        held = documents(client)
        article = held[site.url("/article")]
        assert article["address"] == site.url("/article")
        assert not article["has_original"]
        again = client.post(f"{LIBRARY}/documents/{article['id']}/reindex", headers=OWN)
        assert ended(client, again.json()["id"])["files"][0]["status"] == "unchanged"
    assert {"Call with the bank", "passwd"} <= set(held)
    assert client.post(f"{LIBRARY}/addresses", json={"addresses": ["file:///x"]}).status_code == 422
    assert client.post(f"{LIBRARY}/texts", json={"text": " \n"}).status_code == 422


def test_a_private_address_is_refused(tmp_path: Path) -> None:
    with client_of(tmp_path) as client, Site() as site:
        (file,) = added(client, "addresses", {"addresses": ["http://localhost/article"]})
        assert "loopback" in file["reason"]
        assert site.requests == []


def test_a_folder_is_watched_while_the_server_runs(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "first.txt").write_text("The first note.", "utf-8")

    def until(client: TestClient, names: set[str]) -> None:
        deadline = time.monotonic() + 60
        while set(documents(client)) != names:
            assert time.monotonic() < deadline, documents(client)
            time.sleep(0.2)

    with client_of(tmp_path) as client:
        client._transport.client = ("127.0.0.1", 50000)  # type: ignore[attr-defined]
        told = watched(client, folder).json()
        assert told["folders"] == [{"folder": str(folder), "waits": ""}]
        until(client, {"first.txt"})
        (folder / "first.txt").rename(folder / "second.txt")
        (folder / "third.txt").write_text("The third note.", "utf-8")
        until(client, {"second.txt", "third.txt"})
        assert client.get(f"{LIBRARY}/watched").json()["changes"] >= 2
    (folder / "third.txt").unlink()
    with client_of(tmp_path) as client:  # the list was kept
        until(client, {"second.txt"})
        client._transport.client = ("127.0.0.1", 50000)  # type: ignore[attr-defined]
        assert watched(client, folder, on=False).json()["folders"] == []
        watched(client, folder)  # at once again, while the watch before it still ends
        (folder / "fourth.txt").write_text("The fourth note.", "utf-8")
        until(client, {"second.txt", "fourth.txt"})
    (tmp_path / "library" / "about.json").write_text("damaged", "utf-8")
    with client_of(tmp_path) as client:  # the server starts, and the page opens
        assert client.get("/api/settings").json()["titles"] == {"default": "My library"}
        assert client.get(f"{LIBRARY}/watched").status_code == 500


def test_nobody_else_switches_a_watch_on(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    here, token = ("127.0.0.1", 50000), "0123456789abcdef"
    with client_of(tmp_path, token=token) as client:
        client._transport.client = here  # type: ignore[attr-defined]
        assert watched(client, tmp_path / "papers").status_code == 401
    with client_of(tmp_path) as client:
        refused = watched(client, tmp_path / "papers")  # from another machine
        assert (refused.status_code, refused.json()["code"]) == (403, "paths_off")
        client._transport.client = here  # type: ignore[attr-defined]
        for headers in ({"X-Forwarded-For": "8.8.8.8"}, {"Origin": "http://evil.example"}):
            assert watched(client, tmp_path / "papers", headers=headers).status_code == 403
        for wrong in ("papers", tmp_path / "none", tmp_path / "library"):
            assert watched(client, wrong).status_code == 422
        assert client.get(f"{LIBRARY}/watched").json()["folders"] == []
    with client_of(tmp_path, serve={"roots": [str(tmp_path / "papers")]}) as client:
        assert watched(client, tmp_path).status_code == 403
        assert watched(client, tmp_path / "papers").status_code == 200


def test_libraries_are_made_named_and_deleted(client: TestClient, tmp_path: Path) -> None:
    made = client.post("/api/libraries", json={"title": "../Tax  papers 2024"}).json()
    assert made == {"name": "tax-papers-2024", "title": "../Tax papers 2024", "can_delete": True}
    assert (tmp_path / "libraries" / "tax-papers-2024" / "library.json").is_file()
    own = "/api/libraries/tax-papers-2024"
    job = client.post(f"{own}/texts", json={"text": "The tax office wants 120 euros."}).json()
    while client.get(f"{own}/jobs/{job['id']}").json()["status"] != "done":
        time.sleep(0.05)
    question = {"question": "What does the tax office want?", "library": made["name"]}
    run = client.post("/api/ask", json=question).json()["run"]
    assert client.get("/api/threads", params={"library": made["name"]}).json()["total"] == 1
    assert client.put(own, json={"title": "Taxes"}).json()["title"] == "Taxes"
    told = client.get("/api/settings").json()
    assert told["titles"] == {"default": "My library", "tax-papers-2024": "Taxes"}
    assert told["own"] == ["tax-papers-2024"]
    assert client.post("/api/libraries", json={"title": "taxes"}).status_code == 422
    assert client.put("/api/libraries/default", json={"title": "Mine"}).status_code == 200
    with Library.open(settings=settings_at(tmp_path)) as usual:
        assert usual.documents() == []
    for name in ("default", "..", "%2e%2e", "none"):
        assert client.delete(f"/api/libraries/{name}", headers=OWN).status_code in {404, 405, 409}
    headers = {"Origin": "http://evil.example", **OWN}
    assert client.delete(own, headers=headers).status_code == 403
    assert client.delete(own, headers=OWN).status_code == 204
    assert list((tmp_path / "libraries").iterdir()) == []
    assert client.get(f"{own}/documents").status_code == 404
    assert client.get(f"/api/runs/{run}").status_code == 404
