"""What a research tells of itself on the screen: what it was taken up from, what was chosen and
why, what its steps asked, and what was kept out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from secondlook.answer import (
        Answer,
        Choice,
        ChoiceOption,
        ChoiceVerdict,
        Recalled,
        Research,
        ResearchStep,
        Screening,
        SeenPassage,
    )

_ASIDE = "cyan"
_LONGEST = 200
"""Characters of a question that are shown: enough to know it by."""
_DATE = 10
"""Characters of an ISO time that are its date."""


def print_recalled(console: Console, answer: Answer) -> None:
    """First of all: the research was done for another question."""
    from rich.text import Text

    if answer.research and answer.research.recalled:
        console.print(Text(recalled_line(answer.research.recalled), style=_ASIDE))


def recalled_line(recalled: Recalled) -> str:
    asked = shortened(recalled.question, _LONGEST)
    return (
        f'From memory: "{asked}" ({recalled.similarity:.2f} alike, {recalled.created[:_DATE]}); '
        "--fresh asks afresh."
    )


def print_choice(console: Console, answer: Answer) -> None:
    """Every option with what speaks for and against it, the chosen one first."""
    from rich.text import Text

    choice = answer.choice
    if choice is None:
        return
    console.print()
    console.print(Text(choice_line(choice), style="bold" if choice.letter else "yellow"))
    for option in _chosen_first(choice):
        mark = "*" if option.letter == choice.letter else " "
        console.print(Text(f"  {mark} ({option.letter}) {one_line(option.text)}"))
        for line in _reasons(option, choice):
            console.print(Text(f"        {line}", style="dim"))


def choice_line(choice: Choice) -> str:
    """`Chosen: (C), confidence 0.64 (provisional): all that must hold is met for C alone`."""
    if choice.letter is None:
        return f"Nothing chosen: {one_line(choice.why)}"
    known = choice.confidence is not None
    sure = f", confidence {choice.confidence:.2f} (provisional)" if known else ""
    marked = "" if choice.grounded else ", ungrounded"
    order = {True: ", the same in another order", False: ", another one in another order"}
    agreed = order[choice.agreed] if choice.agreed is not None else ""
    return f"Chosen: ({choice.letter}){sure}{marked}{agreed}: {one_line(choice.why)}"


def _chosen_first(choice: Choice) -> list[ChoiceOption]:
    return sorted(choice.options, key=lambda option: option.letter != choice.letter)


def _reasons(option: ChoiceOption, choice: Choice) -> list[str]:
    judged = [_judged(one, choice) for one in option.verdicts]
    return [*judged, *([one_line(option.reason)] if option.reason else [])]


def _judged(verdict: ChoiceVerdict, choice: Choice) -> str:
    """`met: He must have called [1] ("without calling")`."""
    element = choice.elements[verdict.element - 1] if _is_known(verdict, choice) else None
    said = one_line(element.text) if element else f"element {verdict.element}"
    marks = "".join(f"[{number}]" for number in element.citations) if element else ""
    fact = f' ("{one_line(verdict.fact)}")' if verdict.fact else ""
    return f"{verdict.met}: {said}{f' {marks}' if marks else ''}{fact}"


def _is_known(verdict: ChoiceVerdict, choice: Choice) -> bool:
    return verdict.element <= len(choice.elements)


def print_research(console: Console, answer: Answer) -> None:
    """Its steps in the order of trying, and what was not let in."""
    from rich.text import Text

    research = answer.research
    if research is None:
        return
    for line in _kept_out(research, answer.passages):
        console.print(Text(line, style="yellow"))
    if not research.steps:
        return
    console.print(Text(_summary(research), style="dim"))
    for step in research.steps:
        console.print(Text(f"  {step_line(step)}", style="dim"))


def step_line(step: ResearchStep) -> str:
    """`2. Duty of care: What duty ...? completed, confidence 0.77`."""
    told: list[str] = [step.status]
    if step.confidence is not None:
        told.append(f"confidence {step.confidence:.2f}")
    if step.retry_of is not None:
        told.append(f"step {step.retry_of} in other words")
    if step.cut:
        told.append(f"{counted(step.cut, 'sentence')} cut")
    asked = shortened(step.question, _LONGEST)
    ended = asked if asked.endswith(("?", ".", "!", ")")) else f"{asked}:"
    return f"{step.id}. {one_line(step.phase)}: {ended} {', '.join(told)}"


def _summary(research: Research) -> str:
    """`research, multi hop: 2 completed, 1 failed; the model says it is complete`."""
    kinds = ("completed", "weak", "failed", "pending")
    counts = {kind: getattr(research, kind) for kind in kinds}
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    grown = ", after one step failed" if research.escalated else ""
    why = f"; {one_line(research.stopped)}" if research.stopped else ""
    return f"research, {research.query_type.replace('_', ' ')}{grown}: {listed}{why}"


def _kept_out(research: Research, passages: Sequence[SeenPassage]) -> list[str]:
    lines = []
    if research.screen.verdict in {"refused", "unclear"}:
        lines.append(_screened(research.screen))
    if research.quarantined:
        lines.append(_quarantined(research.quarantined, passages))
    return lines


def _quarantined(number: int, passages: Sequence[SeenPassage]) -> str:
    """Which documents give a model orders: their owner may want to know."""
    out = [one for one in passages if one.why.startswith("quarantined:")]
    named = ", ".join(dict.fromkeys(f'"{shortened(one.title, _LONGEST)}"' for one in out))
    give = "passage that gives" if number == 1 else "passages that give"
    kept = f"quarantined: {number:,} {give} a model orders, left out"
    return f"{kept}: {named}" if named else kept


def _screened(screen: Screening) -> str:
    """`refused: in option C, by rules: it gives a model orders`."""
    where = "" if screen.where is None else " in the question"
    if screen.where not in {None, "question"}:
        where = f" in option {screen.where}"
    by = f", by {screen.by}" if screen.by else ""
    reasons = "; ".join(map(one_line, screen.reasons))
    told = "refused" if screen.verdict == "refused" else "let in though nobody could tell"
    return f"screen: {told}{where}{by}{f': {reasons}' if reasons else ''}"
