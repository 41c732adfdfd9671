"""`secondlook doctor`: what is found, what is missing, the way out, the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import ModelError
from secondlook.models.discovery import fitness
from secondlook.models.specs import parse_spec
from tests.support.chat_server import ChatServer
from tests.support.model_desk import Desk, Result, desk_in

GGUF = b"GGUF and what follows"


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return desk_in(tmp_path, monkeypatch, capsys)


def findings(result: Result) -> dict[str, dict[str, Any]]:
    return {finding["name"]: finding for finding in result.json["findings"]}


def test_a_bare_machine_is_well(desk: Desk) -> None:
    result = desk.run("doctor")
    assert result.code == 0
    assert "  ok  none: no model: answers are extracted" in result.out
    assert "  ok  reader: secondlook-reader-" in result.out
    assert "there is none yet\n      fix: secondlook add ~/papers" in result.out
    assert "All that is needed is there." in result.err


def test_what_is_within_reach_is_found(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    place = Path.home() / "models" / "deep"
    place.mkdir(parents=True)
    (place / "a.gguf").write_bytes(GGUF)
    (place / "no.gguf").write_bytes(b"html")
    tags = {"/api/tags": {"models": [{"name": "qwen2.5:latest"}, {"name": "llama3:8b"}, {}]}}
    with ChatServer(lambda body: "x", facts=tags) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        result = desk.run("doctor", "--json")
    found = findings(result)
    reached = [item for item in result.json["findings"] if item["area"] == "found"]
    assert reached[-1]["said"] == f"at {server.url}: llama3:8b, qwen2.5:latest"
    assert found["OPENAI_API_KEY"]["said"] == "is set"
    assert found[str(place / "a.gguf")]["state"] == "ok"
    assert str(place / "no.gguf") not in found
    assert "sk-secret" not in result.out
    assert result.json["ok"] is True


def test_a_configured_model_that_is_not_there_is_broken(desk: Desk) -> None:
    desk.configure(default="gguf:nowhere.gguf", roles=["grade=none"])
    result = desk.run("doctor")
    assert result.code == 1
    assert "  !!  gguf:nowhere.gguf: there is no file 'nowhere.gguf'" in result.out
    assert "Something that is needed is broken." in result.err


def test_weights_that_are_damaged_or_missing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(weights: Any) -> None:
        if weights.name == "gte-small":
            raise ModelError("its hash is another", hint="pip install secondlook-qa-weights")
        raise OSError("no such file")

    monkeypatch.setattr("secondlook.reading.weights.verify_weights", damaged)
    result = desk.run("doctor")
    assert result.code == 1
    assert "!!  embedder: its hash is another" in result.out
    assert "!!  reader: a file of it cannot be read: no such file" in result.out


# Fitness and discovery


def test_fitness_of_servers_on_this_machine(desk: Desk) -> None:
    facts: dict[str, Any] = {
        "/v1/models": {"data": []},
        "/api/tags": {"models": [{"name": "qwen:latest"}]},
    }
    with ChatServer(lambda body: "x", facts=facts) as server:
        assert fitness(parse_spec(f"openai:m@{server.url}/v1")).fit
        assert fitness(parse_spec(f"ollama:qwen@{server.url}")).fit
        assert fitness(parse_spec(f"ollama:qwen:7b@{server.url}")).fix == "ollama pull qwen:7b"
    assert "nobody answers" in fitness(parse_spec(f"openai:m@{server.url}/v1")).said
    assert fitness(parse_spec(f"ollama:qwen@{server.url}")).fix == "start it: ollama serve"
