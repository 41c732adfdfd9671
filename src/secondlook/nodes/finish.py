"""Puts the answer together. Whatever happened before, there is one afterwards."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from langgraph.runtime import Runtime

from secondlook.answer import (
    Answer,
    AnswerPart,
    Check,
    Citation,
    Claim,
    Confidence,
    SeenPassage,
    Status,
    StopReason,
    Tier,
    Trouble,
)
from secondlook.nodes import ranking
from secondlook.nodes.cite import cite, cut_note
from secondlook.nodes.context import Context
from secondlook.nodes.extract import withheld
from secondlook.nodes.limits import lead, rewrites
from secondlook.nodes.screen import is_quarantined, left_out, noticed
from secondlook.nodes.state import (
    RELEVANT,
    DraftData,
    Drafts,
    Finishing,
    Found,
    Outcome,
    PartData,
    Parts,
    Readings,
    Settled,
    Trace,
    step,
)
from secondlook.roles.screen import is_stopped, look

FAILED: frozenset[StopReason] = frozenset(
    {"budget", "deadline", "cancelled", "cannot_proceed", "model_unavailable", "error"}
)
_NEAREST = 3
_FITS = 0.97
"""A written answer that is less likely the answer than this, as the reader judges it, is not called
sure."""
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
_SAID: dict[Status, str] = {
    "answered": "The answer stands on its evidence.",
    "partial": "Part of the answer stands on its evidence.",
    "abstained": "Withheld: the evidence is not there.",
    "refused": "Refused.",
    "failed": "No answer: the run could not be completed.",
}


class Finished(Outcome, Trace):
    pass


class Corrected(Finishing, Drafts, Settled, Parts, Readings):
    """All that goes into the answer of a run that corrected itself."""


async def finish(state: Finishing, runtime: Runtime[Context]) -> Finished:
    return finished(await assembled(state, runtime.context))


async def finish_corrected(state: Corrected, runtime: Runtime[Context]) -> Finished:
    """The same, with all that it tells of the tries."""
    plain = await assembled(state, runtime.context)
    judged, useful = state.get("settled") if plain.claims else None, Check()
    if judged is not None and judged["is_useful"] is not None:
        useful = Check(value="yes" if judged["is_useful"] else "no", score=judged["useful"])
    more = {
        "useful": useful,
        "attempts": 1 + rewrites(state["queries"], state.get("assumed")),
        "regenerations": state.get("regenerations", 0),
        "needs_review": state.get("needs_review", False),
        "parts": answer_parts(state.get("parts", []), plain.citations),
        "assumed": state.get("assumed"),
        # Not where the passages that it tells apart are gone.
        "asks_back": state.get("asks_back") if plain.stop_reason == "ambiguous" else None,
    }
    return finished(plain.model_copy(update=more))


def answer_parts(
    parts: Sequence[PartData], citations: Sequence[Citation]
) -> tuple[AnswerPart, ...]:
    """The parts that were asked, with the numbers of what they rest on."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    told: list[AnswerPart] = []
    for part in parts:
        if (asked := part["asked"]) is not None:
            draft = part["draft"] or withheld("no_evidence")
            places = [at for one in draft["sentences"] for at in one["cited"]]
            cited = (numbers.get((at["passage"], at["start"], at["end"])) for at in places)
            unique = tuple(dict.fromkeys(number for number in cited if number is not None))
            told.append(AnswerPart(question=asked, short=draft["short"], citations=unique))
    return tuple(told)


def finished(answer: Answer) -> Finished:
    counted = {"claims": len(answer.claims), "citations": len(answer.citations)}
    told = step("finish", _SAID[answer.status], counted)
    return {"answer": answer.model_dump(mode="json"), "steps": [told], "warnings": []}


