"""The risk dial in the graph: what is withheld, why, and that nothing is heard of it before."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.graphs.registry import workflow
from tests.support.engine import (
    CALIBRATED,
    QUESTION,
    WordShelf,
    context_of,
    passages_of,
    settings_of,
    state_of,
)
from tests.support.function_model import FunctionModel
from tests.support.risk import calibrated, planted

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

SHIPPED: str = json.loads(
    files("secondlook.reading").joinpath("calibration.json").read_text(encoding="utf-8")
)["reader"]
DEEPEST = "Berth 4 remains the deepest berth, at 7.8 metres. [1]"


def run(
    file: Path | None, *, question: str = QUESTION, workflow_name: str = "linear", **given: Any
) -> tuple[Answer, list[str]]:
    """The answer, and what was heard on the way."""
    context = context_of(question=question, workflow=workflow_name, **given)
    context = replace(context, calibration_file=file)
    graph = workflow(context.workflow).build(context.settings).compile()

    async def go() -> tuple[dict[str, Any], list[str]]:
        heard: list[str] = []
        state: dict[str, Any] = {}
        stream = graph.astream(
            state_of(question), context=context, stream_mode=["custom", "values"]
        )
        mode: str
        part: Any
        async for mode, part in stream:
            if mode == "custom" and "token" in part:
                heard.append(part["token"])
            elif mode == "values":
                state = part
        return state, heard

    state, heard = asyncio.run(go())
    return Answer.model_validate({**state["answer"], "steps": state["steps"]}), heard


def own(folder: Path, threshold: float = 0.5, **more: Any) -> Path:
    return calibrated(folder / "calibration.json", CALIBRATED, threshold=threshold, **more)


def settings(max_risk: float | None, **answer: Any) -> Any:
    return settings_of(answer={"max_risk": max_risk, **answer})


def sure(tmp_path: Path) -> float:
    """The probability of the answer to the question that all tests ask."""
    value = run(own(tmp_path, 0.5))[0].confidence.value
    assert value is not None
    return value


def test_an_answer_that_is_sure_enough_is_given(tmp_path: Path) -> None:
    answer, heard = run(own(tmp_path, sure(tmp_path) - 0.01), settings=settings(0.05))
    assert answer.status == "answered"
    assert answer.confidence.label == "calibrated"
    assert heard == [answer.claims[0].text]


def test_an_answer_that_is_not_is_withheld_with_the_reason_and_its_passages(tmp_path: Path) -> None:
    answer, heard = run(own(tmp_path, 0.9912), settings=settings(0.05))
    assert (answer.status, answer.stop_reason) == ("abstained", "low_confidence")
    assert answer.confidence.reasons[0] == (
        "the risk allowed is 5 %: an answer needs a probability of .99, "
        f"this one has {sure(tmp_path):.2f}".replace(" 0.", " .")
    )
    assert answer.confidence.value == pytest.approx(sure(tmp_path))
    assert any(seen.kept for seen in answer.passages)
    assert not heard
    assert "7.8" not in answer.text


def test_a_named_risk_takes_the_place_of_the_calibrated_limit(tmp_path: Path) -> None:
    question = "how deep is berth 2 where the whales and dolphins sleep in winter nights"
    plain, _ = run(own(tmp_path), question=question)
    if plain.status == "answered":
        pytest.fail("the question must be one that is withheld without a risk")
    value = plain.confidence.value
    assert value is not None
    assert value < planted(CALIBRATED).min_answer
    given, _ = run(own(tmp_path, 2e-6), question=question, settings=settings(0.5))
    assert given.status == "answered"


def test_it_holds_where_withholding_is_switched_off(tmp_path: Path) -> None:
    chosen = settings(0.05, enable_abstention=False)
    assert run(own(tmp_path, 0.9912), settings=chosen)[0].status == "abstained"


def test_an_answer_without_a_probability_is_withheld() -> None:
    answer, _ = run(None, shelf=WordShelf(reader_name="another@1"), settings=settings(0.05))
    assert answer.stop_reason == "low_confidence"
    assert "no answer can be promised" in answer.confidence.reasons[0]


GERMAN = "Der Liegeplatz 4 ist noch immer der tiefste Liegeplatz, mit einer Tiefe von 7,8 Metern."


@pytest.mark.parametrize("writes", [False, True])
def test_an_answer_in_a_language_the_reader_does_not_know_is_withheld(
    tmp_path: Path, writes: bool
) -> None:
    """It has no probability, so nothing can be promised about it."""
    writer = Writer()
    answer, heard = run(
        own(tmp_path, 0.5),
        question="Wie tief ist der tiefste Liegeplatz 4",
        shelf=WordShelf(held=passages_of([("hafen", GERMAN)])),
        model=FunctionModel(writer) if writes else None,
        settings=settings(0.05),
    )
    assert answer.stop_reason == "low_confidence"
    why = "a probability of .50, this one has none" if writes else "how sure it is cannot be told"
    assert answer.confidence.reasons[0].endswith(why)
    assert (answer.confidence.value, answer.confidence.label) == (None, "provisional")
    assert (writer.asked, heard) == (0, [])


# In a model's words


class Writer:
    """Quotes the first block of the evidence, or says more than it holds."""

    def __init__(self, said: str = DEEPEST) -> None:
        self.said = said
        self.asked = 0

    def __call__(self, request: ChatRequest) -> str:
        self.asked += 1
        return self.said


def test_a_model_is_not_asked_where_its_answer_could_not_be_given(tmp_path: Path) -> None:
    writer = Writer()
    answer, heard = run(own(tmp_path, 0.9912), model=FunctionModel(writer), settings=settings(0.05))
    assert writer.asked == 0
    assert answer.stop_reason == "low_confidence"
    assert "this one has" in answer.confidence.reasons[0]
    assert answer.model is None
    assert not heard


def test_nothing_is_heard_of_a_models_answer_that_is_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is half supported: the evidence was sure enough, the answer is not."""
    monkeypatch.setattr("secondlook.models.calls.Asker.is_known", lambda *_: True)
    said = "Berth 4 remains the deepest berth of Europe and Asia with 7.8 metres. [1]"
    monkeypatch.setattr("secondlook.nodes.answer.DEFAULT_MIN_SUPPORT", 0.0)
    plain = settings(None)
    shown, _ = run(own(tmp_path), model=FunctionModel(Writer(said)), settings=plain)
    value = shown.confidence.value
    assert value is not None
    assert value < sure(tmp_path)
    file = own(tmp_path, (value + sure(tmp_path)) / 2)
    writer = Writer(said)
    answer, heard = run(file, model=FunctionModel(writer), settings=settings(0.05))
    assert writer.asked == 1
    assert answer.stop_reason == "low_confidence"
    assert answer.model is not None
    assert answer.confidence.value == value
    assert "the risk allowed is 5 %" in answer.confidence.reasons[0]
    assert not heard


# The library's own calibration


def test_the_librarys_own_calibration_decides_in_every_node(tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    shelf = WordShelf(reader_name="another@1")
    calibrated(file, "another@1", threshold=0.01)
    answer, _ = run(file, shelf=shelf, workflow_name="adaptive")
    assert answer.confidence.value is not None
    assert next(step for step in answer.steps if step.node == "assess").numbers["quality"]
    assert not answer.warnings


@pytest.mark.parametrize(
    ("reader", "consequence"),
    [(SHIPPED, "the shipped one was used"), ("third@1", "there are no probabilities")],
)
def test_one_of_another_reader_is_warned_of(tmp_path: Path, reader: str, consequence: str) -> None:
    file = calibrated(tmp_path / "calibration.json", "another@1", threshold=0.5)
    answer, _ = run(file, shelf=WordShelf(reader_name=reader))
    (warning,) = answer.warnings
    assert warning.node == "calibration"
    assert f"reader another@1, not {reader}: not used; run secondlook calibrate" in warning.message
    assert warning.consequence == consequence
