"""`secondlook models` and `secondlook doctor`: what is found and measured, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.models.probe import probes_folder, stored_probe
from secondlook.models.specs import parse_spec
from tests.support.chat_server import ChatServer
from tests.support.function_model import FunctionModel
from tests.support.model_desk import Desk, Result, desk_in

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest


def able(request: ChatRequest) -> str:
    ship = {"name": "Marit", "year": 1987, "kind": "ferry", "ports": []}
    return json.dumps(ship) if request.schema else "one, two, three"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FunctionModel:
    made = FunctionModel(able, spec="ollama:function")
    monkeypatch.setattr("secondlook.models.calls.open_chat", lambda spec, settings: made)
    return made


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return desk_in(tmp_path, monkeypatch, capsys)


def test_roles_are_listed_with_who_serves_them(desk: Desk) -> None:
    desk.configure(
        default="openai:gpt-4o-mini",
        roles=["grade=ollama:qwen", "research.plan=openai:mystery"],
        options=["answer.temperature=0.3", "grade.mode=prompted"],
    )
    lines = {line.split()[0]: line for line in desk.run("models").out.splitlines()}
    assert "elsewhere, $0.15 in, $0.6 out per million tokens" in lines["answer"]
    assert lines["answer"].endswith("objects by json_schema (not probed), temperature 0.3")
    assert "on this machine, objects by prompted" in lines["grade"]
    assert "price unknown" in lines["research.plan"]
    rows = {
        (row["workflow"], row["role"]): row for row in desk.run("models", "--json").json["roles"]
    }
    assert rows[None, "answer"]["price"] == {"input": 0.15, "output": 0.6, "cached": 0.075}
    assert rows[None, "answer"]["options"] == {"temperature": 0.3}
    assert rows[None, "grade"]["local"] is True
    assert rows["research", "plan"]["price"] is None
    assert rows["research", "plan"]["serves"] is True


def test_probe_measures_once(desk: Desk, model: FunctionModel) -> None:
    result = desk.run("models", "probe", "ollama:function", "--longest", "256")
    assert result.code == 0
    assert "Measuring ollama:function ..." in result.err
    assert "objects by  json_schema (valid: json_schema 100%, tool 100%" in result.out
    assert "context     not measurable with this model (8,192 declared)" in result.out
    assert model.closed
    calls = len(model.requests)
    again = desk.run("models", "probe", "ollama:function", "--json")
    assert len(model.requests) == calls
    assert "--again measures it anew" in again.err
    assert again.json["probes"][0]["spec"] == "ollama:function"
    assert desk.run("models", "probe", "ollama:function", "--again", "-q").err == ""
    assert len(model.requests) > calls
    assert stored_probe(parse_spec("ollama:function")) is not None
    assert probes_folder().is_dir()


GGUF = b"GGUF and what follows"


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


# Fitness and discovery


def test_models_to_fetch_are_listed(desk: Desk) -> None:
    listed = desk.run("models", "get")
    assert "qwen3-4b" in listed.out
    assert "Apache-2.0" in listed.out
    assert desk.run("models", "get", "--json").json["models"][0]["repo"]
    assert desk.run("models", "get", "nonsense").code == 2
