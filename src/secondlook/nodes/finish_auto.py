"""Ends a run of several workflows with one answer: of the one that gave it, or of both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Answer, AnswerPart, Confidence
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.finish import WHY, Finished, finished, grounded, marked, once
from secondlook.nodes.state import Calls, Question, Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secondlook.answer import Claim, EvidenceKind, Research, Status, StopReason
    from secondlook.nodes.state import CallData


class ToFinish(Question, Calls, Trace):
    pass


async def finish_auto(state: ToFinish, runtime: Runtime[Context]) -> Finished:
    answers = [Answer.model_validate(one) for one in state["answers"]]
    answer = put_together(
        state["question"], runtime.context.workflow, state["calls"], answers, both=state["both"]
    )
    return finished(answer.model_copy(update={"warnings": once(state["warnings"])}))


def put_together(
    question: str,
    workflow: str,
    calls: Sequence[CallData],
    answers: Sequence[Answer],
    *,
    both: bool,
) -> Answer:
    """Of parts one answer, by `workflow`; of two tries the one that brought something. An answer of
    one workflow keeps the name of that workflow."""
    if both:
        return together(question, workflow, calls[: len(answers)], answers)
    first, *more = answers
    if not more:
        return first
    second = more[0]
    if second.claims:
        attempts = first.attempts + second.attempts
        return second.model_copy(update={"attempts": attempts})
    return first if calls[0]["kind"] == calls[1]["kind"] else _neither(calls, first, second)


def _neither(calls: Sequence[CallData], first: Answer, second: Answer) -> Answer:
    """The first try's own words, and that another kind of evidence was looked at too."""
    tried = "tables" if calls[1]["kind"] == "tables" else "documents"
    return first.model_copy(
        update={
            "text": f"{first.text}\n\nThe {tried} were tried too. {second.text}",
            "analysis": first.analysis or second.analysis,
            "passages": first.passages or second.passages,
            "queries": tuple(dict.fromkeys([*first.queries, *second.queries])),
            "asks_back": first.asks_back or second.asks_back,
            "attempts": first.attempts + second.attempts,
        }
    )


# One answer of two: what documents say and what tables come to, each claim with its own kind of
# evidence. Numbers are set anew by code.

_MARK = re.compile(r"\[(\d{1,6})\]")
_WHERE: Final[dict[EvidenceKind, str]] = {"documents": "the documents", "tables": "the tables"}


def together(
    question: str, workflow: str, calls: Sequence[CallData], answers: Sequence[Answer]
) -> Answer:
    """What the parts of a question came to, in its order. A part without an answer is named as
    such; a part that was refused refuses all of it."""
    if (refused := next((one for one in answers if one.status == "refused"), None)) is not None:
        return refused.model_copy(update={"workflow": workflow, "asked": question})
    placed = _placed(answers)
    parts = _parts(calls, placed)
    claims = tuple(claim for one in placed for claim in one.claims)
    analysed = next((one for one in placed if one.analysis is not None), None)
    first = _leading(calls, placed)
    status, stop = _end(placed)
    return first.model_copy(
        update={
            "workflow": workflow,
            "asked": question,
            "text": _text(parts, placed),
            "short": _short(placed),
            "status": status,
            "stop_reason": stop,
            "model": next((one.model for one in placed if one.model), None),
            "claims": claims,
            "citations": tuple(cited for one in placed for cited in one.citations),
            "confidence": _lower(calls, placed),
            "grounded": grounded(claims),
            "parts": parts,
            "asks_back": next((one.asks_back for one in placed if one.asks_back), None),
            "research": next((one.research for one in placed if one.research), None),
            "analysis": analysed.analysis if analysed else None,
            "values": analysed.values if analysed else {},
            "needs_review": any(one.needs_review for one in placed),
            "queries": tuple(dict.fromkeys(query for one in placed for query in one.queries)),
            "passages": tuple(seen for one in placed for seen in one.passages),
            "attempts": sum(one.attempts for one in placed),
            "regenerations": sum(one.regenerations for one in placed),
            "web_used": any(one.web_used for one in placed),
        }
    )


def _leading(calls: Sequence[CallData], answers: Sequence[Answer]) -> Answer:
    """Whose method the whole is told by: the documents', where they say something."""
    said = [(call, one) for call, one in zip(calls, answers, strict=True) if one.claims]
    cited = (one for call, one in said if call["kind"] == "documents")
    return next(cited, said[0][1] if said else answers[0])


def _placed(answers: Sequence[Answer]) -> list[Answer]:
    """Each numbered on from those before it."""
    placed: list[Answer] = []
    citations = claims = 0
    for one in answers:
        placed.append(shifted(one, citations=citations, claims=claims))
        citations, claims = citations + len(one.citations), claims + len(one.claims)
    return placed


