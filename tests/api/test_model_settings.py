"""Models and settings over HTTP: what is changed counts for the next question, for who may."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.models import hub
from secondlook.server.app import create_app
from secondlook.settings import load, user_file
from secondlook.settings.keys import keep_key
from tests.support.asking_http import gated
from tests.support.chat_server import ChatServer, Said
from tests.support.library_http import HARBOUR, LIBRARY, ended, uploaded
from tests.support.mirror import CONTENT, Mirror, mirrored
from tests.support.serving import BASE, client_of, settings_at

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

ASK = {"question": "How deep is berth 4?", "workflow": "linear"}
SAYS = "The depth of berth 4 was measured at 7.5 metres in May 2024 [1]."
KEY = "sk-not-to-be-seen-4711"
FACTS: dict[str, Any] = {"/v1/models": {"data": [{"id": "clerk"}]}}


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")


def told(reply: Any, status: int = 200) -> Any:
    assert reply.status_code == status, reply.text
    return reply.json()


def put(client: TestClient, **changes: object) -> Any:
    return client.put("/api/settings", json=changes)


def test_a_change_counts_for_the_next_question_and_not_for_one_that_runs(tmp_path: Path) -> None:
    with (
        ChatServer(lambda _: SAYS, facts=FACTS) as chat,
        gated(tmp_path, serve={"concurrency": 2}) as (client, gate),
    ):
        gate.says = SAYS
        uploaded(client, ("survey.md", HARBOUR))
        running = told(client.post("/api/ask", json=ASK | {"detach": True}), 202)["run"]
        assert gate.asked.acquire(timeout=30)
        address = f"{chat.url}/v1"
        listed = told(client.get("/api/models", params={"address": address}))
        assert [(one["name"], one["address"]) for one in listed["usable"]][-1] == (
            "openai:clerk",
            address,
        )
        changed = told(put(client, model="openai:clerk", address=address))
        assert (changed["model"], changed["overridden"]) == ("openai:clerk", {})
        after = told(client.post("/api/ask", json=ASK))
        assert (after["model"], after["method"]) == (f"openai:clerk@{address}", "generative")
        asked = len(chat.chats)
        gate.open()
        ends = time.monotonic() + 60
        while told(client.get(f"/api/runs/{running}"))["status"] == "running":
            assert time.monotonic() < ends
            time.sleep(0.05)
        before = told(client.get(f"/api/runs/{running}"))["answer"]
        assert before["model"] == "ollama:function"
        assert len(chat.chats) == asked
        libraries = client.app.state.served.libraries  # type: ignore[attr-defined]
        ends = time.monotonic() + 20
        while libraries._replaced and time.monotonic() < ends:
            time.sleep(0.05)
        assert not libraries._replaced  # a model that nobody asks any more takes no memory
        assert told(put(client, model="none"))["model"] == "none"
        assert told(client.post("/api/ask", json=ASK))["method"] == "extractive"
    assert not user_file().exists()  # nobody said that this server keeps what is set


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "ollama:none-such"}, "there is no model"),
        ({"model": "gguf:/etc/passwd"}, "there is no model"),
        ({"model": "openai:x", "address": "https://evil.example/v1"}, "only addresses on this"),
        ({"model": "openai:x", "address": "http://127.evil.example/v1"}, "only addresses on this"),
        ({"model": "openai:x", "address": "http://127.0.0.1:9/v1"}, "cannot be used"),
        ({"max_risk": 2}, "less than 1"),
        ({"language": "klingon"}, "known language"),
        ({"budget": 3}, "budget"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with client_of(tmp_path) as client:
        before = told(client.get("/api/settings"))
        assert said in told(put(client, **change), 422)["detail"]
        assert told(client.get("/api/settings")) == before


def test_it_is_kept_for_the_next_start(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    app = create_app(settings_at(tmp_path), keeps=True)
    with TestClient(app, base_url=BASE) as client:
        uploaded(client, ("survey.md", HARBOUR))
        told(put(client, max_risk=0.1, web_search=True, language="de"))
        answer = told(client.post("/api/ask", json=ASK | {"web": False}))
        assert answer["status"] == "answered"
        told(put(client, max_risk=0.0001))
        withheld = told(client.post("/api/ask", json=ASK | {"web": False}))
        assert (withheld["status"], withheld["stop_reason"]) == ("abstained", "low_confidence")
        assert told(client.get("/api/settings"))["web_search"] is True
        job = told(client.post(f"{LIBRARY}/rebuild"), 202)["id"]
        assert ended(client, job)["status"] == "done"
        assert told(client.get("/api/libraries"))[0]["language"] == "german"
        told(put(client, max_risk=None))
    settings = load().settings
    assert (settings.answer.max_risk, settings.library.language) == (None, "de")
    assert settings.web.enable_web_search


def test_who_may_change_settings(tmp_path: Path) -> None:
    change: dict[str, Any] = {"json": {"max_risk": 0.1}}
    token = "a token of sufficient length"  # noqa: S105  # of a test
    with client_of(tmp_path, serve={"origins": ["https://papers.example"]}) as client:
        for headers, code in (
            ({"origin": "https://evil.example"}, "origin_not_allowed"),
            ({"host": "papers.example"}, "settings_closed"),
            ({"x-forwarded-for": "192.0.2.7"}, "settings_closed"),
        ):
            reply = client.put("/api/settings", headers=headers, **change)
            assert told(reply, 403)["code"] == code
            fetch = client.post("/api/models/fetches", headers=headers, json={"name": "qwen3-4b"})
            assert told(fetch, 403)["code"] == code
            look = {"address": "http://127.0.0.1:9/v1"}
            assert client.get("/api/models", headers=headers, params=look).status_code == 403
        assert told(client.get("/api/settings"))["max_risk"] is None
    with client_of(tmp_path, token=token, serve={"origins": ["https://papers.example"]}) as client:
        assert put(client, max_risk=0.1).status_code == 401
        headers = {"authorization": f"Bearer {token}", "host": "papers.example"}
        assert told(client.put("/api/settings", headers=headers, **change))["max_risk"] == 0.1


def test_a_kept_key_is_sent_to_its_provider_and_seen_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider repeats the key in its errors, as some do."""
    refusal = Said(status=401, error={"error": {"message": f"wrong key: {KEY}"}})
    with ChatServer(lambda _: refusal) as chat:
        keep_key(f"openai@{chat.url}/v1", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{chat.url}/v1")
        with client_of(tmp_path, models={"default": "openai:gpt-4o"}) as client:
            uploaded(client, ("survey.md", HARBOUR))
            answer = told(client.post("/api/ask", json=ASK))
            run = answer["run"]
            paths = ["settings", "models", f"runs/{run}", f"runs/{run}/events", "libraries"]
            paths += [f"runs/{run}/export?format={form}" for form in ("markdown", "json")]
            replies = [client.get(f"/api/{path}").text for path in paths]
    sent = [one.headers["authorization"] for one in chat.requests if one.path.endswith("ions")]
    assert set(sent) == {f"Bearer {KEY}"}
    assert answer["warnings"]
    assert all(KEY not in reply for reply in replies)
    record = (file.read_bytes() for file in tmp_path.glob("runs.db*"))
    assert all(KEY.encode() not in held for held in record)


def test_a_model_is_fetched_stopped_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"tiny": hub.Known("tiny", "some/Model", "MIT", 0.1, 1, "for tests")}
    monkeypatch.setattr(hub, "known_models", lambda: known)

    def reached(*statuses: str, more_than: int = -1) -> Any:
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            now = told(client.get("/api/models/fetches/tiny"))
            if now["status"] in statuses and now["done"] > more_than:
                return now
            time.sleep(0.02)
        raise AssertionError(now)

    mirror = Mirror({"model-Q4_K_M.gguf": CONTENT}, quick=1_000_000)
    with mirrored(mirror), client_of(tmp_path) as client:
        monkeypatch.setenv("HF_ENDPOINT", mirror.address)
        told(client.post("/api/models/fetches", json={"name": "some/Model"}), 422)
        told(client.get("/api/models/fetches/tiny"), 404)
        started = told(client.post("/api/models/fetches", json={"name": "tiny"}), 202)
        assert started["status"] == "running"
        assert reached("running", more_than=900_000)["size"] == len(CONTENT)
        told(client.delete("/api/models/fetches/tiny"))
        stopped = reached("stopped")
        assert not list(hub.models_folder().glob("*.gguf"))
        mirror.hurries.set()
        told(client.post("/api/models/fetches", json={"name": "tiny"}), 202)
        assert reached("done")["done"] == len(CONTENT) > stopped["done"]
        assert int(mirror.asked[-1][len("bytes=") : -1]) > 900_000  # it went on there
        shown = told(client.get("/api/models"))
        assert "gguf:model-Q4_K_M.gguf" in {one["name"] for one in shown["usable"]}
        assert str(tmp_path) not in str(shown)
        mirror.promised = "0" * 64
        hub.models_folder().joinpath("model-Q4_K_M.gguf").unlink()
        told(client.post("/api/models/fetches", json={"name": "tiny"}), 202)
        assert "not the file" in reached("failed")["error"]
