"""Whether a research agrees with itself: its steps, their counts, and which claims are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.nodes.choosing.telling import step_heading

if TYPE_CHECKING:
    from secondlook.answer import Answer, Research, ResearchStep, StepStatus
    from secondlook.verify.report import Report

_KINDS: Final[tuple[StepStatus, ...]] = ("completed", "weak", "failed", "pending")
_WITHOUT_FINDINGS: Final = frozenset({"failed", "pending"})


def check_research(answer: Answer, report: Report) -> None:
    research = answer.research
    if research is None:
        return
    _check_counts(research, report)
    _check_screen(answer, research, report)
    for at, step in enumerate(research.steps, 1):
        _check_step(step, at, answer, report)
    told = {number for step in research.steps for number in step.claims}
    # The first may be the answer itself, read out of what all steps found.
    for number in sorted(set(range(1 + bool(told), len(answer.claims) + 1)) - told):
        report.wrong("research", f"claim {number}", "no step of the research found it")


def headings(answer: Answer) -> dict[int, str]:
    """The line that stands before a claim, by its number: where findings of another step begin.
    None where only one step found something."""
    steps = [step for step in (answer.research.steps if answer.research else ()) if step.claims]
    if len(steps) < 2:  # noqa: PLR2004
        return {}
    found: dict[int, str] = {}
    owners: dict[int, ResearchStep] = {}
    for step in steps:
        for number in step.claims:
            owners.setdefault(number, step)
    for number in range(1, len(answer.claims) + 1):
        owner, before = owners.get(number), owners.get(number - 1)
        if owner is not None and owner is not before:
            found[number] = step_heading(owner.id, owner.phase)
    return found


def _check_counts(research: Research, report: Report) -> None:
    for kind in _KINDS:
        said = getattr(research, kind)
        counted = sum(step.status == kind for step in research.steps)
        if said != counted:
            message = f"it says that {said} steps are {kind}, and lists {counted}"
            report.wrong("research", "research", message)
    tried = sum(step.status != "pending" for step in research.steps)
    if research.recalled is None and research.cycles != tried:
        message = f"it says that {research.cycles} steps were tried, and lists {tried}"
        report.wrong("research", "research", message)


def _check_screen(answer: Answer, research: Research, report: Report) -> None:
    if (research.screen.verdict == "refused") != (answer.status == "refused"):
        message = f"the screen says {research.screen.verdict}, but the answer is {answer.status}"
        report.wrong("research", "research", message)
    if research.remembered and (answer.status != "answered" or research.recalled is not None):
        message = "it says that it was remembered; only whole answers of its own are"
        report.wrong("research", "research", message)


def _check_step(step: ResearchStep, at: int, answer: Answer, report: Report) -> None:
    where = f"step {at}"
    if step.id != at:
        report.wrong("research", where, f"it is numbered {step.id}")
    if step.retry_of is not None and not 1 <= step.retry_of < at:
        report.wrong("research", where, f"it tries step {step.retry_of} again, which is not before")
    if step.confidence is not None and not 0 <= step.confidence <= 1:
        message = f"a confidence of {step.confidence} is not from 0 to 1"
        report.wrong("research", where, message)
    if step.status in _WITHOUT_FINDINGS and step.claims:
        report.wrong("research", where, f"it is {step.status}, but it has findings")
    for number in step.claims:
        if not 1 <= number <= len(answer.claims):
            report.wrong("research", where, f"it found claim {number}, which does not exist")
