"""Where a model overlooks what the reader finds, the reader's answer is given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.graphs.registry import workflow
from secondlook.models.calls import Models
from secondlook.models.specs import Cast, Part, RoleOptions, parse_spec
from secondlook.nodes import answer as overlooked
from secondlook.nodes.grade import Fit
from tests.support.engine import QUESTION, context_of, state_of
from tests.support.function_model import FunctionModel
from tests.support.grading import figures

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

OPTIONS = RoleOptions()
UNKNOWN = "what did the keeper of lamps drink"


def asked(question: str, reply: str = "NOT IN THE EVIDENCE", name: str = "corrective") -> Answer:
    def says(_request: ChatRequest) -> str:
        return reply

    context = context_of(model=FunctionModel(says), question=question, workflow=name)
    graph = workflow(name).build(context.settings).compile()

    async def go() -> dict[str, Any]:
        return await graph.ainvoke(state_of(question), context=context)

    return Answer.model_validate(asyncio.run(go())["answer"])


@pytest.mark.parametrize("name", ["linear", "adaptive", "corrective"])
def test_the_readers_answer_is_given_and_says_so(name: str) -> None:
    answer = asked(QUESTION, name=name)
    assert (answer.status, answer.method, answer.short) == ("answered", "extractive", "7.8 metres")
    assert any("gave no answer" in reason for reason in answer.confidence.reasons)
    assert answer.model is None


def test_so_is_it_where_nothing_stands_that_the_model_writes() -> None:
    answer = asked(QUESTION, "The keeper of the lamps drinks tea with milk every Sunday [1].")
    assert (answer.status, answer.method, answer.short) == ("answered", "extractive", "7.8 metres")
    assert answer.regenerations == 2
    assert answer.needs_review is False


@pytest.mark.parametrize(
    ("known", "fits", "given"),
    [
        (False, 0.2, ("extractive", "sure")),
        (False, 0.99, ("generative", "likely")),
        (True, 0.2, ("generative", "likely")),
    ],
)
def test_so_it_is_where_the_model_answers_something_else(
    monkeypatch: pytest.MonkeyPatch, known: bool, fits: float, given: tuple[str, str]
) -> None:
    monkeypatch.setattr("secondlook.models.calls.Asker.is_known", lambda *_: known)
    monkeypatch.setattr("secondlook.reading.support.ReaderSupport.answers", lambda *_: [fits])
    answer = asked(QUESTION, "Small boats lie there in winter [1].", "linear")
    assert (answer.method, answer.tier) == given


def test_what_the_reader_does_not_know_either_is_withheld() -> None:
    assert asked(UNKNOWN).status == "abstained"


@pytest.mark.parametrize(("fit", "status"), [(True, "abstained"), (False, "answered")])
def test_a_model_that_judges_well_is_believed(
    monkeypatch: pytest.MonkeyPatch, fit: bool, status: str
) -> None:
    known = Fit("ollama:function", None, figures(fit=fit))
    monkeypatch.setattr(overlooked, "fit_to_grade", lambda *_: known)
    assert asked(QUESTION).status == status


@pytest.mark.parametrize(
    ("spec", "status"), [("openai:gpt-5.1", "abstained"), ("openai:unheard-of", "answered")]
)
def test_so_is_a_hosted_one_that_everybody_knows(
    monkeypatch: pytest.MonkeyPatch, spec: str, status: str
) -> None:
    parsed = parse_spec(spec)
    monkeypatch.setattr(Cast, "part", lambda _self, role, _workflow: Part(role, parsed, OPTIONS))
    monkeypatch.setattr(Models, "chat", lambda *_: FunctionModel(lambda _: "NOT IN THE EVIDENCE"))
    assert asked(QUESTION).status == status
