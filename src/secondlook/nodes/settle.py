"""Chooses the best of all drafts, cuts what does not stand, and says what the run came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.checking.attempts import rewrites
from secondlook.nodes.checking.refusal import AnswerGrades
from secondlook.nodes.claims import cut_note, standing
from secondlook.nodes.extract import withheld
from secondlook.nodes.overlooked import read_instead
from secondlook.state import Asked, Draft, Drafts, JudgedDraft, Readings, Settled, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import StopReason
    from secondlook.state import DraftData

_UNANSWERED: frozenset[StopReason] = frozenset({"no_evidence", "low_confidence"})
_NOT_USEFUL = "(It may not be what was asked: look at the evidence yourself.)"


class ToSettle(Asked, Drafts, Draft, AnswerGrades, Readings):
    """Every draft, and the one that no check has seen."""


class Chosen(Settled, Draft, Trace):
    pass


async def settle(state: ToSettle, runtime: Runtime[Context]) -> Chosen:
    context = runtime.context
    drafts = candidates(state.get("drafts", []), state.get("draft"))
    best = _last(drafts) if state.get("answer_grades") else best_of(drafts)
    draft = withheld("no_evidence", reasons=["nothing that was found is about the question"])
    if best is not None:
        draft = cut(best) if context.settings.answer.unsupported == "cut" else best["draft"]
    if own := await read_instead(context, state["question"], state["found"], draft):
        best, draft = _unjudged(own), own
    made = rewrites(state["queries"], state.get("assumed"))
    stop = _stop(best, draft, rewrites=made, most=context.settings.corrective.max_rewrites)
    draft = _noted({**draft, "stop": stop}, best)
    review = stop in {"attempts_exhausted", "no_progress"} or _is_ungrounded(best)
    told = step(
        "settle",
        _said(best, len(drafts)),
        drafts=len(drafts),
        rewrites=made,
        needs_review=review,
        stop=stop,
    )
    return {
        "draft": draft,
        "settled": best,
        "needs_review": review,
        "steps": [told],
        "warnings": [],
    }


def candidates(drafts: Sequence[JudgedDraft], last: DraftData | None) -> list[JudgedDraft]:
    """All that was judged, and the last one where no check has seen it."""
    if last is None or any(judged["draft"] == last for judged in drafts):
        return list(drafts)
    return [*drafts, _unjudged(last)]


def _unjudged(draft: DraftData) -> JudgedDraft:
    return JudgedDraft(draft=draft, grounded=None, is_grounded=None, useful=None, is_useful=None)


def best_of(drafts: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """The one that stands best; of equals the latest, which has seen the most evidence."""
    return max(reversed(drafts), key=_worth, default=None)


def _last(drafts: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """A model has refused what was given before: whatever it was worth, it is not given again."""
    return drafts[-1] if drafts else None


def _worth(judged: JudgedDraft) -> tuple[Any, ...]:
    draft = judged["draft"]
    return (
        bool(standing(draft["sentences"])),
        judged["is_useful"] is not False,
        judged["is_grounded"] is not False,
        judged["grounded"] or 0.0,
        draft["confidence"] or 0.0,
    )


def cut(judged: JudgedDraft) -> DraftData:
    """The draft without what its evidence does not carry."""
    draft = judged["draft"]
    left = standing(draft["sentences"])
    lost = len(draft["sentences"]) - len(left)
    if not lost:
        return draft
    if not left:
        reason = "the evidence supports no sentence that the model wrote"
        return withheld("no_evidence", reasons=[reason], model=draft["model"])
    return {**draft, "sentences": left, "note": draft["note"] or cut_note(lost)}


def _stop(best: JudgedDraft | None, draft: DraftData, *, rewrites: int, most: int) -> StopReason:
    """Why the run ended: a search that went on without an answer says so."""
    failed = not draft["sentences"] and draft["stop"] in _UNANSWERED
    useless = best is not None and bool(draft["sentences"]) and best["is_useful"] is False
    if (failed and rewrites) or useless:
        return "attempts_exhausted" if rewrites >= most else "no_progress"
    return draft["stop"]


def _noted(draft: DraftData, best: JudgedDraft | None) -> DraftData:
    if best is None or best["is_useful"] is not False or not draft["sentences"]:
        return draft
    return {**draft, "note": draft["note"] or _NOT_USEFUL}


def _is_ungrounded(best: JudgedDraft | None) -> bool:
    return best is not None and best["is_grounded"] is False


def _said(best: JudgedDraft | None, drafts: int) -> str:
    if best is None or not best["draft"]["sentences"]:
        return "No draft is worth giving."
    return "The draft stands." if drafts <= 1 else f"The best of {drafts} drafts is given."
