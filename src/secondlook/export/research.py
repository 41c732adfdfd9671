"""A research as Markdown: a heading for each step, its findings with marks that name step and
source, the choice with its reasons, and every step that was tried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.export.markdown import flat, words
from secondlook.nodes.choosing.telling import choice_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import (
        Answer,
        Choice,
        ChoiceOption,
        ChoiceVerdict,
        Claim,
        ResearchStep,
    )

_MARKS = re.compile(r"\s*(?:\[\d{1,6}\])+")
_DATE = 10
"""Characters of an ISO time that are its date."""


def recalled(answer: Answer) -> str:
    earlier = answer.research.recalled if answer.research else None
    if earlier is None:
        return ""
    alike = f"{earlier.similarity:.2f} alike, {flat(earlier.created[:_DATE])}"
    return f"*From memory: {flat(earlier.question)} ({alike})*"


def by_step(answer: Answer) -> str:
    """The findings under a heading for each step, and what the answer says after them; empty where
    they are not of steps."""
    found = _telling(answer)
    if not found:
        return ""
    told = [_findings(step, answer) for step in found]
    rest = [words(block) for block in re.split(r"\n\s*\n", _after_findings(answer)) if block]
    return "\n\n".join([*told, *rest])


def scoped_marks(answer: Answer) -> dict[int, str]:
    """Under which names each citation goes: `[Query 2][Source 3]` for each step that cites it."""
    named: dict[int, list[str]] = {}
    for step in _telling(answer):
        for source, number in enumerate(_sources(step, answer), 1):
            named.setdefault(number, []).append(_scoped(step, source))
    return {number: " ".join(marks) for number, marks in named.items()}


def _telling(answer: Answer) -> list[ResearchStep]:
    """Steps with findings, if they account for each claim once; none otherwise."""
    steps = answer.research.steps if answer.research else ()
    told = [number for step in steps for number in step.claims]
    if sorted(told) != list(range(1, len(answer.claims) + 1)):
        return []
    return [step for step in steps if step.claims]


def _findings(step: ResearchStep, answer: Answer) -> str:
    sources = {number: at for at, number in enumerate(_sources(step, answer), 1)}
    said = [_sentence(claim, step, sources) for claim in _claims(step, answer)]
    return f"## Step {step.id}: {flat(step.phase)}\n\n*{flat(step.question)}*\n\n{' '.join(said)}"


def _sentence(claim: Claim, step: ResearchStep, sources: dict[int, int]) -> str:
    marks = " ".join(_scoped(step, sources[number]) for number in claim.citations)
    doubt = " (not supported by the evidence)" if claim.supported is False else ""
    return f"{flat(claim.text)} {marks}{doubt}".rstrip()


def _scoped(step: ResearchStep, source: int) -> str:
    return f"\\[Query {step.id}\\]\\[Source {source}\\]"


def _sources(step: ResearchStep, answer: Answer) -> list[int]:
    """Numbers of the citations of a step, in the order in which it cites them."""
    cited = [number for claim in _claims(step, answer) for number in claim.citations]
    return list(dict.fromkeys(cited))


def _claims(step: ResearchStep, answer: Answer) -> Sequence[Claim]:
    return [answer.claims[number - 1] for number in step.claims]


def _after_findings(answer: Answer) -> str:
    """What the text says after the last claim, such as that sentences were cut; the choice has a
    section of its own."""
    last = answer.claims[-1].text
    at = answer.text.rfind(last)
    rest = answer.text[at + len(last) :] if at >= 0 else ""
    if marks := _MARKS.match(rest):
        rest = rest[marks.end() :]
    chosen_words = choice_text(answer.choice) if answer.choice else ""
    return rest.replace(chosen_words, "").strip() if chosen_words else rest.strip()


def chosen(answer: Answer) -> str:
    choice = answer.choice
    if choice is None:
        return ""
    lines = [line for option in choice.options for line in _option(option, choice)]
    return "\n".join(["## Choice", "", _head(choice), "", *lines])


def _head(choice: Choice) -> str:
    if choice.letter is None:
        return f"Nothing chosen: {flat(choice.why)}."
    sure = f" Confidence {choice.confidence:.2f} (provisional)." if choice.confidence else ""
    marked = "" if choice.grounded else " **Ungrounded: the model's own guess, without a source.**"
    agreed = " Another order of the options led to another one." if choice.agreed is False else ""
    answer = f"**({choice.letter}) {flat(choice.text or '')}**"
    return f"{answer}\n\n{flat(choice.why)}.{sure}{marked}{agreed}"


def _option(option: ChoiceOption, choice: Choice) -> list[str]:
    reason = f" {flat(option.reason)}" if option.reason else ""
    text = f"({option.letter}) {flat(option.text)}"
    mark = f"**{text}**" if option.letter == choice.letter else text
    return [f"- {mark}{reason}", *(f"  - {_judged(one, choice)}" for one in option.verdicts)]


def _judged(verdict: ChoiceVerdict, choice: Choice) -> str:
    known = verdict.element <= len(choice.elements)
    element = choice.elements[verdict.element - 1] if known else None
    said = flat(element.text) if element else f"element {verdict.element}"
    marks = "".join(f"\\[{number}\\]" for number in element.citations) if element else ""
    fact = f' ("{flat(verdict.fact)}")' if verdict.fact else ""
    return f"{verdict.met}: {said}{f' {marks}' if marks else ''}{fact}"


def steps_tried(answer: Answer) -> str:
    """Every step, those that failed too."""
    steps = answer.research.steps if answer.research else ()
    if not steps:
        return ""
    return "\n".join(["## Steps", "", *map(_tried, steps)])


def _tried(step: ResearchStep) -> str:
    sure = f", confidence {step.confidence:.2f}" if step.confidence is not None else ""
    again = f", step {step.retry_of} in other words" if step.retry_of is not None else ""
    return f"{step.id}. {flat(step.phase)}: {flat(step.question)} *{step.status}{sure}{again}*"
