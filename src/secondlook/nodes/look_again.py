"""Looks at what came back. Where one kind of evidence holds no answer and the other may, that one
is tried, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.considering.deciding import ANALYST, SUMMARY, kind_of
from secondlook.nodes.considering.documents import from_documents
from secondlook.nodes.considering.signs import signs_of
from secondlook.nodes.multiple_choice import parsed
from secondlook.nodes.ranking import texts
from secondlook.reading.languages import foreign
from secondlook.state import CallData, Calls, Question, Trace, next_call, step

if TYPE_CHECKING:
    from secondlook.answer import StopReason

MOST_CALLS: Final = 2
PLAIN: Final = "linear"
"""The workflow that grades nothing."""
_NOT_THERE: Final[frozenset[StopReason]] = frozenset(
    {"no_evidence", "low_confidence", "attempts_exhausted", "no_progress", "cannot_proceed"}
)
"""Ends that say something about the evidence. What was unclear or ran out of time stays so."""


class ToLookAgain(Question, Calls):
    pass


class LookedAgain(Trace):
    calls: list[CallData]


async def look_again(state: ToLookAgain, runtime: Runtime[Context]) -> LookedAgain:
    if (pending := next_call(state)) is not None:
        return _to(state, pending, "On to the other part.", "a part is left")
    if not _worth_another(state, runtime.context):
        return _done(state)
    first = state["calls"][0]
    why = "no document answers" if first["kind"] == "documents" else "no table answers"
    if first["kind"] == "documents" and (language := await _other_language(runtime.context, state)):
        # Whoever grades passages was not trained for it; one pass takes them as they are.
        other: CallData | None = _call(first, PLAIN)
        why = f"no grader here knows {language}"
    else:
        other = await _other(runtime.context, state, first)
    if other is None:
        return _done(state)
    said = f"{why[:1].upper()}{why[1:]}, so Secondlook tried {other['workflow']}."
    return _to({**state, "calls": [*state["calls"], other]}, other, said, why)


def _worth_another(state: ToLookAgain, context: Context) -> bool:
    if not context.settings.auto.enable_second_try or state["both"]:
        return False
    first = state["calls"][0]
    if len(state["calls"]) >= MOST_CALLS or first["workflow"] == SUMMARY or context.tables_given:
        return False
    answer = state["answers"][-1]
    withheld = answer["status"] == "abstained" and answer["stop_reason"] in _NOT_THERE
    wanted = withheld and not parsed(state["question"]).choices
    return wanted and not context.ledger.must_end("look_again")


async def _other(context: Context, state: ToLookAgain, first: CallData) -> CallData | None:
    """The call of the other kind; None where there is nothing of that kind to ask."""
    question = state["question"]
    if first["kind"] == "documents":
        return _call(first, ANALYST) if await _tables_may_answer(context, question) else None
    if not context.shelf.size()[1]:
        return None
    return _call(first, from_documents(question, context.settings.auto)[0])


async def _other_language(context: Context, state: ToLookAgain) -> str | None:
    """The language of question or best passage, where the reader was not trained for it."""
    seen = [one["id"] for one in state["answers"][-1]["passages"] if one["origin"] == "library"]
    if state["calls"][0]["workflow"] == PLAIN or not seen:
        return None
    try:
        held = await texts(context, seen[:1])
    except Exception:  # noqa: BLE001 - the answer that is there matters more than another try
        return None
    languages = context.shelf.reader_languages
    found = [foreign(state["question"], one.text, languages) for one in held.values()]
    return next((one.language for one in found if one is not None), None)


async def _tables_may_answer(context: Context, question: str) -> bool:
    return (await signs_of(context, question, thorough=True)).named


def _call(first: CallData, workflow: str) -> CallData:
    why = "the first try found no answer"
    return {**first, "workflow": workflow, "kind": kind_of(workflow), "why": why}


def _to(state: ToLookAgain, following: CallData, said: str, why: str) -> LookedAgain:
    told = step("look_again", said, route=(following["workflow"], why))
    return {"calls": state["calls"], "steps": [told], "warnings": []}


def _done(state: ToLookAgain) -> LookedAgain:
    answers: list[dict[str, Any]] = state["answers"]
    said = "Every part was asked." if len(answers) > 1 and state["both"] else "This is the answer."
    told = step("look_again", said, route=("finish", "nothing is left to try"))
    return {"calls": state["calls"], "steps": [told], "warnings": []}
