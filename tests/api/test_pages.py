"""What the server shows of itself: page, settings, workflows, and the API to read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.graphs.registry import WORKFLOWS
from secondlook.server import pages
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("shown")) as made:
        yield made


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server with a page of a test."""
    web = tmp_path / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<title>Page</title>", encoding="utf-8")
    (web / "assets" / "index-abc123.js").write_text("let a;", encoding="utf-8")
    monkeypatch.setattr(pages, "BUILT", web)
    with client_of(tmp_path) as made:
        yield made


def test_the_page_is_shown_and_asked_for_again(built: TestClient) -> None:
    for path in ("/", "/anything/else"):
        reply = built.get(path, headers=HTML)
        assert reply.status_code == 200
        assert reply.text == "<title>Page</title>"
        assert reply.headers["cache-control"] == "no-cache"
    assert built.head("/", headers=HTML).status_code == 200


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    sections: dict[str, Any] = {
        "models": {"default": "openai:small@https://inside.example/v1"},
        "serve": {"libraries": [f"papers={tmp_path / 'papers'}"]},
    }
    with client_of(tmp_path, token="a token of some length", **sections) as client:  # noqa: S106
        headers = {"authorization": "Bearer a token of some length"}
        reply = client.get("/api/settings", headers=headers)
    told = reply.json()
    assert told["model"] == "openai:small"
    assert told["libraries"] == ["default", "papers"]
    assert told["token_required"] is True
    assert told["limits"]["question_characters"] == 4000
    assert {item["name"] for item in told["workflows"]} == set(WORKFLOWS)
    assert told["workflow"] in WORKFLOWS
    for secret in ("inside.example", str(tmp_path), "a token"):
        assert secret not in reply.text


def test_every_workflow_is_a_graph(client: TestClient) -> None:
    listed = client.get("/api/graphs").json()
    assert [one["name"] for one in listed] == list(WORKFLOWS)
    for name in WORKFLOWS:
        graph = client.get(f"/api/graphs/{name}").json()
        nodes = {node["id"] for node in graph["nodes"]}
        assert {"__start__", "__end__"} < nodes
        assert {edge["source"] for edge in graph["edges"]} == nodes - {"__end__"}
        assert {edge["target"] for edge in graph["edges"]} == nodes - {"__start__"}
        assert graph["mermaid"].startswith("---") or graph["mermaid"].startswith("graph")


# The API to read


def test_the_docs_need_no_other_host(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "//" not in page.replace("<!doctype", "")
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        assert client.get(path).status_code == 200, path
    assert "<script>" not in page
