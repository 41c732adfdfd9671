"""Makes one answer of the steps of a research: every finding that stands, checked once more, or an
honest account of what was tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.nodes.checking.grounded import grounded
from secondlook.nodes.claims import cut_note
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.researching.shown import PART, failed, standing, titles
from secondlook.nodes.synthesise import cut
from secondlook.state import Draft, DraftData, Found, Researched, StepData, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import StopReason
    from secondlook.state import Sentence

_NODE = "aggregate"
_MOST_QUOTED = 200
"""Characters of a question that an account of failures repeats."""


class Aggregated(Draft, Trace):
    pass


async def aggregate(state: Researched, runtime: Runtime[Context]) -> Aggregated:
    context, plan = runtime.context, state["plan"]
    done = standing(plan)
    warnings: list[dict[str, Any]] = []
    if not done:
        draft = _nothing(context, state)
    elif any(map(_is_written, done)):
        draft, warnings = await _checked(context, state["question"], together(done))
    else:
        draft = await _read_out(context, state, done)
    draft = {**draft, "note": draft["note"] or _unanswered(plan, draft)}
    if draft["sentences"] and (refusal := context.ledger.refusal):
        draft = {**draft, "stop": refusal.reason}
    said = f"{len(done)} of {len(plan)} steps make up the answer." if done else "Every step failed."
    told = step(
        _NODE,
        said,
        steps=len(plan),
        standing=len(done),
        sentences=len(draft["sentences"]),
        confidence=draft["confidence"],
        stopped=state.get("stopped", ""),
    )
    return {"draft": draft, "steps": [told], "warnings": warnings}


def findings(plan: Sequence[StepData]) -> list[Sentence]:
    """The sentences of the steps that stand, in order, each once."""
    every = [one for done in standing(plan) if done["draft"] for one in done["draft"]["sentences"]]
    first: dict[str, Sentence] = {}
    for one in every:
        first.setdefault(one["text"], one)
    return list(first.values())


def mean_confidence(done: Sequence[StepData]) -> float | None:
    known = [one["confidence"] for one in done if one["confidence"] is not None]
    return round(sum(known) / len(known), 4) if known else None


def _all_right(done: Sequence[StepData]) -> float | None:
    """How likely every part has its right answer; None where that is not known of one."""
    known = [one["draft"]["confidence"] if one["draft"] else None for one in done]
    sure = [value for value in known if value is not None]
    return round(math.prod(sure), 4) if len(sure) == len(done) else None


def _is_written(done: StepData) -> bool:
    return done["draft"] is not None and done["draft"]["method"] == "generative"


def together(done: Sequence[StepData]) -> DraftData:
    drafts = [one["draft"] for one in done if one["draft"] is not None]
    lost = sum(len(one["complaints"]) for one in done)
    return DraftData(
        method="generative" if any(map(_is_written, done)) else "extractive",
        model=next((draft["model"] for draft in drafts if draft["model"]), None),
        sentences=findings(done),
        short=drafts[0]["short"] if len(done) == 1 else None,
        stop="answered",
        confidence=mean_confidence(done),
        reasons=[_reason(one) for one in done],
        note=cut_note(lost) if lost else _caveat(done),
    )


def _reason(one: StepData) -> str:
    sure = "" if one["confidence"] is None else f" ({one['confidence']:.2f})"
    return f"step {one['id']}, {one['phase']}: {one['status']}{sure}"


def _caveat(done: Sequence[StepData]) -> str | None:
    weak = [str(one["id"]) for one in done if one["status"] == "weak"]
    if not weak:
        return None
    which = f"Step {weak[0]} stands" if len(weak) == 1 else f"Steps {', '.join(weak)} stand"
    return f"({which} on weak evidence: look at it yourself.)"


async def _checked(
    context: Context, question: str, draft: DraftData
) -> tuple[DraftData, list[dict[str, Any]]]:
    """The whole passes the check that each step has passed."""
    if not context.settings.research.enable_grounded_check:
        return draft, []
    checked = await grounded(context, question, draft, ())
    made = cut(checked.draft, draft)
    return {**made, "note": made["note"] or draft["note"]}, checked.warnings


def _unanswered(plan: Sequence[StepData], draft: DraftData) -> str | None:
    """The parts of the question that nothing was found out about."""
    lost = [_short(one["question"]) for one in failed(plan) if one["phase"] == PART]
    return f"(Not found out: {' '.join(lost)})" if lost and draft["sentences"] else None


async def _read_out(context: Context, state: Researched, done: Sequence[StepData]) -> DraftData:
    """Without a model: the reader's answer to the question itself, from all that was found, and
    then what each step found. Without such an answer nothing is claimed, unless the steps were
    the parts of the question."""
    if all(one["phase"] == PART for one in done):
        return {**together(done), "confidence": _all_right(done)}
    kept = ranking.kept(state["found"])
    if len(done) > 1:
        kept = await _read_for(context, state["question"], kept)
    whole = await extract(context, state["question"], kept)
    if not whole["sentences"]:
        return whole
    quotes = [one for one in findings(done) if one["text"] != whole["sentences"][0]["text"]]
    return {**whole, "sentences": [*whole["sentences"], *quotes]}


async def _read_for(context: Context, question: str, kept: list[Found]) -> list[Found]:
    """Each step read its passages for its own question."""
    try:
        return await ranking.read(context, question, kept)
    except Exception:  # noqa: BLE001 - what the steps read is worth something too
        return kept


def _nothing(context: Context, state: Researched) -> DraftData:
    """No synthesis is given as an answer where every step failed."""
    plan = state["plan"]
    tried = "; ".join(_attempt(number, one, state) for number, one in enumerate(plan, 1))
    return {
        **withheld(_stop(context, state), confidence=None, reasons=[_all_failed(plan)]),
        "note": f"{_all_failed(plan)}. Tried: {tried}.",
    }


def _all_failed(plan: Sequence[StepData]) -> str:
    few = {1: "The only step failed", 2: "Both steps failed"}
    return few.get(len(plan), f"All {len(plan)} steps failed")


def _attempt(number: int, one: StepData, state: Researched) -> str:
    nearest = ", ".join(f'"{title}"' for title in titles(state["found"], one))
    return f"({number}) {_short(one['question'])}" + (f" Nearest: {nearest}" if nearest else "")


def _short(question: str) -> str:
    plain = " ".join(question.split())
    return plain if len(plain) <= _MOST_QUOTED else f"{plain[: _MOST_QUOTED - 3]}..."


def _stop(context: Context, state: Researched) -> StopReason:
    plan = state["plan"]
    if not any(record["kept"] for one in plan for record in one["evidence"]):
        return "no_evidence"
    if len(plan) >= context.settings.research.max_cycles > 1:
        return "attempts_exhausted"
    return "no_progress" if len(plan) > 1 else "low_confidence"
