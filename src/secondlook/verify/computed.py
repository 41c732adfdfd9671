"""Whether what code computed comes out the same again, from the values that the citations state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.parts.combining import operation_of
from secondlook.nodes.parts.computing import Stated, computed, sentence
from secondlook.nodes.parts.forms import split_by_form
from secondlook.nodes.parts.operands import flat, stands_in
from secondlook.verify.report import Report, shown
from secondlook.verify.standing import rests_on

if TYPE_CHECKING:
    from secondlook.answer import Answer, Claim, Computation, Operand


def check_computed(answer: Answer, report: Report) -> None:
    results = []
    for at, claim in enumerate(answer.claims, 1):
        if claim.computation is not None:
            results.append(claim.computation.result)
            _check_claim(claim, claim.computation, f"claim {at}", answer, report)
    of_claims = answer.method == "computed" and rests_on(answer) == "sources"
    if of_claims and answer.short not in results:
        message = f"the short form {shown(answer.short)} is not what was computed"
        report.wrong("computation", "answer", message)


def _check_claim(
    claim: Claim, made: Computation, where: str, answer: Answer, report: Report
) -> None:
    for operand in made.operands:
        _check_operand(operand, claim, where, answer, report)
    stated = [Stated(operand.text, operand.name) for operand in made.operands]
    again = computed(made.operation, stated)
    if again != made.result:
        comes = "cannot be computed" if again is None else f"comes to {shown(again)}"
        report.wrong("computation", where, f"its result {shown(made.result)} {comes}")
    elif flat(claim.text) != flat(sentence(made.operation, stated, made.result)):
        report.wrong("computation", where, f"{shown(claim.text)} is not what was computed")
    _check_operation(made, where, answer, report)


def _check_operand(
    operand: Operand, claim: Claim, where: str, answer: Answer, report: Report
) -> None:
    cited = next((one for one in answer.citations if one.number == operand.citation), None)
    if cited is None or operand.citation not in claim.citations:
        message = f"its value {shown(operand.text)} is of [{operand.citation}], which it cites not"
        report.wrong("computation", where, message)
    elif not stands_in(operand.text, cited.quote):
        message = f"its value {shown(operand.text)} stands nowhere in [{operand.citation}]"
        report.wrong("computation", where, message)
    if operand.name and not _is_asked(operand, answer):
        message = f"nobody asked about {shown(operand.name)} what [{operand.citation}] states"
        report.wrong("computation", where, message)


def _is_asked(operand: Operand, answer: Answer) -> bool:
    """Whether the part that rests on the operand's citation is about what it is named for."""
    asked = [part.question for part in answer.parts if operand.citation in part.citations]
    return any(stands_in(operand.name or "", question) for question in asked or [answer.asked])


def _check_operation(made: Computation, where: str, answer: Answer, report: Report) -> None:
    """Where the question's form tells what must be computed, nothing else was."""
    form = split_by_form(answer.asked)
    wanted = operation_of(form.combining) if form else None
    if wanted is not None and wanted != made.operation:
        message = f"the question asks for {wanted}, not {made.operation}"
        report.wrong("computation", where, message)
