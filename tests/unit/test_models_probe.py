"""Measuring a model: what it does in each mode, what it sees, how it grades; all is remembered."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.models.calls import Models
from secondlook.models.chat import ChatRequest, ModeRefused
from secondlook.models.probe import Prober, identity, store_probe, stored_probe
from secondlook.models.specs import parse_spec
from secondlook.nodes.grade import fit_of, unfit
from secondlook.nodes.probe import probe_passages
from secondlook.roles.verdicts import answers_identity, passage_cases
from secondlook.settings.sections import ModelSettings, Settings
from tests.support.function_model import FunctionModel, asker_of, probe_of
from tests.support.grading import by_words, figures, probed, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.models.chat import ChatRequest
    from secondlook.models.probe import GradingFigures, Probe


SPEC = parse_spec("ollama:function")
SHIP = json.dumps({"name": "Marit", "year": 1987, "kind": "ferry", "ports": ["Bergen"]})


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secondlook.models.probe.probes_folder", lambda: tmp_path / "probes")


def able(request: ChatRequest, *, sees: int = 10**9) -> Any:
    """A model that does what it is asked, on the last `sees` characters of the prompt."""
    said = request.messages[-1].content[-sees:]
    if "code word?" in said:
        found = re.search(r"The code word is (\S+)\.", said)
        return found[1] if found else "I do not know."
    return SHIP if request.schema else "one, two, three, four"


def probe_with(function: Callable[[ChatRequest], Any], **options: Any) -> Probe:
    model = FunctionModel(function, **options)
    said: list[str] = []
    probe = asyncio.run(Prober(model, SPEC, said.append, seconds=20, longest=4096).run())
    assert said
    assert any("JSON by" in step for step in said)
    return probe


def test_a_server_that_cuts_silently_is_found_out() -> None:
    probe = probe_with(lambda request: able(request, sees=5000), context=None)
    assert probe.declared_tokens is None
    assert probe.seen_tokens == 1024
    assert probe.context_tokens in {1024, 1536}


def test_modes_are_told_apart() -> None:
    def function(request: ChatRequest) -> str:
        if request.mode == "json_schema":
            raise ModeRefused("no")
        if request.mode == "tool":
            return "Let me call a tool."
        return str(able(request))

    probe = probe_with(function)
    assert probe.json_rates == {"json_schema": None, "tool": 0.0, "prompted": 1.0}
    assert probe.mode == "prompted"


# Remembering


def a_probe(spec: str = "ollama:function") -> Probe:
    return probe_of(spec, mode="tool", json_rates={"tool": 1.0, "json_schema": None})


def test_a_probe_is_stored_and_used() -> None:
    assert stored_probe(SPEC) is None
    file = store_probe(SPEC, a_probe())
    assert stored_probe(SPEC) == a_probe()
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    settings = Settings(models=ModelSettings(default="ollama:function"))
    models = Models(settings, open_chat=lambda spec: FunctionModel(able))
    part = models.cast.part("answer")
    assert models.modes(part) == ("tool", "prompted")
    assert asyncio.run(models.context_tokens(part)) == 1000


def test_a_changed_file_is_another_model(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    spec = parse_spec(f"gguf:{file}")
    assert identity(spec) == f"gguf:{file}"
    file.write_bytes(b"GGUF one")
    store_probe(spec, a_probe(spec.text))
    assert stored_probe(spec) is not None
    file.write_bytes(b"GGUF another")
    assert stored_probe(spec) is None


LABELS = {
    (case.question, passage.text): passage.id in case.relevant
    for case in passage_cases()
    for passage in case.passages
}


def knowing(question: str, text: str) -> str:
    return "about" if LABELS[question, text.split("\n", 1)[1]] else "no"


def passages(function: Callable[[ChatRequest], Any]) -> tuple[GradingFigures, FunctionModel]:
    model = FunctionModel(function)
    said: list[str] = []
    found = asyncio.run(probe_passages(asker_of(model, retries=0), said.append))
    assert said
    return found, model


# Passages


def test_a_good_grader_passes_without_examples() -> None:
    found, model = passages(by_words(knowing))
    assert (found.precision, found.recall, found.ungraded) == (1.0, 1.0, 0)
    assert (found.fit, found.few_shot, found.pairs) == (True, False, len(LABELS))
    assert len(model.requests) == len(passage_cases())
    assert len(shown(model.requests[0])) == len(passage_cases()[0].passages)


def test_yes_to_everything_is_measured_again_with_examples_and_fails() -> None:
    found, model = passages(by_words(lambda question, text: "answers"))
    assert (found.precision, found.recall) == (0.5, 1.0)
    assert (found.fit, found.few_shot) == (False, True)
    assert len(model.requests) == 2 * len(passage_cases())


# Remembering


def test_figures_made_with_another_prompt_say_nothing() -> None:
    assert fit_of(probed(grading=figures(fit=True, made_with="older"))) is None
    fit = fit_of(probed(answer_grading=figures(fit=False, made_with=answers_identity())))
    assert fit is not None
    assert fit.passages is None
    assert unfit(fit, "passages") is None
    objection = unfit(fit, "answers")
    assert objection is not None
    assert "judges answers badly: precision 0.50" in objection.message
