"""Sets the choices apart from the question. Whoever plans, searches and writes works on what is
left, and so cannot look for what it is offered."""

from __future__ import annotations

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.multiple_choice import parsed
from secondlook.state import Choices, Question, Trace, step


class Separated(Choices, Trace):
    question: str


async def separate(state: Question, runtime: Runtime[Context]) -> Separated:
    _ = runtime  # every node is called alike; this one needs no service
    apart = parsed(state["question"])
    count = len(apart.choices)
    said = f"{count} choices set apart." if count else "There are no choices."
    return {
        "question": apart.stem,
        "choices": apart.choices,
        "steps": [step("separate", said, choices=count)],
        "warnings": [],
    }
