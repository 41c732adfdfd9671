"""Runs that wait, go on, are watched, left, stopped, resumed and deleted."""

from __future__ import annotations

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from secondlook.answer import Answer
from secondlook.engine.record import RunStore
from secondlook.events import NodeFinished, RunStarted, Token
from secondlook.server.asking import turns_before
from secondlook.server.events import EACH, TAKEN_UP, EventLog
from tests.support.asking_http import QUESTION, events_of, gated, gated_server, library_at
from tests.support.library_http import HARBOUR, LIBRARY, SALES, documents, uploaded
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient


@pytest.fixture
def folder(tmp_path: Path, library: Path) -> Path:
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
            assert [one for one in watched(client, run, **options) if one.event != "token"] == [
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


# Clients that go


def test_leaving_a_stream_stops_its_run(folder: Path) -> None:
    with gated_server(folder) as (server, gate):
        body = {"question": QUESTION, "workflow": "linear", "stream": True}
        with httpx.stream("POST", f"{server.base_url}/api/ask", json=body, timeout=30) as reply:
            lines = reply.iter_lines()  # who drops it hangs up
            assert next(lines) == "event: run_started"
            assert gate.asked.acquire(timeout=20)
        (live,) = server.app.state.served.runs.in_memory()
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


def test_a_budget_that_is_too_small_ends_with_an_answer_that_says_so(folder: Path) -> None:
    with client_of(folder) as client:
        answer = ask(client, budget={"seconds": 1e-6}).json()
        assert (answer["status"], answer["stop_reason"]) == ("failed", "deadline")
        assert "To allow more: --timeout or budget.seconds." in answer["text"]
        assert ask(client, budget={"calls": 3, "money": 0.5}).json()["status"] == "answered"


def test_who_asks_without_the_web_is_answered_by_an_engine_that_has_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(engine: Any) -> None:
        assert not engine.settings.web.enable_web_search

    with client_of(folder, web={"enable_web_search": True}) as client:
        monkeypatch.setattr("secondlook.engine.secondlook.Secondlook._web_search", opened)
        assert ask(client, web=False).json()["status"] == "answered"
        libraries = client.app.state.served.libraries  # type: ignore[attr-defined]
        quiet = libraries.without_web("default")
        assert quiet is libraries.without_web("default")
        assert quiet.library is libraries.engine().library


# A server that ends


def test_questions_that_waited_when_the_server_ended_are_taken_up(folder: Path) -> None:
    with gated(folder, serve={"concurrency": 1}) as (client, gate):
        asked = [detached(client) for _ in range(3)]
        assert gate.asked.acquire(timeout=60)
    with RunStore.open(folder / "runs.db", create=False) as store:
        assert {run.run: run.status for run in store.list()} == dict.fromkeys(asked, "interrupted")
    with gated(folder) as (client, gate):
        gate.open()
        for run in reversed(asked):
            assert client.post(f"/api/runs/{run}/resume").status_code == 202
            assert watched(client, run)[-1].event == "answered"
            assert shown(client, run)["answer"]["status"] == "answered"


def test_numbers_of_a_server_that_was_killed_are_not_given_to_other_events() -> None:
    """It had sent the last three of these, and recorded the first alone."""
    began = RunStarted(run="r", question="q", workflow="linear")
    steps = [NodeFinished(run="r", node=name, said="done") for name in ("retrieve", "answer")]
    killed = EventLog([began, steps[0], Token(run="r", text="Berth"), steps[1]])
    went_on = EventLog([began, began, steps[0], Token(run="r", text="Berth 4."), steps[1]])
    went_on.close()

    async def read() -> list[Any]:
        return [entry async for entry in went_on.follow(killed.number) if entry is not None]

    entries = asyncio.run(read())
    assert [one.event for one in entries if one.event != began][-1] == steps[1]
    numbers = [entry.number for entry in entries]
    assert numbers[:2] == [2 * EACH + TAKEN_UP, 3 * EACH + TAKEN_UP]
    assert numbers == sorted(set(numbers))


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
        turns = turns_before(runs_of(client), third.json()["run"])
        assert next(turn.asked for turn in turns) == "Who voted against the money?"
        assert len(turns) == 3


def test_a_thread_is_listed_named_searched_exported_and_deleted(folder: Path) -> None:
    with client_of(folder) as client:
        first = ask(client).json()["run"]
        second = ask(client, question="And berth 5?", conversation={"after": first}).json()["run"]
        other = ask(client, question="When was the survey made?").json()["run"]
        forked = ask(client, question="And berth 6?", conversation={"after": first}).json()["run"]

        def listed(**query: str) -> list[tuple[str, list[str]]]:
            told = client.get("/api/threads", params=query).json()
            assert told["total"] >= len(told["threads"])
            return [(one["title"], [run["id"] for run in one["runs"]]) for one in told["threads"]]

        survey = ("When was the survey made?", [other])
        assert listed() == [(QUESTION, [forked, second, first]), survey]
        assert listed(limit="1", offset="1") == [survey]
        assert (
            client.put(f"/api/threads/{second}", json={"title": " The  berths "}).status_code == 204
        )
        assert listed(search="BERTHS 5") == [("The berths", [forked, second, first])]
        assert listed(search="nothing like it") == listed(library="elsewhere") == []
        for run, line in ((first, [first, forked]), (second, [first, second])):
            thread = client.get(f"/api/threads/{run}").json()
            assert (thread["title"], [one["id"] for one in thread["runs"]]) == ("The berths", line)
            assert all(one["answer"] for one in thread["runs"])
        written = client.get(f"/api/threads/{first}/export")
        assert written.text.index(f"# {QUESTION}") < written.text.index("# And berth 6?")
        assert client.delete(f"/api/threads/{second}").status_code == 204
        assert listed() == [survey]
        assert client.get(f"/api/threads/{first}").json()["code"] == "run_missing"


def test_what_a_person_says_of_an_answer_is_kept_with_it(folder: Path) -> None:
    with client_of(folder) as client:
        run = ask(client).json()["run"]
        assert shown(client, run)["feedback"] is None
        for said in ("wrong", "should_have_answered", "right", None):
            reply = client.put(f"/api/runs/{run}/feedback", json={"feedback": said})
            assert reply.status_code == 204
            assert shown(client, run)["feedback"] == said
        assert client.put(f"/api/runs/{run}/feedback", json={"feedback": "nice"}).status_code == 422
        missing = client.put("/api/runs/none/feedback", json={"feedback": "right"})
        assert missing.status_code == 404
    with client_of(folder, runs={"keep": 0}) as client:  # nothing is recorded: it is not kept
        run = ask(client).json()["run"]
        assert shown(client, run)["answer"]
        assert (
            client.put(f"/api/runs/{run}/feedback", json={"feedback": "right"}).status_code == 404
        )


# What can be had of an answer: its charts, a second check, files.


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
