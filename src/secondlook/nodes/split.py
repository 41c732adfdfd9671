"""Splits a question that needs several facts: by its form, or by a model where only a model can
tell. A plain question costs nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.combine import cited_by, pooled
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.state import (
    Asked,
    DraftData,
    Evidence,
    Found,
    PartData,
    Parts,
    Question,
    Trace,
    step,
    trouble,
)
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK
from secondlook.roles.split import (
    HOLE,
    Combining,
    Split,
    filled,
    needs_more,
    split_by_form,
    value_parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_By = Literal["form", "a model", "nobody"]


class Divided(Parts, Trace):
    route: str


async def split(state: Question, runtime: Runtime[Context]) -> Divided:
    context, question = runtime.context, state["question"]
    warnings: list[dict[str, Any]] = []
    by: _By = "form"
    made = _allowed(split_by_form(question), context)
    if made is None:
        made, warnings = await _by_model(context, question)
        by = "a model" if made else "nobody"
    if made is None:
        told = step("split", "Asked as a whole.", route=("retrieve", "one fact"), parts=0, by=by)
        return _divided(None, "retrieve", told, warnings)
    said = f"Split in {len(made.parts)}: {' '.join(made.parts)}"
    why = f"it needs {len(made.parts)} facts"
    numbers = {"parts": len(made.parts), "combining": made.combining, "by": by}
    told = step("split", said, numbers, route=("ask_part", why))
    return _divided(made, "ask_part", told, warnings)


def _allowed(made: Split | None, context: Context) -> Split | None:
    """Every part needs a passage of its own among those an answer may rest on."""
    most = min(MAX_PARTS, context.settings.answer.k)
    return made if made and len(made.parts) <= most else None


async def _by_model(context: Context, question: str) -> tuple[Split | None, list[dict[str, Any]]]:
    if context.settings.answer.k < 2 or not needs_more(question):  # noqa: PLR2004
        return None, []
    if not context.models.serves("plan"):
        return None, []

    try:
        return await planned(context, question), []
    except (ModelError, BudgetExceeded) as error:
        return None, [trouble("split", error, "the question was asked as a whole")]


def _divided(
    made: Split | None, route: str, told: dict[str, Any], warnings: list[dict[str, Any]]
) -> Divided:
    parts = [PartData(question=part, asked=None, draft=None) for part in made.parts] if made else []
    return {
        "parts": parts,
        "combining": made.combining if made else "",
        "route": route,
        "steps": [told],
        "warnings": warnings,
    }


# Asks the next part of a split question: its own search, reading and answer. What it finds
# joins the evidence; where it has no answer, the whole question goes the ordinary way.

MAX_PARTS: Final = 4
_LONGEST_SHORT: Final = 12
"""Words of an answer that may stand in a later question."""


class Dividing(Asked, Parts):
    pass


class PartAsked(Evidence, Parts, Trace):
    route: str


async def ask_part(state: Dividing, runtime: Runtime[Context]) -> PartAsked:
    parts = state["parts"]
    at = next(at for at, part in enumerate(parts) if part["draft"] is None)
    asked = filled(parts[at]["question"], [_short(part) for part in parts[:at]])
    found, warnings = await _searched(state, asked, runtime)
    draft, more = await _answered(asked, found, _room(parts, at, runtime.context), runtime.context)
    done: PartData = {**parts[at], "asked": asked, "draft": draft}
    parts = [*parts[:at], done, *parts[at + 1 :]]
    drafts = [part["draft"] for part in parts]
    k = runtime.context.settings.answer.k
    pool = pooled(state["found"], found, drafts, k=k)
    why = _failure(draft, runtime.context, last=at + 1 == len(parts))
    route = "retrieve" if why else "combine" if at + 1 == len(parts) else "ask_part"
    came = draft["short"] if draft["sentences"] else "no answer"
    told = step(
        "ask_part",
        f"{done['asked']} {came}",
        route=((route, why or "it has an answer")),
        part=(at + 1),
        query=done["asked"],
        found=len(found),
        confidence=draft["confidence"],
    )
    return {
        "parts": [] if why else parts,
        "combining": "" if why else state["combining"],
        "found": pool,
        "route": route,
        "steps": [told],
        "warnings": [*warnings, *more],
    }


async def _searched(
    state: Dividing, asked: str, runtime: Runtime[Context]
) -> tuple[list[Found], list[dict[str, Any]]]:
    own: Asked = {
        "question": asked,
        "scope": state["scope"],
        "queries": [asked],
        "found": [],
    }
    found = (await retrieve(own, runtime))["found"]
    read = await rerank({**own, "found": found}, runtime)
    return read["found"], read["warnings"]


def _room(parts: Sequence[PartData], at: int, context: Context) -> int:
    """Passages that a part may cite: one is left for each part after it, so that all of them
    together are not more than an answer may rest on."""
    used = len(cited_by([part["draft"] for part in parts]))
    return max(1, context.settings.answer.k - used - (len(parts) - at - 1))


async def _answered(
    asked: str, found: Sequence[Found], room: int, context: Context
) -> tuple[DraftData, list[dict[str, Any]]]:
    if not ranking.kept(found):
        return withheld("no_evidence", reasons=["nothing was found"]), []
    if not context.models.serves("answer"):
        return await extract(context, asked, found), []
    from secondlook.nodes.answer import written

    try:
        names = {item["id"] for item in ranking.kept(found)[:room]}
        made = await written(
            context, asked, [{**item, "kept": item["id"] in names} for item in found], _unheard
        )
    except (ModelError, BudgetExceeded) as error:
        consequence = "the reader's own answer was given to this part instead"
        return await extract(context, asked, found), [trouble("ask_part", error, consequence)]
    return made.draft, []


def _unheard(_: object) -> None:
    """Nothing of a part is shown before the whole is known."""


def _failure(draft: DraftData, context: Context, *, last: bool) -> str | None:
    """Why the question cannot be answered in parts; None where this one can."""
    if not draft["sentences"]:
        return f"this part has no answer: {'; '.join(draft['reasons']) or draft['stop']}"
    if draft["short"] is None:
        return "the answer to this part has no short form"
    if not last and len(draft["short"].split()) > _LONGEST_SHORT:
        return "the answer to this part is too long to ask on with"
    if draft["method"] == "extractive" and _unsure(draft["confidence"], context):
        return f"the answer to this part is not sure enough ({draft['confidence']:.2f})"
    return None


def _unsure(confidence: float | None, context: Context) -> bool:
    return confidence is not None and confidence < context.calibration.min_answer


def _short(part: PartData) -> str:
    draft = part["draft"]
    return (draft["short"] if draft else None) or ""


# The parts of a question by a model: asked only where code suspects several facts and knows no
# form for them. What it replies is checked; nothing that fails a check is used.

NODE: Final = "split"
_BRACE = re.compile(r"[{}]")
_LONGEST: Final = 300
_NEW: Final = 3
"""Words that a part may add of its own, such as "when" said otherwise."""
_COMPUTED: Final = frozenset(get_args(Combining)) - {"last"}
_OF_TWO: Final = frozenset({"years", "difference"})


class Plan(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")

    questions: list[str] = Field(description="In the order they are to be asked; one: no split.")
    combine: Combining = Field(description="How their answers give the answer.")


async def planned(context: Context, question: str) -> Split | None:
    """The parts; None where the model says that there is one question. Raises ModelError or
    BudgetExceeded, also where its plan cannot be used."""
    prompt = load(NODE)
    # Every part rests on a passage of its own.
    most = min(MAX_PARTS, context.settings.answer.k)
    reply = await context.models.ask(
        "plan",
        prompt.render(question=" ".join(question.split()), most=str(most)),
        Plan,
        node=NODE,
        max_tokens=prompt.max_tokens,
    )
    plan = reply.value
    if plan is None or len(plan.questions) <= 1:
        return None
    made = checked(plan, question, most=most)
    if isinstance(made, str):
        raise UnusableReply(f"{context.models.name('plan')} made no usable plan: {made}")
    return made


def checked(plan: Plan, question: str, *, most: int) -> Split | str:
    """The plan as parts, or what is wrong with it."""
    parts = tuple(_tidy(part) for part in plan.questions)
    wrong = (
        _wrong_number(parts, most)
        or next(filter(None, (_wrong_text(part) for part in parts)), None)
        or _wrong_holes(parts)
        or _wrong_words(parts, question)
        or _wrong_combining(parts, plan.combine)
    )
    return wrong or Split(parts, plan.combine)


def _tidy(part: str) -> str:
    text = part.strip().strip("\"'").strip()
    return text if not text or text.endswith("?") else f"{text.rstrip('.')}?"


def _wrong_number(parts: Sequence[str], most: int) -> str | None:
    if not 1 < len(parts) <= most:
        return f"{len(parts)} questions, not from 2 to {most}"
    # With the holes, which make one question another.
    said = [
        frozenset([*terms(part), *(f"hole {number}" for number in HOLE.findall(part))])
        for part in parts
    ]
    return "a question is repeated" if len(set(said)) < len(said) else None


def _wrong_text(part: str) -> str | None:
    if not part or len(part) > _LONGEST or "\n" in part:
        return "a question is empty or too long"
    if CONTROL_MARK.search(part) or EVIDENCE_MARK.search(part):
        return "a question carries marks"
    return None


def _wrong_holes(parts: Sequence[str]) -> str | None:
    for at, part in enumerate(parts):
        if any(not 0 < int(number) <= at for number in HOLE.findall(part)):
            return "a question needs an answer that does not come before it"
        if _BRACE.search(HOLE.sub("", part)):
            return "a question has a brace that is no hole"
    return None


def _wrong_words(parts: Sequence[str], question: str) -> str | None:
    """Each part is of the question's own words, and together they keep most of them."""
    asked = set(query_terms(question))
    known = asked | set(terms(question))
    together: set[str] = set()
    for part in parts:
        own = set(query_terms(HOLE.sub(" ", part)))
        if not own & asked or len(own - known) > _NEW:
            return "a question is about something else"
        together |= own
    return "the questions lose what was asked" if 2 * len(together & asked) < len(asked) else None


def _wrong_combining(parts: Sequence[str], combining: Combining) -> str | None:
    if combining == "last" and not HOLE.search(parts[-1]):
        return "the last question needs no answer before it"
    if combining in _OF_TWO and _of_values(parts) != 2:  # noqa: PLR2004
        return f"{combining} is of two values"
    if combining in _COMPUTED and _of_values(parts) < 2:  # noqa: PLR2004
        return f"{combining} needs several values"
    return None


def _of_values(parts: Sequence[str]) -> int:
    return len(value_parts(parts))
