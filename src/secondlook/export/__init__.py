"""An answer as Markdown, with its references: for notes, mails and issues. Titles, quotes and a
model's words are strangers' text: they come out as plain words, never as links, images, headings or
HTML of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from secondlook.export.markdown import (
    analysed,
    by_step,
    chosen,
    code,
    flat,
    link,
    paragraphs,
    quoted,
    recalled,
    steps_tried,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Answer, Computation, Operand, Operation, Status

_STATUS: Final[dict[Status, str]] = {
    "answered": "Answered",
    "partial": "Answered in part",
    "abstained": "Not answered: the evidence is not there",
    "refused": "Refused",
    "failed": "Failed",
}
_SIGNS: Final[dict[Operation, str]] = {
    "years": "-",
    "difference": "-",
    "sum": "+",
    "least": "<",
    "most": ">",
    "same": "=",
}


def to_markdown(answer: Answer) -> str:
    """Question, answer, what it is made of, how sure it is, what went wrong, and the numbered
    references."""
    short = flat(answer.short or "")
    chose = answer.choice is not None and answer.choice.letter == answer.short
    done = [claim.computation for claim in answer.claims if claim.computation]
    made = f"Run {code(answer.run)}, {flat(answer.workflow)}, {answer.method}"
    model = f", {code(answer.model)}" if answer.model else ""
    text, scoped = by_step(answer)
    text = text or paragraphs(answer.text, answer.method)
    warnings = [
        f"- {flat(one.node)}: {flat(one.message)} ({flat(one.error)}); {flat(one.consequence)}"
        for one in answer.warnings
    ]
    parts = [
        f"# {flat(answer.question)}",
        recalled(answer),
        f"*Taken as: {flat(answer.assumed)}*" if answer.assumed else "",
        # The choice says its letter with its words.
        f"**{short}**" if short and not chose and short != flat(answer.text) else "",
        text,
        *(f"Computed: {flat(reckoned(one))}" for one in done),
        f"**{flat(answer.asks_back)}**" if answer.asks_back else "",
        _standing(answer),
        chosen(answer),
        _parts(answer),
        steps_tried(answer),
        analysed(answer),
        "\n".join(["## Warnings", "", *warnings]) if warnings else "",
        _references(answer, scoped),
        f"---\n\n{made}{model}, {flat(answer.created)}, Secondlook {flat(answer.version)}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def reckoned(computation: Computation) -> str:
    """`2004 [2] - 1981 [1] = 23 years`: what code did, with the citations that state the values."""
    operation = computation.operation
    operands = _ordered(computation)
    if operation in {"years", "difference", "sum"}:
        values = [f"{one.text} [{one.citation}]" for one in operands]
        return f"{f' {_SIGNS[operation]} '.join(values)} = {computation.result}"
    unlike = operation == "same" and computation.result != "yes"
    sign = "\N{NOT EQUAL TO}" if unlike else _SIGNS[operation]
    named = [
        f"{one.text}{f' ({one.name})' if one.name else ''} [{one.citation}]" for one in operands
    ]
    return f"{f' {sign} '.join(named)}: {computation.result}"


def _ordered(computation: Computation) -> Sequence[Operand]:
    """By value, as the sign between them wants it; as they come where one cannot be read."""
    from secondlook.roles.arithmetic import read_date, read_number

    operands, operation = computation.operands, computation.operation
    if operation in {"sum", "same"}:
        return operands
    dates = [read_date(one.text) for one in operands] if operation != "difference" else []
    values: list[Any] = [date.day for date in dates if date]
    if len(values) < len(operands):
        values = [found.number for one in operands if (found := read_number(one.text))]
    if len(values) < len(operands):
        return operands
    places = sorted(range(len(operands)), key=values.__getitem__, reverse=operation != "least")
    return [operands[at] for at in places]


def review_reason(answer: Answer) -> str | None:
    """Why a person should look at the evidence; None where nobody needs to."""
    if not answer.needs_review:
        return None
    if answer.status == "abstained":  # its text says why
        return "look at the evidence"
    why = {
        "attempts_exhausted": "every try was used up",
        "no_progress": "no other search brought more",
    }.get(answer.stop_reason, "not all of it stands on its evidence")
    return f"{why}; look at the evidence"


def _parts(answer: Answer) -> str:
    if not answer.parts:
        return ""
    lines = []
    for at, part in enumerate(answer.parts, 1):
        found = f"**{flat(part.short)}**" if part.short else "no answer of its own"
        marks = "".join(f"\\[{number}\\]" for number in part.citations)
        lines.append(f"{at}. {flat(part.question)} {found}{f' {marks}' if marks else ''}")
    return "\n".join(["## Parts", "", *lines])


def _standing(answer: Answer) -> str:
    """`*Answered. Confidence 0.82 (provisional): the reader is sure.*`"""
    reason = f" ({answer.stop_reason.replace('_', ' ')})"
    said = f"{_STATUS[answer.status]}{'' if answer.stop_reason == answer.status else reason}."
    reasons = "; ".join(map(flat, answer.confidence.reasons))
    if answer.confidence.value is not None:
        said += f" Confidence {answer.confidence.value:.2f} ({answer.confidence.label})"
        said += f": {reasons}." if reasons else "."
    elif reasons and answer.status == "answered":
        said += f" Confidence unknown: {reasons}."
    unsupported = sum(claim.supported is False for claim in answer.claims)
    if unsupported:
        said += f" Sentences without support: {unsupported}."
    if review := review_reason(answer):
        said += f" Needs review: {review}."
    return f"*{said}*"


def _references(answer: Answer, scoped: Mapping[int, str]) -> str:
    if not answer.citations:
        return ""
    listed = ["## References"]
    for one in answer.citations:
        head = f"\\[{one.number}\\] **{flat(one.title) or 'Untitled'}**"
        named = f" {scoped[one.number]}" if one.number in scoped else ""
        page = f", p. {one.page}" if one.page is not None else ""
        if one.origin == "web":
            read = f", read {flat(one.fetched)}" if one.fetched else ""
            source = f", {link(one.url)}{read}" if one.url else read
        else:
            source = f", {code(one.path)}" if one.path else f", document {code(one.document)}"
        listed.append(f"{head}{named}{page}{source}\n\n{quoted(one.quote)}")
    return "\n\n".join(listed)
