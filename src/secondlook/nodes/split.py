"""Splits a question that needs several facts: as the understander reads it, or by a chat model
where it knows no parts. Then each part is asked in turn."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.combine import cited_by, pooled
from secondlook.nodes.context import Context
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
    Readings,
    Trace,
    step,
    trouble,
)
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK
from secondlook.roles.wants import MOST_PARTS, Combining, Split, filled, wanted, wrong_parts

_LONGEST_SHORT: Final = 12  # words of an answer that may stand in a later question


class Divided(Parts, Trace):
    route: str


class ToSplit(Question, Readings):
    pass


async def split(state: ToSplit, runtime: Runtime[Context]) -> Divided:
    context, question = runtime.context, state["question"]
    # Every part needs a passage of its own among those an answer may rest on.
    most = min(MOST_PARTS, context.settings.answer.k)
    warnings: list[dict[str, Any]] = []
    want = await asyncio.to_thread(wanted, question)
    by, made = "the understander", want.split
    # Parts that are asked one by one could each take an unclear word for somebody else.
    first = context.settings.corrective.enable_readings and "assumed" not in state
    unclear = await asyncio.to_thread(unresolved, question) if first else None
    if made is not None and unclear is not None:
        made, by = None, "nobody: who or what is meant comes first"
    elif made is None or len(made.parts) > most:
        made = None
        if most > 1 and want.kind in {"several", "parts"} and context.models.serves("plan"):
            try:
                made = await planned(context, question, most)
            except (ModelError, BudgetExceeded) as error:
                warnings = [trouble("split", error, "the question was asked as a whole")]
        by = "a model" if made else "nobody"
    parts = made.parts if made else ()
    route = ("ask_part", f"it needs {len(parts)} facts") if made else ("retrieve", "one fact")
    numbers = {"parts": len(parts), **({"combining": made.combining} if made else {}), "by": by}
    said = f"Split in {len(parts)}: {' '.join(parts)}" if made else "Asked as a whole."
    return {
        "parts": [PartData(question=part, asked=None, draft=None) for part in parts],
        "combining": made.combining if made else "",
        "route": route[0],
        "steps": [step("split", said, numbers, route=route)],
        "warnings": warnings,
    }


# The next part: its own search, reading and answer. What it finds joins the evidence; where it has
# no answer, the whole question goes the ordinary way.


class Dividing(Asked, Parts):
    pass


class PartAsked(Evidence, Parts, Trace):
    route: str


async def ask_part(state: Dividing, runtime: Runtime[Context]) -> PartAsked:
    context, parts = runtime.context, state["parts"]
    k = context.settings.answer.k
    at = next(at for at, part in enumerate(parts) if part["draft"] is None)
    shorts = [part["draft"]["short"] if part["draft"] else None for part in parts[:at]]
    asked = filled(parts[at]["question"], [short or "" for short in shorts])
    own: Asked = {"question": asked, "scope": state["scope"], "queries": [asked], "found": []}
    own["found"] = (await retrieve(own, runtime))["found"]
    read = await rerank(own, runtime)
    found = read["found"]
    # One passage is left for each part after it, so that all of them together are not more than an
    # answer may rest on.
    used = len(cited_by([part["draft"] for part in parts]))
    room = max(1, k - used - (len(parts) - at - 1))
    draft, warnings = await _answered(asked, found, room, context)
    last, alone = at + 1 == len(parts), state["combining"] == "each"
    why = _failure(draft, context, last=last or alone)
    if why and alone:  # the other parts need no answer of this one
        draft = withheld("low_confidence", reasons=[why])
        why = None
    parts = [*parts[:at], {**parts[at], "asked": asked, "draft": draft}, *parts[at + 1 :]]
    route = "retrieve" if why else "combine" if last else "ask_part"
    told = step(
        "ask_part",
        f"{asked} {draft['short'] if draft['sentences'] else 'no answer'}",
        route=(route, why or ("it has an answer" if draft["sentences"] else "it has none")),
        part=at + 1,
        query=asked,
        found=len(found),
        confidence=draft["confidence"],
    )
    return {
        "parts": [] if why else parts,
        "combining": "" if why else state["combining"],
        "found": pooled(state["found"], found, [part["draft"] for part in parts], k=k),
        "route": route,
        "steps": [told],
        "warnings": [*read["warnings"], *warnings],
    }


async def _answered(
    asked: str, found: Sequence[Found], room: int, context: Context
) -> tuple[DraftData, list[dict[str, Any]]]:
    if not ranking.kept(found):
        return withheld("no_evidence", reasons=["nothing was found"]), []
    if not context.models.serves("answer"):
        return await extract(context, asked, found), []
    from secondlook.nodes.answer import written

    names = {item["id"] for item in ranking.kept(found)[:room]}
    shown: list[Found] = [{**item, "kept": item["id"] in names} for item in found]
    try:
        # Nothing of a part is streamed before the whole is known.
        made = await written(context, asked, shown, lambda _: None)
    except (ModelError, BudgetExceeded) as error:
        consequence = "the reader's own answer was given to this part instead"
        return await extract(context, asked, found), [trouble("ask_part", error, consequence)]
    return made.draft, []


def _failure(draft: DraftData, context: Context, *, last: bool) -> str | None:
    """Why the question cannot be answered in parts; None where this one can."""
    confidence, short = draft["confidence"], draft["short"]
    if not draft["sentences"]:
        return f"this part has no answer: {'; '.join(draft['reasons']) or draft['stop']}"
    if short is None:
        return "the answer to this part has no short form"
    if not last and len(short.split()) > _LONGEST_SHORT:
        return "the answer to this part is too long to ask on with"
    read = None if draft["method"] != "extractive" else confidence
    if read is not None and read < context.calibration.min_answer:
        return f"the answer to this part is not sure enough ({read:.2f})"
    return None


# The parts by a model: asked only where the understander suspects several facts and knows no parts.
# What it replies is checked; nothing that fails a check is used.


class Plan(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")

    questions: list[str] = Field(description="In the order they are to be asked; one: no split.")
    combine: Combining = Field(description="How their answers give the answer.")


async def planned(context: Context, question: str, most: int) -> Split | None:
    """The parts; None where the model says that there is one question. Raises ModelError or
    BudgetExceeded, also where its plan cannot be used."""
    prompt = load("split")
    reply = await context.models.ask(
        "plan",
        prompt.render(question=" ".join(question.split()), most=str(most)),
        Plan,
        node="split",
        max_tokens=prompt.max_tokens,
    )
    plan = reply.value
    if plan is None or len(plan.questions) <= 1:
        return None
    texts = [part.strip().strip("\"'").strip() for part in plan.questions]
    parts = tuple(text if text[-1:] in {"", "?"} else f"{text.rstrip('.')}?" for text in texts)
    made = Split(parts, plan.combine)
    wrong = wrong_parts(made, question, most=most)
    if any(CONTROL_MARK.search(part) or EVIDENCE_MARK.search(part) for part in parts):
        wrong = "a question carries marks"
    if wrong:
        raise UnusableReply(f"{context.models.name('plan')} made no usable plan: {wrong}")
    return made