async def assembled(state: Finishing, context: Context) -> Answer:
    """The answer that a state amounts to; the engine adds its steps and usage."""
    found, draft = state["found"], state["draft"]
    citations, every = await cite(context, draft["sentences"], found)
    # Without those whose passages are gone since they were written down: nobody could check them.
    both = zip(draft["sentences"], every, strict=True)
    claims = tuple(claim for sentence, claim in both if claim.citations or not sentence["cited"])
    if draft["sentences"] and not claims:
        draft = withheld("no_evidence", reasons=["the passages that it rested on are gone"])
    note, stop = note_of(draft, claims), draft["stop"]
    status: Status = "failed" if stop in FAILED else "abstained"
    kept_out, outranked = left_out(found)
    tier = _tier(draft, claims, context)
    if tier == "sure" and outranked and draft["method"] == "extractive":
        tier = "likely"
    text, more = _abstention(draft, found), [kept_out] if kept_out else []
    if claims:
        whole = all(claim.supported is not False for claim in claims) and note is None
        status = "answered" if whole and stop == "answered" else "partial"
        text = lead(tier, draft["short"], draft["method"]) + " ".join(map(marked, claims))
        more = [note, *more] if note else more
    elif stop == "refused":
        status = "refused"
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
        text="\n\n".join([text, *more]),
        short=draft["short"],
        status=status,
        tier=tier,
        stop_reason=stop,
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
        warnings=once([*state["warnings"], *_about_orders(context, found)]),
        created=context.created,
        version=version("secondlook-qa"),
    )


def _tier(draft: DraftData, claims: Sequence[Claim], context: Context) -> Tier | None:
    """A quote is as sure as its probability says, a model's words as the check of each says and
    that of all together with the question."""
    if not claims or draft["stop"] == "ambiguous":
        return None
    confidence, sure = draft["confidence"], True
    if draft["method"] == "extractive":
        sure = confidence is not None and confidence >= context.calibration.min_sure
    elif draft["method"] in {"generative", "computed"}:
        sure = all(claim.supported for claim in claims) and draft.get("fits", 1.0) >= _FITS
    return "sure" if sure else "likely"


def _abstention(draft: DraftData, found: Sequence[Found]) -> str:
    stop, note = draft["stop"], draft["note"]
    if stop == "refused" and note:
        return note  # nothing was looked for: there is nothing not to know
    said = f"No answer: {WHY.get(stop, 'something went wrong')}."
    if stop not in FAILED:
        said = f"I couldn't find a clear answer{'' if found else ' in your documents'}."
    places = (
        f'"{item["title"]}"' + ("" if item["page"] is None else f", p. {item['page']}")
        for item in found
    )
    nearest = "; ".join(list(dict.fromkeys(places))[:_NEAREST])
    closest = f"These passages come closest: {nearest}." if found else None
    return " ".join(filter(None, (said, note, closest)))


def _about_orders(context: Context, found: Sequence[Found]) -> list[dict[str, Any]]:
    """Warnings that the question or passages give a model orders. `research` has a place of its
    own for both. Passages are not named here: a title can be an order too."""
    if context.workflow == "research":
        return []
    told: list[dict[str, Any]] = []
    signals = look(context.question, channel="question")
    if is_stopped(signals, channel="question"):
        said = f"the question gives orders to a model: {', '.join(signals.reasons)}"
        told.append(noticed("screen", "Screened", said, "only what the evidence says was answered"))
    if out := sum(map(is_quarantined, found)):
        said = f"{out} of the passages that were found give a model orders"
        kept = "they were kept out of prompts; the steps say which, and why"
        told.append(noticed("quarantine", "Quarantined", said, kept))
    return told


def note_of(draft: DraftData, claims: Sequence[Claim]) -> str | None:
    """What an answer of these claims must say about itself."""
    lost = len(draft["sentences"]) - len(claims)
    return draft["note"] or (cut_note(lost) if lost else None)


def once(warnings: Sequence[dict[str, Any]]) -> tuple[Trouble, ...]:
    """Each warning once, however often its step was visited."""
    return tuple(dict.fromkeys(Trouble.model_validate(item) for item in warnings))


def seen(item: Found, context: Context) -> SeenPassage:
    page = context.pages.get([item["id"]]).get(item["id"]) if item["origin"] == "web" else None
    grade = item["grade"]
    shared = {name: value for name, value in item.items() if name in SeenPassage.model_fields}
    changed = {
        "rerank_score": item["relevance"],
        "answer_score": item["answerable"],
        "grade": "relevant" if grade in RELEVANT else grade,
        "answers": None if grade == "not graded" else grade == "answers",
        "text": page.text if page else None,
    }
    return SeenPassage.model_validate(shared | changed)


def marked(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim.citations)
    doubt = " (not supported by the evidence)" if claim.supported is False else ""
    return f"{claim.text} {marks}{doubt}" if marks else f"{claim.text}{doubt}"


def grounded(claims: Sequence[Claim]) -> Check:
    supports = [claim.support for claim in claims if claim.support is not None]
    if not supports or any(claim.supported is None for claim in claims):
        return Check()
    stands = all(claim.supported for claim in claims)
    return Check(value="yes" if stands else "no", score=round(sum(supports) / len(supports), 4))
