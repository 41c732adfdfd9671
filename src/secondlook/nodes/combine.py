"""Puts the answers of the parts together. Arithmetic, dates and comparisons are done by code from
cited values; no model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.nodes.extract import withheld
from secondlook.nodes.parts.combining import combined
from secondlook.nodes.parts.pooling import cited_by
from secondlook.nodes.risk import dial
from secondlook.state import Draft, DraftData, Parts, Trace, step

if TYPE_CHECKING:
    from secondlook.nodes.parts.splitting import Combining


class Combined(Draft, Parts, Trace):
    route: str


async def combine(state: Parts, runtime: Runtime[Context]) -> Combined:
    context, parts = runtime.context, state["parts"]
    held = await ranking.texts(context, cited_by([part["draft"] for part in parts]))
    way = cast("Combining", state["combining"])
    draft = combined(parts, way, held)
    why = _objection(context, draft)
    if draft is None or why:
        return _gave_up(state, why or "the answers of the parts give none")
    for sentence in draft["sentences"]:
        runtime.stream_writer({"token": f"{sentence['text']} "})
    said = f"Put {len(parts)} parts together: {draft['short']}"
    told = step(
        "combine",
        said,
        route=("settle", "every part has an answer"),
        parts=len(parts),
        combining=way,
        computed=draft["method"] == "computed",
        confidence=draft["confidence"],
    )
    return {**_kept(state), "draft": draft, "route": "settle", "steps": [told], "warnings": []}


def _objection(context: Context, draft: DraftData | None) -> str | None:
    allowed = dial(context)
    return allowed.objection(draft["confidence"]) if allowed and draft else None


def _kept(state: Parts) -> Parts:
    return {"parts": state["parts"], "combining": state["combining"]}


def _gave_up(state: Parts, why: str) -> Combined:
    """The whole question goes the ordinary way; the parts are no part of its answer."""
    told = step(
        "combine",
        f"Asked as a whole instead: {why}.",
        route=("retrieve", why),
        parts=len(state["parts"]),
        combining=state["combining"],
        computed=False,
    )
    return {
        "parts": [],
        "combining": "",
        "draft": withheld("no_evidence", reasons=[why]),
        "route": "retrieve",
        "steps": [told],
        "warnings": [],
    }
