"""Asks the next part of a split question: its own search, reading and answer. What it finds joins
the evidence; where it has no answer, the whole question goes the ordinary way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes import ranking
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.parts.filling import filled
from secondlook.nodes.parts.pooling import cited_by, pooled
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import retrieve
from secondlook.state import Asked, DraftData, Evidence, Found, Parts, Trace, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import PartData

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
    told = _told(at + 1, done, draft, found, route=(route, why or "it has an answer"))
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
    from secondlook.nodes.write import write  # prompts and all: not needed without a model

    try:
        draft, _ = await write(context, asked, _narrowed(found, room), _unheard)
    except (ModelError, BudgetExceeded) as error:
        consequence = "the reader's own answer was given to this part instead"
        return await extract(context, asked, found), [trouble("ask_part", error, consequence)]
    return draft, []


def _unheard(_: object) -> None:
    """Nothing of a part is shown before the whole is known."""


def _narrowed(found: Sequence[Found], room: int) -> list[Found]:
    names = {item["id"] for item in ranking.kept(found)[:room]}
    return [{**item, "kept": item["id"] in names} for item in found]


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
    chosen = context.settings.answer.min_confidence
    limit = chosen if chosen >= 0 else context.calibration.min_answer
    return confidence is not None and confidence < limit


def _short(part: PartData) -> str:
    draft = part["draft"]
    return (draft["short"] if draft else None) or ""


def _told(
    number: int,
    done: PartData,
    draft: DraftData,
    found: Sequence[Found],
    *,
    route: tuple[str, str],
) -> dict[str, Any]:
    came = draft["short"] if draft["sentences"] else "no answer"
    return step(
        "ask_part",
        f"{done['asked']} {came}",
        route=route,
        part=number,
        query=done["asked"],
        found=len(found),
        confidence=draft["confidence"],
    )
