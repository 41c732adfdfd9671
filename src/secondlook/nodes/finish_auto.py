"""Ends a run of several workflows with one answer: of the one that gave it, or of both."""

import re
from collections.abc import Sequence

from langgraph.runtime import Runtime

from secondlook.answer import Answer, AnswerPart, Claim, Confidence, Status, StopReason, Tier
from secondlook.nodes.context import Context
from secondlook.nodes.finish import WHY, Finished, finished, grounded, marked, once
from secondlook.nodes.limits import lead
from secondlook.nodes.state import CallData, Calls, Question, Trace


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
    """Of parts one answer, by `workflow`; of two tries the one that brought something."""
    if both:
        return together(question, workflow, calls[: len(answers)], answers)
    first, second = answers[0], answers[-1]
    if len(answers) == 1:
        return first
    if second.claims:
        return second.model_copy(update={"attempts": first.attempts + second.attempts})
    if calls[0]["kind"] == calls[1]["kind"]:
        return first
    # The first try's own words, and that another kind of evidence was looked at too.
    return first.model_copy(
        update={
            "text": f"{first.text}\n\nThe {calls[1]['kind']} were tried too. {second.text}",
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


def together(
    question: str, workflow: str, calls: Sequence[CallData], answers: Sequence[Answer]
) -> Answer:
    """What the parts of a question came to, in its order. A part without an answer is named as
    such; a part that was refused refuses all of it."""
    if (refused := next((one for one in answers if one.status == "refused"), None)) is not None:
        return refused.model_copy(update={"workflow": workflow, "asked": question})
    placed: list[Answer] = []
    parts: list[AnswerPart] = []
    citations = claimed = 0
    for call, one in zip(calls, answers, strict=True):
        moved = shifted(one, citations=citations, claims=claimed)
        placed.append(moved)
        parts.append(
            AnswerPart(
                question=call["question"],
                short=one.short,
                citations=tuple(cited.number for cited in moved.citations),
                kind=call["kind"],
                claims=tuple(range(claimed + 1, claimed + 1 + len(one.claims))),
                status=one.status,
                stop_reason=one.stop_reason,
            )
        )
        citations, claimed = citations + len(one.citations), claimed + len(one.claims)
    told = [(part, one) for part, one in zip(parts, placed, strict=True) if one.claims]
    lacking = [unanswered(part) for part in parts if not part.claims]
    text = [f"{part.question} {one.text}" for part, one in zip(parts, placed, strict=True)]
    tier: Tier | None = None
    if told:
        plain = [one.text[len(lead(one.tier, one.short, one.method)) :] for _, one in told]
        text = [*plain, *lacking]
        tier = "likely" if any(one.tier == "likely" for _, one in told) else "sure"
    claims = tuple(claim for one in placed for claim in one.claims)
    shorts = [one.short for one in placed]
    analysed = next((one for one in placed if one.analysis is not None), None)
    # The method of the whole is that of the documents, where they say something.
    from_documents = (one for part, one in told if part.kind == "documents")
    leading = next(from_documents, told[0][1] if told else placed[0])
    status, stop = _end(placed)
    return leading.model_copy(
        update={
            "workflow": workflow,
            "asked": question,
            "text": lead(tier, None, "extractive") + "\n\n".join(text),
            "tier": tier,
            "short": "; ".join(filter(None, shorts)) if all(shorts) else None,
            "status": status,
            "stop_reason": stop,
            "model": next((one.model for one in placed if one.model), None),
            "claims": claims,
            "citations": tuple(cited for one in placed for cited in one.citations),
            "confidence": _lower(told),
            "grounded": grounded(claims),
            "parts": tuple(parts),
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


def shifted(answer: Answer, *, citations: int, claims: int) -> Answer:
    """The answer with other numbers, in its text too."""
    moved = tuple(_claim(claim, citations) for claim in answer.claims)
    cited = [one.model_copy(update={"number": one.number + citations}) for one in answer.citations]
    research = answer.research
    if research is not None:
        steps = [
            one.model_copy(update={"claims": tuple(number + claims for number in one.claims)})
            for one in research.steps
        ]
        research = research.model_copy(update={"steps": tuple(steps)})
    text = _renumbered(answer, moved, citations)
    update = {"text": text, "claims": moved, "citations": tuple(cited), "research": research}
    return answer.model_copy(update=update)


def _claim(claim: Claim, by: int) -> Claim:
    computation = claim.computation
    if computation is not None:
        operands = [
            one.model_copy(update={"citation": one.citation + by}) for one in computation.operands
        ]
        computation = computation.model_copy(update={"operands": tuple(operands)})
    numbers = tuple(number + by for number in claim.citations)
    return claim.model_copy(update={"citations": numbers, "computation": computation})


def _renumbered(answer: Answer, moved: Sequence[Claim], by: int) -> str:
    """Marks that follow a claim; what a document itself wrote in brackets stays."""
    text, at, made = answer.text, 0, []
    given = {cited.number for cited in answer.citations}
    for claim, other in zip(answer.claims, moved, strict=True):
        old = marked(claim)
        found = text.find(old, at)
        if found < 0:  # a text of another form: every number that is a citation
            return _MARK.sub(
                lambda one: f"[{int(one[1]) + by}]" if int(one[1]) in given else one[0], text
            )
        made += [text[at:found], marked(other)]
        at = found + len(old)
    return "".join([*made, text[at:]])


def unanswered(part: AnswerPart) -> str:
    """What an answer says of a part that it has none for."""
    why = WHY.get(part.stop_reason or "error", "something went wrong")
    if part.kind == "tables" and part.status == "abstained":
        why = "it could not be computed from them"
    return f'Not answered from the {part.kind}: "{part.question}" ({why}).'


def _end(answers: Sequence[Answer]) -> tuple[Status, StopReason]:
    stopped = [one for one in answers if one.stop_reason != "answered"]
    stop: StopReason = stopped[0].stop_reason if stopped else "answered"
    if any(one.claims for one in answers):
        whole = all(one.status == "answered" for one in answers)
        return ("answered" if whole else "partial"), stop
    failed = next((one for one in answers if one.status == "failed"), None)
    return ("failed", failed.stop_reason) if failed else ("abstained", stop)


def _lower(told: Sequence[tuple[AnswerPart, Answer]]) -> Confidence:
    """All of it is right only where each part is; it is no surer than the part that is least so."""
    each = [one.confidence for _, one in told]
    values = [one.value for one in each if one.value is not None]
    reasons = [f"{part.kind}: {why}" for part, one in told for why in one.confidence.reasons]
    if not values or len(values) < len(each):
        unknown = ["how sure a part is cannot be told"] if each else []
        return Confidence(reasons=(*unknown, *reasons))
    calibrated = all(one.label == "calibrated" for one in each)
    return Confidence(
        value=min(values),
        label="calibrated" if calibrated else "provisional",
        reasons=tuple(reasons),
    )