def shifted(answer: Answer, *, citations: int, claims: int) -> Answer:
    """The answer with other numbers, in its text too."""
    moved = tuple(_claim(claim, citations) for claim in answer.claims)
    return answer.model_copy(
        update={
            "text": _renumbered(answer, moved, citations),
            "claims": moved,
            "citations": tuple(
                cited.model_copy(update={"number": cited.number + citations})
                for cited in answer.citations
            ),
            "research": _research(answer.research, claims),
        }
    )


def _claim(claim: Claim, by: int) -> Claim:
    computation = claim.computation and claim.computation.model_copy(
        update={
            "operands": tuple(
                one.model_copy(update={"citation": one.citation + by})
                for one in claim.computation.operands
            )
        }
    )
    numbers = tuple(number + by for number in claim.citations)
    return claim.model_copy(update={"citations": numbers, "computation": computation})


def _research(research: Research | None, by: int) -> Research | None:
    if research is None:
        return None
    steps = tuple(
        one.model_copy(update={"claims": tuple(number + by for number in one.claims)})
        for one in research.steps
    )
    return research.model_copy(update={"steps": steps})


def _renumbered(answer: Answer, moved: Sequence[Claim], by: int) -> str:
    """Marks that follow a claim; what a document itself wrote in brackets stays."""
    text, at, made = answer.text, 0, []
    for claim, other in zip(answer.claims, moved, strict=True):
        old = marked(claim)
        found = text.find(old, at)
        if found < 0:  # a text of another form: every number that is a citation
            return _all_renumbered(text, {cited.number for cited in answer.citations}, by)
        made += [text[at:found], marked(other)]
        at = found + len(old)
    return "".join([*made, text[at:]])


def _all_renumbered(text: str, given: Collection[int], by: int) -> str:
    return _MARK.sub(
        lambda found: f"[{int(found[1]) + by}]" if int(found[1]) in given else found[0], text
    )


def _parts(calls: Sequence[CallData], answers: Sequence[Answer]) -> tuple[AnswerPart, ...]:
    parts, first = [], 1
    for call, one in zip(calls, answers, strict=True):
        parts.append(
            AnswerPart(
                question=call["question"],
                short=one.short,
                citations=tuple(cited.number for cited in one.citations),
                kind=call["kind"],
                claims=tuple(range(first, first + len(one.claims))),
                status=one.status,
                stop_reason=one.stop_reason,
            )
        )
        first += len(one.claims)
    return tuple(parts)


def _text(parts: Sequence[AnswerPart], answers: Sequence[Answer]) -> str:
    told = [one.text for one in answers if one.claims]
    if not told:
        return "\n\n".join(
            f"{part.question} {one.text}" for part, one in zip(parts, answers, strict=True)
        )
    lacking = [unanswered(part) for part, one in zip(parts, answers, strict=True) if not one.claims]
    return "\n\n".join([*told, *lacking])


def unanswered(part: AnswerPart) -> str:
    """What an answer says of a part that it has none for."""
    why = WHY.get(part.stop_reason or "error", "something went wrong")
    if part.kind == "tables" and part.status == "abstained":
        why = "it could not be computed from them"
    return f'Not answered from {_WHERE[part.kind]}: "{part.question}" ({why}).'


def _short(answers: Sequence[Answer]) -> str | None:
    shorts = [one.short for one in answers]
    return "; ".join(filter(None, shorts)) if all(shorts) else None


def _end(answers: Sequence[Answer]) -> tuple[Status, StopReason]:
    stopped = [one for one in answers if one.stop_reason != "answered"]
    stop: StopReason = stopped[0].stop_reason if stopped else "answered"
    if any(one.claims for one in answers):
        whole = all(one.status == "answered" for one in answers)
        return ("answered" if whole else "partial"), stop
    failed = next((one for one in answers if one.status == "failed"), None)
    return ("failed", failed.stop_reason) if failed else ("abstained", stop)


def _lower(calls: Sequence[CallData], answers: Sequence[Answer]) -> Confidence:
    """All of it is right only where each part is; it is no surer than the part that is least so."""
    claimed = [(call, one) for call, one in zip(calls, answers, strict=True) if one.claims]
    each = [one.confidence for _, one in claimed]
    values = [one.value for one in each if one.value is not None]
    reasons = [
        f"{call['kind']}: {reason}" for call, one in claimed for reason in one.confidence.reasons
    ]
    if not values or len(values) < len(each):
        unknown = ["how sure a part is cannot be told"] if each else []
        return Confidence(reasons=(*unknown, *reasons))
    calibrated = all(one.label == "calibrated" for one in each)
    return Confidence(
        value=min(values),
        label="calibrated" if calibrated else "provisional",
        reasons=tuple(reasons),
    )
