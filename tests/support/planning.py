"""A research about mooring a boat in a storm: its passages, its steps, and models that plan it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, cast

from langgraph.runtime import Runtime

from secondlook.answer import Step
from secondlook.nodes.plan import plan, replan
from secondlook.nodes.state import Sentence, StepData, pending
from tests.support.engine import WordShelf, context_of, passages_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context

STORM = (
    "During a storm Captain Brandt tied the Marisol to a private pier and the waves broke the "
    "pier. Must he compensate the owner of the pier?"
)
CHOICES = {
    "A": "Yes, because trespass to a jetty is always unlawful",
    "B": "No, since private necessity excuses every harm entirely",
    "C": "Yes, although necessity gave him a privilege to moor there",
}
ASKED = f"{STORM}\n\n" + "\n".join(f"({letter}) {text}" for letter, text in CHOICES.items())
"""As it was asked: nobody who plans may be told the choices."""
LAW = (
    ("necessity", "Private necessity lets a captain moor at a private pier in a storm."),
    ("necessity", "Necessity ends when the storm ends. The boat must then leave the pier."),
    ("damage", "Who damages a pier out of necessity must compensate its owner for the damage."),
    ("trespass", "Trespass is entry upon land of another without leave."),
    ("weather", "A storm of force nine broke windows in the town."),
)
FIRST = "When does private necessity allow a captain to moor at a private pier?"
SECOND = "Must a captain compensate the owner for damage to a private pier?"


def shelf() -> WordShelf:
    return WordShelf(passages_of(LAW))


def speaking(said: Mapping[str, Any] | Callable[[ChatRequest], Mapping[str, Any]]) -> FunctionModel:
    """A model that replies with JSON: always the same, or what it makes of the prompt."""

    def reply(request: ChatRequest) -> str:
        return json.dumps(said(request) if callable(said) else said)

    return FunctionModel(reply)


def context(model: FunctionModel | None = None, **given: Any) -> Context:
    research = given.pop("research", {})
    return context_of(
        model=model,
        shelf=given.pop("shelf", None) or shelf(),
        settings=settings_of(research=research),
        question=ASKED,
        workflow="research",
        **given,
    )


def state(question: str = STORM, **more: Any) -> dict[str, Any]:
    plain = {"query_type": "multi_hop", "classified_by": "understander", "escalated": False}
    return state_of(question, **{**plain, "plan": [], "cycles": 0, "stopped": "", **more})


def planned(given: Context, at: dict[str, Any] | None = None) -> dict[str, Any]:
    return dict(asyncio.run(plan(at or state(), Runtime(context=given))))  # type: ignore[arg-type]


def replanned(given: Context, at: dict[str, Any] | None = None) -> dict[str, Any]:
    at = at or after(done(FIRST))
    return dict(asyncio.run(replan(at, Runtime(context=given))))  # type: ignore[arg-type]


def told(update: Mapping[str, Any]) -> Step:
    (one,) = update["steps"]
    return Step.model_validate(one)


def prompts(model: FunctionModel) -> str:
    """All that a model was ever told."""
    return "\n".join(message.content for request in model.requests for message in request.messages)


def after(*steps: StepData, **more: Any) -> dict[str, Any]:
    numbered = [{**one, "id": number} for number, one in enumerate(steps, 1)]
    return state(**{"plan": numbered, "cycles": len(steps), **more})


def sentence(text: str, support: float | None = 0.9, *, supported: bool | None = True) -> Sentence:
    return {"text": text, "cited": [], "support": support, "supported": supported}


def done(question: str, *findings: Sentence, phase: str = "Necessity", **more: Any) -> StepData:
    """A completed step."""
    kept = findings or (sentence("Private necessity lets a captain moor in a storm."),)
    draft: Any = {"sentences": list(kept), "stop": "answered", "confidence": 0.8}
    step: Any = {**pending(1, question, phase=phase), "status": "completed", "confidence": 0.8}
    made: Any = {**step, "draft": draft, **more}
    return cast("StepData", made)


def lost(question: str, *passages: str, attempt: int = 1) -> StepData:
    """A failed step, and the passages it was shown."""
    evidence: Any = [{"passage": name, "rank": rank} for rank, name in enumerate(passages, 1)]
    step: Any = {**pending(1, question, phase="Necessity", attempt=attempt), "evidence": evidence}
    made: Any = {**step, "status": "failed", "confidence": 0.21}
    return cast("StepData", made)


def question_in(request: ChatRequest) -> str:
    """The question of a prompt, as a model finds it there."""
    return str(re.findall(r"Question: (.+)", request.messages[-1].content)[-1])
