from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.asking_http import QUESTION, events_of, library_at
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("asked")
    library_at(folder)
    with client_of(folder) as made:
        yield made


def ask(client: TestClient, **body: Any) -> Any:
    return client.post("/api/ask", json={"question": QUESTION, **body})


def test_an_answer_comes_whole(client: TestClient) -> None:
    reply = ask(client)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    assert answer["status"] == "answered"
    assert "7.8" in answer["short"]
    assert answer["citations"][0]["quote"]


def test_events_come_as_they_happen(client: TestClient) -> None:
    asked: list[dict[str, Any]] = [
        {"body": {"stream": True}},
        {"headers": {"accept": "text/event-stream"}},
    ]
    for how in asked:
        body = {"question": QUESTION, **how.get("body", {})}
        reply = client.post("/api/ask", json=body, headers=how.get("headers"))
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = events_of(reply.text)
        assert [events[0].event, events[-1].event] == ["run_started", "answered"]
        assert [one.id for one in events] == sorted(one.id for one in events)
        answer = json.loads(events[-1].data)["answer"]
        assert answer["status"] == "answered"


def test_the_server_need_not_search_the_web(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks without the web is answered by an engine that has none."""
    library_at(tmp_path)
    with client_of(tmp_path, web={"enable_web_search": True}) as with_web:
        monkeypatch.setattr(
            "secondlook.engine.secondlook.Secondlook._web_search", _no_web_where_it_is_off
        )
        assert ask(with_web, web=False, workflow="linear").json()["status"] == "answered"
        libraries = with_web.app.state.served.libraries  # type: ignore[attr-defined]
        quiet = libraries.without_web("default")
        assert not quiet.settings.web.enable_web_search
        assert quiet is libraries.without_web("default")
        assert quiet.library is libraries.engine().library


def _no_web_where_it_is_off(engine: Any) -> None:
    assert not engine.settings.web.enable_web_search


def test_a_budget_that_is_too_small_ends_with_an_answer_that_says_so(client: TestClient) -> None:
    reply = ask(client, budget={"seconds": 1e-6})
    assert reply.status_code == 200
    answer = reply.json()
    assert (answer["status"], answer["stop_reason"]) == ("failed", "deadline")
    assert "To allow more: --timeout or budget.seconds." in answer["text"]
    assert ask(client, budget={"calls": 3, "money": 0.5}).json()["status"] == "answered"
