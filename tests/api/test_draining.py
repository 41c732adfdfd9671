"""A server that is told to end: steps are finished, and what waited or went on is taken up."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.record import RunStore
from tests.support.asking_http import QUESTION, gated, library_at

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

    from secondlook.server.runs import Runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    library_at(tmp_path)
    return tmp_path


def detached(client: TestClient) -> str:
    body = {"question": QUESTION, "workflow": "linear", "detach": True}
    return str(client.post("/api/ask", json=body).json()["run"])


def runs_of(client: TestClient) -> Runs:
    app: Any = client.app
    runs: Runs = app.state.served.runs
    return runs


def statuses(folder: Path) -> dict[str, str]:
    with RunStore.open(folder / "runs.db", create=False) as store:
        return {run.run: run.status for run in store.list()}


def resumed(client: TestClient, run: str) -> dict[str, Any]:
    assert client.post(f"/api/runs/{run}/resume").status_code == 202
    assert "answered" in client.get(f"/api/runs/{run}/events").text
    shown: dict[str, Any] = client.get(f"/api/runs/{run}").json()
    return shown


def test_questions_that_waited_when_the_server_ended_are_taken_up(folder: Path) -> None:
    with gated(folder, serve={"concurrency": 1}) as (client, gate):
        first, second, third = (detached(client) for _ in range(3))
        assert gate.asked.acquire(timeout=60)
        listed = {run["id"]: run["status"] for run in client.get("/api/runs").json()["runs"]}
        assert listed == {first: "running", second: "queued", third: "queued"}
    assert statuses(folder) == dict.fromkeys((first, second, third), "interrupted")
    with gated(folder) as (client, gate):
        gate.open()
        for run in (second, third, first):
            assert resumed(client, run)["answer"]["status"] == "answered"
    assert set(statuses(folder).values()) == {"answered"}


def test_a_server_that_is_told_to_end_finishes_the_steps(folder: Path) -> None:
    with gated(folder) as (client, gate):
        run = detached(client)
        assert gate.asked.acquire(timeout=60)
        runs = runs_of(client)
        runs._libraries.drain()
        draining = threading.Thread(target=runs.drain)
        draining.start()
        gate.open()
        draining.join()
        live = runs.live(run)
        assert live is not None
        assert live.answer is None
        assert live.log.last.why == "the server is stopping"  # type: ignore[union-attr]
        refused = client.post("/api/ask", json={"question": QUESTION})
        assert refused.status_code == 503
    with RunStore.open(folder / "runs.db") as store:
        assert store.get(run).status == "interrupted"
        assert [entry.state for _, entry in store.journal(run).entries()] == ["sent", "reply"]
    with gated(folder) as (client, gate):
        answer = resumed(client, run)["answer"]
        assert not gate.asked.acquire(blocking=False), "the reply was there"
    assert (answer["status"], answer["usage"]["calls"]) == ("answered", 1)
