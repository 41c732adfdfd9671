"""`secondlook models`: what is listed, what is measured and stored, the exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import ModelError
from secondlook.models.probe import probes_folder, stored_probe
from secondlook.models.specs import parse_spec
from tests.support.function_model import FunctionModel
from tests.support.model_desk import Desk, desk_in

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_model_that_fails_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(request: ChatRequest) -> str:
        raise ModelError("it has gone")

    monkeypatch.setattr(
        "secondlook.models.calls.open_chat", lambda spec, settings: FunctionModel(fail)
    )
    result = desk.run("models", "probe", "ollama:function")
    assert (result.code, result.err.splitlines()[-1]) == (1, "error: it has gone")
    assert stored_probe(parse_spec("ollama:function")) is None
