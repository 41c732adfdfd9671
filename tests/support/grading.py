"""Models that grade: doubles that read the passages they are shown, and what is known of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from secondlook.models.probe import GradingFigures, Probe
from secondlook.nodes.state import Found, unread
from secondlook.roles.verdicts import passages_identity
from tests.support.engine import context_of, settings_of
from tests.support.function_model import FunctionModel, models_of, probe_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context
    from secondlook.passage import Passage

_BLOCK = re.compile(r"<<evidence-\w+ (\d+)>> (.*?)(?=\n<<)", re.DOTALL)
_QUESTION = re.compile(r"\AQuestion: (.*?)\n\n", re.DOTALL)


def shown(request: ChatRequest) -> dict[int, str]:
    """The passages that a request shows, by their numbers."""
    return {int(number): text for number, text in _BLOCK.findall(request.messages[-1].content)}


def asked(request: ChatRequest) -> str:
    found = _QUESTION.match(request.messages[-1].content)
    assert found
    return found[1]


def reply(grades: dict[int, str]) -> str:
    entries = [{"passage": number, "grade": grade} for number, grade in grades.items()]
    return json.dumps({"grades": entries})


def by_words(judge: Callable[[str, str], str]) -> Callable[[ChatRequest], str]:
    """A model that grades each passage by what it says."""

    def function(request: ChatRequest) -> str:
        question = asked(request)
        return reply({number: judge(question, text) for number, text in shown(request).items()})

    return function


def read_item(item: Found, relevance: float | None, *, margin: float | None = None) -> Found:
    """As the reader left it; without a margin it has only glanced at it."""
    scores: dict[str, Any] = {"relevance": relevance, "fusion_score": 0.5, "score": 0.5}
    if margin is not None:
        scores |= {"answerable": margin, "span_score": margin, "null_score": 0.0, "windows": 1}
    return cast("Found", {**item, **scores})


def items_of(passages: list[Passage], *relevance: float | None) -> list[Found]:
    """The passages, as relevant as is said, and none of them with an answer."""
    return [
        read_item(unread(passage), score, margin=None if score is None else -8.0)
        for passage, score in zip(passages, relevance, strict=True)
    ]


def figures(*, fit: bool, few_shot: bool = False, **more: Any) -> GradingFigures:
    values: dict[str, Any] = {
        "pairs": 36,
        "precision": 0.9 if fit else 0.5,
        "recall": 0.8 if fit else 0.3,
        "ungraded": 0,
        "made_with": passages_identity(),
        "measured": "2026-01-01T00:00:00+00:00",
    }
    return GradingFigures(fit=fit, few_shot=few_shot, **{**values, **more})


def probed(spec: str = "ollama:function", **measured: Any) -> Probe:
    return probe_of(spec, context_tokens=None, **measured)


def grading_context(
    model: FunctionModel | None = None,
    *,
    probe: Probe | None = None,
    models: dict[str, Any] | None = None,
    shelf: Any = None,
    caps: Any = None,
    **corrective: Any,
) -> Context:
    """A context whose model was measured as `probe` says."""
    context = context_of(
        model=model, shelf=shelf, caps=caps, settings=settings_of(corrective=corrective)
    )
    if model is None:
        return context
    asker = models_of(model, probe=probe, **(models or {})).asker(
        run=context.run,
        workflow=context.workflow,
        ledger=context.ledger,
        journal=context.models.journal,
    )
    return replace(context, models=asker)
