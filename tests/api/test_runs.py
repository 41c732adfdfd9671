"""Runs that wait, go on, are watched, left, stopped, resumed and deleted."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from secondlook.engine.record import RunStore
from secondlook.events import Event, NodeFinished, RunStarted
from secondlook.server import runs as asking_runs
from secondlook.server.asking import turns_before
from secondlook.server.events import EACH
from tests.support.asking_http import QUESTION, events_of, gated, gated_server, library_at
from tests.support.memory_runs import full_answer
from tests.support.serving import client_of

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient


@pytest.fixture
def folder(tmp_path: Path, library: Path) -> Path:
    """A folder with a copy of the shared library."""
    shutil.copytree(library / "library", tmp_path / "library")
    return tmp_path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("asked")
    library_at(made)
    return made


def ask(client: TestClient, **body: Any) -> Any:
    return client.post("/api/ask", json={"question": QUESTION, "workflow": "linear", **body})


def detached(client: TestClient, **body: Any) -> str:
    reply = ask(client, detach=True, **body)
    assert reply.status_code == 202, reply.text
    told = reply.json()
    assert told["events"] == f"{told['url']}/events"
    return str(told["run"])


def shown(client: TestClient, run: str) -> Any:
    reply = client.get(f"/api/runs/{run}")
    assert reply.status_code == 200, reply.text
    return reply.json()


def watched(client: TestClient, run: str, **options: Any) -> list[Any]:
    reply = client.get(f"/api/runs/{run}/events", **options)
    assert reply.headers["content-type"].startswith("text/event-stream")
    return events_of(reply.text)


def runs_of(client: TestClient) -> Any:
    return client.app.state.served.runs  # type: ignore[attr-defined]


def put_away(client: TestClient, reply: Any) -> str:
    """The run of an answer, once nothing works on it any more."""
    run = str(reply.json()["run"])
    assert runs_of(client).live(run).put_away.wait(20)
    return run


# Watching


def test_a_detached_run_goes_on_and_is_watched_from_any_event(folder: Path) -> None:
    with gated(folder) as (client, gate):
        run = detached(client)
        assert gate.asked.acquire(timeout=20)
        assert shown(client, run)["status"] == "running"
        gate.open()
        events = watched(client, run)
        assert [one.id for one in events] == sorted({one.id for one in events})
        assert [events[0].event, events[-1].event] == ["run_started", "answered"]
        assert all(json.loads(one.data)["type"] == one.event for one in events)
        half = events[len(events) // 2]
        for options in (
            {"params": {"after": half.id}},
            {"headers": {"last-event-id": str(half.id)}},
        ):
            rest = watched(client, run, **options)
            assert [one for one in rest if one.event != "token"] == [
                one for one in events[len(events) // 2 + 1 :] if one.event != "token"
            ]
        assert watched(client, run, params={"after": 10**9}) == []
        assert watched(client, run, headers={"last-event-id": "rubbish"})[0] == events[0]
        view = shown(client, run)
        assert view["status"] == view["answer"]["status"] == "answered"
        assert view["library"] == "default"


def test_a_run_of_before_is_read_from_the_record(folder: Path) -> None:
    with client_of(folder) as client:
        run = ask(client).json()["run"]
        live = watched(client, run)
    with client_of(folder) as client:
        again = watched(client, run)
        assert json.loads(again[-1].data)["answer"] == json.loads(live[-1].data)["answer"]
        assert [one.id for one in again] == [one.id for one in live]
        missed = watched(client, run, params={"after": live[-2].id})
        assert [one.event for one in missed] == ["answered"]
        assert missed[0].id > live[-2].id
        assert shown(client, run)["answer"]["run"] == run
        assert client.get(f"/api/runs/{run[:-1]}").status_code == 404


# The queue


def test_who_comes_later_waits_and_is_told_his_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.server.runs._MOST_WAITING", 2)
    serve = {"concurrency": 1}
    with gated(folder, serve=serve) as (client, gate):
        first, second, third = (detached(client) for _ in range(3))
        assert gate.asked.acquire(timeout=20)
        assert [shown(client, run)["position"] for run in (first, second, third)] == [None, 1, 2]
        assert shown(client, third)["status"] == "queued"
        full = ask(client)
        assert full.status_code == 429
        assert full.json()["code"] == "queue_full"
        assert 1 <= int(full.headers["retry-after"]) <= 60
        assert [one["status"] for one in client.get("/api/runs").json()["runs"]] == [
            "queued",
            "queued",
            "running",
        ]
        gate.open()
        events = watched(client, third)
        places = [json.loads(one.data)["position"] for one in events if one.event == "queued"]
        assert places in ([2, 1], [1], [2])
        assert events[-1].event == "answered"
        live = runs_of(client).live(third)
        kinds = [live.log._events[number].type for number in range(3)]
        assert kinds == ["queued", "queued", "run_started"]


# Stopping and resuming


def test_a_run_is_stopped_and_taken_up(folder: Path) -> None:
    with gated(folder) as (client, gate):
        run = detached(client)
        assert gate.asked.acquire(timeout=20)
        assert client.post(f"/api/runs/{run}/resume").json()["code"] == "run_in_progress"
        assert client.delete(f"/api/runs/{run}").json()["code"] == "run_in_progress"
        assert client.post(f"/api/runs/{run}/cancel").status_code == 202
        seen = watched(client, run)
        assert seen[-1].event == "stopped"
        assert json.loads(seen[-1].data)["why"] == "it was stopped"
        assert shown(client, run)["status"] == "interrupted"
        gate.open()
        assert client.post(f"/api/runs/{run}/resume").status_code == 202
        rest = watched(client, run, params={"after": seen[-1].id})
        assert rest[0].id > seen[-1].id
        assert rest[-1].event == "answered"
        assert [one.event for one in watched(client, run)].count("stopped") == 0
        assert shown(client, run)["status"] == "answered"
        assert client.post(f"/api/runs/{run}/resume").json()["code"] == "run_finished"
        assert client.post(f"/api/runs/{run}/cancel").json()["status"] == "answered"


def test_of_two_resumes_at_once_one_is_taken(folder: Path) -> None:
    with gated(folder) as (client, gate):
        run = detached(client)
        assert gate.asked.acquire(timeout=20)
        client.post(f"/api/runs/{run}/cancel")
        assert watched(client, run)[-1].event == "stopped"
        with ThreadPoolExecutor(2) as pool:
            replies = list(pool.map(client.post, [f"/api/runs/{run}/resume"] * 2))
        assert sorted(reply.status_code for reply in replies) == [202, 409]
        gate.open()
        assert watched(client, run)[-1].event == "answered"
        assert shown(client, run)["answer"]["usage"]["calls"] == 2, "the stopped one, and one more"


def test_a_run_is_deleted_with_every_trace(folder: Path) -> None:
    with client_of(folder) as client:
        run = ask(client).json()["run"]
        assert client.delete(f"/api/runs/{run}").status_code == 204
        for reply in (
            client.get(f"/api/runs/{run}"),
            client.get(f"/api/runs/{run}/events"),
            client.delete(f"/api/runs/{run}"),
            client.post(f"/api/runs/{run}/cancel"),
            client.post(f"/api/runs/{run}/resume"),
        ):
            assert reply.json()["code"] == "run_missing"
            assert reply.status_code == 404


def test_a_run_of_another_server_is_stopped_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_runs, "_LOOKS_FOR_STOPS", 0.01)
    with gated(folder, serve={"concurrency": 1}) as (owner, gate), client_of(folder) as client:
        going, waiting = detached(owner), detached(owner)
        assert gate.asked.acquire(timeout=20)
        for run in (waiting, going):
            reply = client.post(f"/api/runs/{run}/cancel")
            assert (reply.status_code, reply.json()["status"]) == (202, "interrupted")
            assert shown(owner, run)["status"] == "interrupted"
            assert json.loads(watched(owner, run)[-1].data)["why"] == "it was stopped"
        gate.open()
        assert owner.post(f"/api/runs/{going}/resume").status_code == 202
        assert watched(owner, going)[-1].event == "answered", "the wish was for that time"


def test_a_run_of_another_process_is_watched_until_it_ends(folder: Path) -> None:
    """From any number, as its own server would have it; what went on before is told at once."""
    with RunStore.open(folder / "runs.db") as store, gated_server(folder) as (server, _gate):
        events: list[Event] = [
            RunStarted(run="r", question="q", workflow="linear"),
            NodeFinished(run="r", node="retrieve", said="done"),
            NodeFinished(run="r", node="answer", said="done"),
        ]
        store.start("r", question="q", workflow="linear", created="2026-01-01T00:00:00")
        for event in events[:2]:
            store.append(event)
        url = f"{server.base_url}/api/runs/r/events"
        with httpx.stream("GET", url, params={"after": EACH}, timeout=60) as reply:
            lines = reply.iter_lines()
            first = next(line for line in lines if line.startswith("id"))
            store.append(events[2])
            store.finish(full_answer("r"))
            rest = [line for line in lines if line.startswith(("id", "event"))]
        assert first == f"id: {2 * EACH}"
        assert rest == [
            "event: node_finished",
            f"id: {3 * EACH}",
            "event: answered",
            f"id: {4 * EACH}",
        ]
        assert httpx.get(f"{server.base_url}/api/runs/r").json()["status"] == "answered"


# Clients that go


def test_leaving_a_stream_stops_its_run(folder: Path) -> None:
    with gated_server(folder) as (server, gate):
        body = {"question": QUESTION, "workflow": "linear", "stream": True}
        with httpx.stream("POST", f"{server.base_url}/api/ask", json=body, timeout=30) as reply:
            lines = reply.iter_lines()
            assert next(lines) == "event: run_started"
            assert gate.asked.acquire(timeout=20)
        runs = server.app.state.served.runs
        (live,) = runs.in_memory()
        assert live.put_away.wait(20)
        assert live.status == "interrupted"
        assert live.log.last.why == "the client has left"


# What the engine refuses


def test_what_cannot_be_asked_is_told_at_once(folder: Path) -> None:
    with client_of(folder) as client:
        for body, status, code in (
            ({"workflow": "none"}, 422, "usage_error"),
            ({"library": "none"}, 404, "library_missing"),
            ({"documents": ["none.pdf"]}, 422, "usage_error"),
            ({"choices": ["one"]}, 422, "usage_error"),
            ({"question": "  "}, 422, "invalid_request"),
            ({"web": True}, 422, "usage_error"),
            ({"conversation": {"after": "none"}}, 422, "conversation_missing"),
        ):
            for how in ({}, {"stream": True}, {"detach": True}):
                reply = ask(client, **{**body, **how})
                assert (reply.status_code, reply.json()["code"]) == (status, code), (body, how)
                assert reply.json()["hint"]


# Conversations


def test_a_follow_up_leans_on_the_run_before(folder: Path) -> None:
    with client_of(folder) as client:
        first = ask(client, question="Who voted against the money?").json()["run"]
        second = ask(
            client, question="And what did the council vote for?", conversation={"after": first}
        ).json()
        assert second["question"] == "And what did the council vote for?"
        third = ask(client, question="Who was against it?", conversation={"after": second["run"]})
        assert third.status_code == 200
    with client_of(folder) as client:  # the chain is in the record
        runs = runs_of(client)
        turns = turns_before(runs, third.json()["run"])
        assert next(turn.asked for turn in turns) == "Who voted against the money?"
        assert len(turns) == 3
