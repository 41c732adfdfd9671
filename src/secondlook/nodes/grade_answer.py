"""Has a model judge the finished answer, and once have it written more strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes.checking.asking import unfit_judge, yes_or_no
from secondlook.nodes.checking.refusal import AnswerGrade, AnswerGrades
from secondlook.nodes.showing import evidence_budget, evidence_items, packed
from secondlook.prompts import evidence_marks, load
from secondlook.state import Asked, Draft, Trace, step, trouble

if TYPE_CHECKING:
    from secondlook.models import Message

NODE = "grade_answer"


class ToGrade(Asked, Draft, AnswerGrades):
    pass


class GradedAnswer(AnswerGrades, Trace):
    route: str


async def grade_answer(state: ToGrade, runtime: Runtime[Context]) -> GradedAnswer:
    context, earlier = runtime.context, state.get("answer_grades", [])
    grade, warnings = await _graded(state, context)
    again = grade == "no" and not earlier and _written_by_a_model(state, context)
    way = "answer" if again else "finish"
    told = step(
        NODE,
        _said(grade, again=again),
        {"verdict": grade, "answer": len(earlier) + 1},
        route=(way, _why(grade, again=again, earlier=len(earlier))),
    )
    return {"answer_grades": [grade], "route": way, "steps": [told], "warnings": warnings}


async def _graded(state: ToGrade, context: Context) -> tuple[AnswerGrade, list[dict[str, Any]]]:
    if not state["draft"]["sentences"]:
        return "not graded", []
    if not context.models.serves("grade"):
        missing = ModelError("no model serves the role 'grade'")
        return "not graded", [trouble(NODE, missing, "the answer was not graded")]
    # Once for each run, however often it grades.
    warnings = [] if state.get("answer_grades") else unfit_judge(context, NODE)
    try:
        said = await yes_or_no(context, await _messages(state, context), node=NODE)
    except (ModelError, BudgetExceeded) as error:
        return "not graded", [*warnings, trouble(NODE, error, "the answer was not graded")]
    return "yes" if said else "no", warnings


async def _messages(state: ToGrade, context: Context) -> tuple[Message, ...]:
    prompt, question = load(NODE), state["question"]
    answer = " ".join(sentence["text"] for sentence in state["draft"]["sentences"])
    bare = prompt.render(question=question, answer=answer, evidence="")
    budget = await evidence_budget(context, "grade", bare, max_tokens=prompt.max_tokens)
    items, _ = await evidence_items(context, state["found"])
    shown = packed(context, "grade", question, items, budget)
    if not shown.blocks:
        raise UnusableReply("the evidence of the answer cannot be read any more")
    evidence = evidence_marks(context.run).wrap([block.text for block in shown.blocks])
    return prompt.render(question=question, answer=answer, evidence=evidence)


def _written_by_a_model(state: ToGrade, context: Context) -> bool:
    """What the reader took from a passage would be taken again."""
    return state["draft"]["model"] is not None and context.models.serves("answer")


def _said(grade: AnswerGrade, *, again: bool) -> str:
    said = {
        "yes": "A model holds the answer to be right.",
        "no": "A model holds the answer to be wrong.",
        "not graded": "The answer was not graded.",
    }[grade]
    return f"{said} Asking for a stricter one." if again else said


def _why(grade: AnswerGrade, *, again: bool, earlier: int) -> str:
    if again:
        return "the answer was refused once"
    if grade != "no":
        return "nothing speaks against the answer"
    return "it has been written again already" if earlier else "no model wrote it"
