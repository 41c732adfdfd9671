"""Puts the answer together. Whatever happened before, there is one afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook import __version__
from secondlook.answer import (
    Answer,
    Check,
    Claim,
    Confidence,
    Scalar,
    SeenPassage,
    Status,
    StopReason,
    Trouble,
)
from secondlook.nodes import ranking
from secondlook.nodes.cite import cite, cut_note
from secondlook.nodes.combine import answer_parts
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.limits import rewrites
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    Drafts,
    Finishing,
    Found,
    Grade,
    Outcome,
    Parts,
    Readings,
    Settled,
    Trace,
    step,
)
from secondlook.roles.screen import is_stopped, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.state import DraftData, JudgedDraft

FAILED: frozenset[StopReason] = frozenset(
    {"budget", "deadline", "cancelled", "cannot_proceed", "model_unavailable", "error"}
)
_NEAREST = 3
_GRADES: dict[Grade, Literal["relevant", "irrelevant", "not graded"]] = {
    "answers": "relevant",
    "about": "relevant",
    "irrelevant": "irrelevant",
    "not graded": "not graded",
}
WHY: dict[StopReason, str] = {
    "low_confidence": "no passage answers this well enough",
    "no_evidence": "nothing that was found holds the answer",
    "attempts_exhausted": "no passage answers this well enough",
    "no_progress": "no passage answers this well enough",
    "cannot_proceed": "the passages could not be read (secondlook doctor says why)",
    "model_unavailable": "a model is not available",
    "budget": "the budget ran out",
    "deadline": "the time ran out",
    "cancelled": "the run was stopped",
}


class Finished(Outcome, Trace):
    pass


async def finish(state: Finishing, runtime: Runtime[Context]) -> Finished:
    return finished(await assembled(state, runtime.context))


def finished(answer: Answer) -> Finished:
    numbers: dict[str, Scalar] = {"claims": len(answer.claims), "citations": len(answer.citations)}
    told = step("finish", _said(answer), numbers)
    return {"answer": answer.model_dump(mode="json"), "steps": [told], "warnings": []}


async def assembled(state: Finishing, context: Context) -> Answer:
    """The answer that a state amounts to; its steps and usage are put in by who watched the run."""
    found, draft = state["found"], state["draft"]
    citations, every = await cite(context, draft["sentences"], found)
    # Without those whose passages are gone since they were written down: nobody could check
    # them.
    both = zip(draft["sentences"], every, strict=True)
    claims = tuple(claim for sentence, claim in both if claim.citations or not sentence["cited"])
    if draft["sentences"] and not claims:
        draft = withheld("no_evidence", reasons=["the passages that it rested on are gone"])
    # Calibrated is what was fitted to answers that were right and wrong: the reader's own.
    # What a model writes has no such record.
    known = draft["confidence"] is not None and draft["model"] is None
    return Answer(
        run=context.run,
        question=context.question,
        asked=state["question"],
        workflow=context.workflow,
        method=draft["method"],
        model=draft["model"],
        text=_text(claims, draft, found),
        short=draft["short"],
        status=_status(draft, claims),
        stop_reason=draft["stop"],
        claims=claims,
        citations=citations,
        confidence=Confidence(
            value=draft["confidence"],
            label="calibrated" if known else "provisional",
            reasons=tuple(draft["reasons"]),
        ),
        grounded=grounded(claims),
        queries=tuple(state["queries"]),
        passages=tuple(seen(item, context) for item in found),
        attempts=len(state["queries"]),
        web_used=any(item["origin"] == "web" for item in ranking.kept(found)),
        warnings=once(
            [*state["warnings"], *_of_the_question(context), *_of_passages(context, found)]
        ),
        created=context.created,
        version=__version__,
    )


def note_of(draft: DraftData, claims: Sequence[Claim]) -> str | None:
    """What an answer of these claims must say about itself."""
    lost = len(draft["sentences"]) - len(claims)
    return draft["note"] or (cut_note(lost) if lost else None)


def _of_the_question(context: Context) -> list[dict[str, Any]]:
    """That the question reads like an order to a model. `research` refuses such a one, or is told
    not to look; elsewhere it is answered like any other, from evidence alone."""
    if context.workflow == "research":
        return []
    signals = look(context.question, channel="question")
    if not is_stopped(signals, channel="question"):
        return []
    told = Trouble(
        node="screen",
        error="Screened",
        message=f"the question gives orders to a model: {', '.join(signals.reasons)}",
        consequence="only what the evidence says was answered",
    )
    return [told.model_dump()]


def _of_passages(context: Context, found: Sequence[Found]) -> list[dict[str, Any]]:
    """That some give a model orders. They are not named here: a title can be an order too."""
    out = sum(map(is_quarantined, found))
    if not out or context.workflow == "research":  # which has a place of its own for it
        return []
    told = Trouble(
        node="quarantine",
        error="Quarantined",
        message=f"{out} of the passages that were found give a model orders",
        consequence="they were kept out of prompts; the steps say which, and why",
    )
    return [told.model_dump()]


def once(warnings: Sequence[dict[str, Any]]) -> tuple[Trouble, ...]:
    """A step that is visited again warns again; who reads the answer is told once."""
    return tuple(dict.fromkeys(Trouble.model_validate(item) for item in warnings))


def seen(item: Found, context: Context) -> SeenPassage:
    page = context.pages.get([item["id"]]).get(item["id"]) if item["origin"] == "web" else None
    return SeenPassage(
        id=item["id"],
        document=item["document"],
        title=item["title"],
        page=item["page"],
        start=item["start"],
        end=item["end"],
        score=item["score"],
        fusion_score=item["fusion_score"],
        dense_rank=item["dense_rank"],
        dense_score=item["dense_score"],
        lexical_rank=item["lexical_rank"],
        lexical_score=item["lexical_score"],
        rerank_score=item["relevance"],
        answer_score=item["answerable"],
        grade=_GRADES[item["grade"]],
        answers=None if item["grade"] == "not graded" else item["grade"] == "answers",
        graded_by=item["graded_by"],
        kept=item["kept"],
        why=item["why"],
        origin=item["origin"],
        url=item["url"],
        text=page.text if page else None,
    )


def _text(claims: Sequence[Claim], draft: DraftData, found: Sequence[Found]) -> str:
    if not claims:
        return _abstention(draft, found)
    said = " ".join(marked(claim) for claim in claims)
    note = note_of(draft, claims)
    return f"{said}\n\n{note}" if note else said


def marked(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim.citations)
    doubt = " (not supported by the evidence)" if claim.supported is False else ""
    return f"{claim.text} {marks}{doubt}" if marks else f"{claim.text}{doubt}"


def _abstention(draft: DraftData, found: Sequence[Found]) -> str:
    if draft["stop"] == "refused" and draft["note"]:
        return draft["note"]  # nothing was looked for: there is nothing not to know
    said = f"No answer: {WHY.get(draft['stop'], 'something went wrong')}."
    if draft["stop"] not in FAILED:
        where = "" if found else " in your documents"
        said = f"I couldn't find a clear answer{where}."
    places = (
        f'"{item["title"]}"' + ("" if item["page"] is None else f", p. {item['page']}")
        for item in found
    )
    nearest = "; ".join(list(dict.fromkeys(places))[:_NEAREST])
    closest = f"These passages come closest: {nearest}." if found else None
    return " ".join(filter(None, (said, draft["note"], closest)))


def _status(draft: DraftData, claims: Sequence[Claim]) -> Status:
    if claims:
        supported = all(claim.supported is not False for claim in claims)
        whole = supported and note_of(draft, claims) is None
        return "answered" if whole and draft["stop"] == "answered" else "partial"
    if draft["stop"] == "refused":
        return "refused"
    return "failed" if draft["stop"] in FAILED else "abstained"


def grounded(claims: Sequence[Claim]) -> Check:
    supports = [claim.support for claim in claims if claim.support is not None]
    if not supports or any(claim.supported is None for claim in claims):
        return Check()
    held = all(claim.supported for claim in claims)
    return Check(value="yes" if held else "no", score=round(sum(supports) / len(supports), 4))


def _said(answer: Answer) -> str:
    said: dict[Status, str] = {
        "answered": "The answer stands on its evidence.",
        "partial": "Part of the answer stands on its evidence.",
        "abstained": "Withheld: the evidence is not there.",
        "refused": "Refused.",
        "failed": "No answer: the run could not be completed.",
    }
    return said[answer.status]


# Puts the answer of a run that corrected itself together, with all that it tells of the tries.


class Corrected(Finishing, Drafts, Settled, Parts, Readings):
    """All that goes into such an answer."""


async def finish_corrected(state: Corrected, runtime: Runtime[Context]) -> Finished:
    plain = await assembled(state, runtime.context)
    judged = state.get("settled") if plain.claims else None
    return finished(
        plain.model_copy(
            update={
                "useful": _useful(judged),
                "attempts": 1 + rewrites(state["queries"], state.get("assumed")),
                "regenerations": state.get("regenerations", 0),
                "needs_review": state.get("needs_review", False),
                "parts": answer_parts(state.get("parts", []), plain.citations),
                "assumed": state.get("assumed"),
                "asks_back": state.get("asks_back"),
            }
        )
    )


def _useful(judged: JudgedDraft | None) -> Check:
    if judged is None or judged["is_useful"] is None:
        return Check()
    return Check(value="yes" if judged["is_useful"] else "no", score=judged["useful"])
