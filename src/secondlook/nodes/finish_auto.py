"""Ends a run of several workflows with one answer: of the one that gave it, or of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.answer import Answer
from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.both_kinds import together
from secondlook.nodes.finish import Finished, finished, once
from secondlook.state import Calls, Question, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import CallData


class ToFinish(Question, Calls, Trace):
    pass


async def finish_auto(state: ToFinish, runtime: Runtime[Context]) -> Finished:
    answers = [Answer.model_validate(one) for one in state["answers"]]
    answer = put_together(
        state["question"], runtime.context.workflow, state["calls"], answers, both=state["both"]
    )
    return finished(answer.model_copy(update={"warnings": once(state["warnings"])}))


def put_together(
    question: str,
    workflow: str,
    calls: Sequence[CallData],
    answers: Sequence[Answer],
    *,
    both: bool,
) -> Answer:
    """Of parts one answer, by `workflow`; of two tries the one that brought something. An answer of
    one workflow keeps the name of that workflow."""
    if both:
        return together(question, workflow, calls[: len(answers)], answers)
    first, *more = answers
    if not more:
        return first
    second = more[0]
    if second.claims:
        attempts = first.attempts + second.attempts
        return second.model_copy(update={"attempts": attempts})
    return first if calls[0]["kind"] == calls[1]["kind"] else _neither(calls, first, second)


def _neither(calls: Sequence[CallData], first: Answer, second: Answer) -> Answer:
    """The first try's own words, and that another kind of evidence was looked at too."""
    tried = "tables" if calls[1]["kind"] == "tables" else "documents"
    return first.model_copy(
        update={
            "text": f"{first.text}\n\nThe {tried} were tried too. {second.text}",
            "analysis": first.analysis or second.analysis,
            "passages": first.passages or second.passages,
            "queries": tuple(dict.fromkeys([*first.queries, *second.queries])),
            "asks_back": first.asks_back or second.asks_back,
            "attempts": first.attempts + second.attempts,
        }
    )
