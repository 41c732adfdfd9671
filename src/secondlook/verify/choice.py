"""Whether a choice follows from what it says: its letter, its options, elements and facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.choosing.telling import choice_text
from secondlook.nodes.choosing.weighing import Weighing, derived
from secondlook.nodes.multiple_choice import parsed
from secondlook.state import OptionData, VerdictData
from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from secondlook.answer import Answer, Choice, ChoiceOption

_CHOSEN: Final = re.compile(r"^(?:Answer: \(|Ungrounded:)", re.MULTILINE)


def check_choice(answer: Answer, report: Report) -> None:
    choice = answer.choice
    if choice is None:
        if answer.research is not None and _CHOSEN.search(answer.text):
            report.wrong("choice", "answer", "the text names a choice, and none was made")
        return
    _check_letter(choice, answer, report)
    _check_said(choice, answer, report)
    _check_options(choice, answer, report)
    _check_elements(choice, answer, report)
    _check_grounded(choice, answer, report)
    for option in choice.options:
        _check_verdicts(option, choice, answer, report)


def _check_letter(choice: Choice, answer: Answer, report: Report) -> None:
    texts = {option.letter: option.text for option in choice.options}
    if len(texts) < len(choice.options):
        report.wrong("choice", "choice", "two options have the same letter")
    if choice.letter is None:
        if choice.text is not None:
            report.wrong("choice", "choice", "nothing was chosen, but it has words")
        return
    if choice.letter not in texts:
        report.wrong("choice", "choice", f"there is no option {shown(choice.letter)}")
    elif choice.text != texts[choice.letter]:
        report.wrong("choice", "choice", f"{shown(choice.text)} is not option {choice.letter}")
    if answer.short != choice.letter:
        message = f"the short form is {shown(answer.short)}, and {choice.letter} was chosen"
        report.wrong("choice", "answer", message)
    _check_derived(choice, report)


def _check_derived(choice: Choice, report: Report) -> None:
    """A model's verdicts leave one letter, or several; the reader goes by its own scores."""
    if choice.model is None or not any(option.verdicts for option in choice.options):
        return
    allowed = derived(Weighing([], [_data(option) for option in choice.options])).letters
    if allowed and choice.letter not in allowed:
        message = f"by what is met it is {' or '.join(allowed)}, not {choice.letter}"
        report.wrong("choice", "choice", message)


def _data(option: ChoiceOption) -> OptionData:
    return OptionData(
        letter=option.letter,
        text=option.text,
        verdicts=[
            VerdictData(element=one.element, met=one.met, fact=one.fact) for one in option.verdicts
        ],
        reason=option.reason,
    )


def _check_said(choice: Choice, answer: Answer, report: Report) -> None:
    """The text ends with what was chosen, and with nothing else that looks like it."""
    said = choice_text(choice)
    if said and answer.text.count(said) != 1:
        report.wrong("choice", "answer", f"the text does not say once {shown(said)}")
    if _CHOSEN.search(answer.text.replace(said, "")):
        report.wrong("choice", "answer", "the text names another choice")


def _check_options(choice: Choice, answer: Answer, report: Report) -> None:
    asked = parsed(answer.question).choices
    if not asked:
        report.note("choice", "choice", "the question does not show its options as they were read")
    elif asked != {option.letter: option.text for option in choice.options}:
        report.wrong("choice", "choice", "its options are not those of the question")


def _check_elements(choice: Choice, answer: Answer, report: Report) -> None:
    given = {citation.number for citation in answer.citations}
    for at, element in enumerate(choice.elements, 1):
        for number in sorted(set(element.citations) - given):
            message = f"it cites [{number}], which does not exist"
            report.wrong("choice", f"element {at}", message)
        if not element.citations and choice.model is not None:
            report.note("choice", f"element {at}", f"no source states {shown(element.text)}")


def _check_grounded(choice: Choice, answer: Answer, report: Report) -> None:
    if choice.letter is None:
        return
    if choice.grounded and not answer.claims:
        report.wrong("choice", "choice", "it calls itself grounded, but nothing was found")
    if not choice.grounded and (answer.claims or choice.elements or choice.confidence is not None):
        message = "it is a guess, but the answer has claims, or the choice elements or a confidence"
        report.wrong("choice", "choice", message)
    if choice.agreed is not None and choice.model is None:
        report.wrong("choice", "choice", "no model chose, so that none can have agreed")


def _check_verdicts(option: ChoiceOption, choice: Choice, answer: Answer, report: Report) -> None:
    where = f"option {option.letter}"
    judged = [one.element for one in option.verdicts]
    if len(set(judged)) < len(judged):
        report.wrong("choice", where, "an element was judged twice")
    for verdict in option.verdicts:
        if verdict.element > len(choice.elements):
            message = f"it was judged by element {verdict.element}, which does not exist"
            report.wrong("choice", where, message)
        sources = (answer.question, answer.asked, option.text)
        if verdict.fact is not None and not any(_holds(text, verdict.fact) for text in sources):
            report.wrong("choice", where, f"{shown(verdict.fact)} is not in the question")


def _holds(text: str, fact: str) -> bool:
    return bool(fact.strip()) and " ".join(fact.split()) in " ".join(text.split())
