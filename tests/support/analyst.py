"""A run of `analyst` without a library: a real desk over tables of this file, a real sandbox, and a
model that reads the prompts it is sent."""

from __future__ import annotations

import asyncio
import atexit
import json
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.answer import Answer
from secondlook.graphs.analyst import most_visits
from secondlook.graphs.registry import workflow
from secondlook.sandbox import open_sandbox
from secondlook.tables.desk import Desk
from secondlook.tables.read import table_from_frame
from secondlook.tables.worker import Worker
from tests.support.engine import context_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.models.chat import ChatRequest
    from secondlook.sandbox.port import Sandbox

CUSTOMERS: dict[str, list[Any]] = {
    "customer": [f"c{at}" for at in range(12)],
    "age": [23, 35, 41, 52, 29, 61, 47, 38, 55, 33, 44, 50],
    "income": [21.5, 40.0, 43.2, 61.0, 30.5, 70.2, 52.0, 41.1, 63.7, 36.0, 47.5, 58.8],
    "satisfaction": [3, 4, 4, 5, 2, 5, 4, 3, 5, 3, 4, 4],
    "sales": [100, 180, 175, 260, 90, 300, 210, 150, 270, 130, 190, 220],
    "region": ["east", "west", "north"] * 4,
}


class Kept(dict[str, str]):
    """What a run keeps beside its state."""

    def put(self, name: str, text: str) -> None:
        self[name] = text


@cache
def sandbox() -> Sandbox:
    """One for a process: starting it takes seconds, a job takes milliseconds."""
    opened = open_sandbox()
    atexit.register(opened.close)
    return opened


@cache
def worker() -> Worker:
    made = Worker()
    atexit.register(made.close)
    return made


def desk_of(tables: Mapping[str, Any], folder: Path | None = None) -> Desk:
    into = folder or Path(tempfile.mkdtemp(prefix="secondlook-desk-"))
    reads = [table_from_frame(name, frame, into) for name, frame in tables.items()]
    return Desk([(read.table, read.file) for read in reads], folder=into, worker=worker())


@dataclass
class Ran:
    answer: Answer
    state: dict[str, Any]
    prompts: list[tuple[str, str]]
    """Node and what its prompt says, in order."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(step["node"] for step in self.state["steps"])

    def told(self, node: str) -> list[str]:
        return [text for name, text in self.prompts if name == node]


@dataclass
class Script:
    """A model by the step that asks it: each is a list of replies, or a function of the prompt.
    What is said last is said again."""

    understand: Any = '{"work": "data"}'
    require: Any = '{"variables": [], "analysis": "descriptive"}'
    code: Any = "result = len(df)"
    judge: Any = '{"valid": true, "issues": []}'
    remedy: Any = '{"cause": "c", "action": "rewrite_code", "guidance": "g"}'
    explain: Any = "The result is in."
    stuck: Any = "The result is in."
    prompts: list[tuple[str, str]] = field(default_factory=list)
    _said: dict[str, int] = field(default_factory=dict)

    def __call__(self, request: ChatRequest) -> str:
        prompt = request.messages[-1].content
        step = step_of(prompt)
        self.prompts.append((step, prompt))
        said = getattr(self, step)
        if callable(said):
            return str(said(prompt))
        if isinstance(said, list):
            at = self._said.get(step, 0)
            self._said[step] = at + 1
            return str(said[min(at, len(said) - 1)])
        return str(said)


_STEPS = {
    "Does the question need these tables": "understand",
    "Say what is needed to answer": "require",
    "Write short Python code": "code",
    "Judge only whether the method fits": "judge",
    "Find the cause.": "remedy",
    "Answer the question in one sentence": "explain",
    "Explain what is asked in plain words": "explain",
    "No result could stand": "stuck",
}


def step_of(prompt: str) -> str:
    return next(step for words, step in _STEPS.items() if words in prompt)


def run(
    question: str,
    model: Callable[[ChatRequest], Any] | None = None,
    *,
    tables: Mapping[str, Any] | None = None,
    shelf: Any = None,
    opened: Callable[[], Sandbox] | None = sandbox,
    **analyst: Any,
) -> Ran:
    settings = settings_of(analyst=analyst)
    chat = FunctionModel(model) if model else None
    context = context_of(
        shelf=shelf, model=chat, settings=settings, question=question, workflow="analyst"
    )
    desk = desk_of(tables or {"customers": CUSTOMERS})
    context = replace(context, desk=desk, sandbox=opened, kept=Kept())
    graph = workflow("analyst").build(settings).compile()
    limit = most_visits(settings) + 1  # langgraph counts the end
    first: Any = state_of(question)
    state = asyncio.run(graph.ainvoke(first, {"recursion_limit": limit}, context=context))
    answer = Answer.model_validate(state["answer"])
    answer = answer.model_copy(update={"usage": context.ledger.usage()})
    json.dumps(answer.model_dump(mode="json"))
    return Ran(answer, state, getattr(model, "prompts", []))
