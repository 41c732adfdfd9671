"""An answer of documents and tables, taken apart: each part is checked as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.answer import Check
from secondlook.nodes.both_kinds import shifted, unanswered
from secondlook.nodes.cutting_short import without_cut
from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from secondlook.answer import Answer, AnswerPart


def of_both_kinds(answer: Answer) -> bool:
    """Whether its parts have answers of their own, told one after another."""
    return any(part.status is not None for part in answer.parts)


def apart(answer: Answer, report: Report) -> list[Answer]:
    """The answers that it was put together from; itself where it is one. What does not come apart
    as it says is reported."""
    if not of_both_kinds(answer):
        return [answer]
    _check_claims(answer, report)
    text, found = without_cut(answer.text), []
    told = [part for part in answer.parts if part.claims]
    for part in reversed(answer.parts):
        if not part.claims and told:
            text = _without(text, unanswered(part), report)
    for at, part in enumerate(told):
        following = told[at + 1] if at + 1 < len(told) else None
        own, text = _parted(answer, text, following)
        found.append(_alone(answer, part, own))
    return found or [answer]


def _check_claims(answer: Answer, report: Report) -> None:
    listed = [number for part in answer.parts for number in part.claims]
    if listed != list(range(1, len(answer.claims) + 1)):
        report.wrong("status", "answer", "its parts do not tell whose each claim is")
    if answer.status == "answered" and any(part.status != "answered" for part in answer.parts):
        report.wrong("status", "answer", "it is answered, but not each of its parts")
    values = " ".join(filter(None, (part.short for part in answer.parts)))
    if answer.short is not None and answer.short.replace("; ", " ") != values:
        report.wrong("text", "answer", f"the short form {shown(answer.short)} is not of its parts")


def _without(text: str, said: str, report: Report) -> str:
    """The text before what it says of a part that has no answer."""
    before, found, after = text.rpartition(f"\n\n{said}")
    if not found or after.strip():
        report.wrong("text", "answer", f"it does not say {shown(said)}")
        return text
    return before


def _parted(answer: Answer, text: str, following: AnswerPart | None) -> tuple[str, str]:
    """The text of a part, and that of those after it, which begins with their first claim."""
    if following is None:
        return text, ""
    first = following.claims[0] - 1
    begins = answer.claims[first].text if first < len(answer.claims) else ""
    at = text.find(f"\n\n{begins}")
    return (text, "") if at < 0 or not begins else (text[:at], text[at:].lstrip())


def _alone(answer: Answer, part: AnswerPart, text: str) -> Answer:
    """A part as if it had been asked alone, numbered from 1."""
    claims = tuple(
        answer.claims[number - 1] for number in part.claims if number <= len(answer.claims)
    )
    cited = tuple(one for one in answer.citations if one.number in part.citations)
    of_tables = part.kind == "tables"
    alone = answer.model_copy(
        update={
            "asked": part.question,
            "text": text,
            "short": part.short,
            "status": part.status,
            "stop_reason": part.stop_reason,
            "method": "computed" if of_tables and not cited else answer.method,
            "claims": claims,
            "citations": cited,
            "parts": (),
            "grounded": Check(),
            "research": None if of_tables else answer.research,
            "analysis": answer.analysis if of_tables else None,
            "values": answer.values if of_tables else {},
        }
    )
    first = min((one.number for one in cited), default=1)
    return shifted(alone, citations=1 - first, claims=1 - min(part.claims, default=1))
