"""How well a model grades, as `models probe`, `models` and `doctor` tell it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from secondlook.models.probe import store_probe, stored_probe
from secondlook.models.specs import parse_spec
from tests.support.function_model import FunctionModel
from tests.support.grading import by_words, figures, probed
from tests.support.model_desk import Desk, desk_in

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

SPEC = parse_spec("ollama:function")


def generous(request: ChatRequest) -> str:
    """Does what it is asked, and finds everything good."""
    if request.schema is None:
        return "one, two, three"
    if "grades" in request.schema["properties"]:
        return by_words(lambda question, text: "about")(request)
    if "verdict" in request.schema["properties"]:
        return json.dumps({"verdict": "yes"})
    return json.dumps({"name": "Marit", "year": 1987, "kind": "ferry", "ports": []})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FunctionModel:
    made = FunctionModel(generous, spec="ollama:function")
    monkeypatch.setattr("secondlook.models.calls.open_chat", lambda spec, settings: made)
    return made


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return desk_in(tmp_path, monkeypatch, capsys)


def test_the_probe_tells_how_well_it_grades(desk: Desk, model: FunctionModel) -> None:
    result = desk.run("models", "probe", "ollama:function", "--longest", "256")
    assert result.code == 0
    told = "unfit to grade: precision 0.50, recall 1.00 on"
    assert f"passages    {told} 36 labelled pairs with examples" in result.out
    assert f"answers     {told} 16 labelled pairs\n" in result.out
    stored = stored_probe(SPEC)
    assert stored is not None
    assert stored.grading is not None
    assert (stored.grading.fit, stored.grading.few_shot) == (False, True)
    written = desk.run("models", "probe", "ollama:function", "--json").json["probes"][0]
    assert written["grading"]["precision"] == 0.5


@pytest.mark.parametrize(("fit", "told"), [(True, "fit to grade"), (False, "unfit to grade")])
def test_the_list_and_the_doctor_tell_it_of_the_model_that_grades(
    desk: Desk, fit: bool, told: str
) -> None:
    desk.configure(default="openai:other", roles=["grade=ollama:function"])
    store_probe(SPEC, probed(grading=figures(fit=fit)))
    lines = {line.split()[0]: line for line in desk.run("models").out.splitlines()}
    assert lines["grade"].endswith(f", {told}")
    assert "to grade" not in lines["answer"]
    roles = {row["role"]: row for row in desk.run("models", "--json").json["roles"]}
    assert roles["grade"]["grading"]["fit"] is fit
    assert roles["answer"]["grading"] is None
    precision = 0.9 if fit else 0.5
    assert f"; {told} (precision {precision:.2f}" in desk.run("doctor").out
