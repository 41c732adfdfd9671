"""Whether an answer agrees with itself: its status, its text, its claims and their numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from secondlook.answer import Check
from secondlook.nodes.choices import parsed
from secondlook.nodes.combine import flat, operation_of, stands_in
from secondlook.nodes.explain import GENERAL
from secondlook.nodes.finish_auto import shifted, unanswered
from secondlook.nodes.limits import without_cut
from secondlook.nodes.options import Weighing, choice_text, derived, step_heading
from secondlook.nodes.state import OptionData, VerdictData
from secondlook.roles.arithmetic import Stated, computed, sentence
from secondlook.roles.split import split_by_form
from secondlook.verify.report import Report, rests_on, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import (
        Answer,
        AnswerPart,
        Choice,
        ChoiceOption,
        Claim,
        Computation,
        Operand,
        Research,
        ResearchStep,
        Status,
        StepStatus,
        StopReason,
    )

_WITH_CLAIMS: Final[frozenset[Status]] = frozenset({"answered", "partial"})
_ALWAYS_TOGETHER: Final[dict[Status, StopReason]] = {"answered": "answered", "refused": "refused"}
_MARK = re.compile(r"\[(\d{1,6}(?:\s?[,;]\s?\d{1,6})*)\]")
_CUT = re.compile(r"\(\d{1,4} (?:more )?sentences? (?:was|were) cut: [a-z ]+\.\)")
_REMARK = re.compile(r"\([^()]*\)")
_SPEAKS_IN_CLAIMS: Final = frozenset({"extractive", "generative", "computed"})
"""Methods whose text is claims and nothing between them; an outline has headings too."""


def check_wording(answer: Answer, report: Report) -> None:
    _check_status(answer, report)
    _check_numbering(answer, report)
    _check_text(answer, report)
    _check_short(answer, report)
    _check_grounded(answer, report)


def _check_status(answer: Answer, report: Report) -> None:
    status, reason = answer.status, answer.stop_reason
    if status in _WITH_CLAIMS and rests_on(answer) == "sources":
        if not any(claim.citations for claim in answer.claims):
            report.wrong("status", "answer", f"it is {status}, but no claim has a citation")
    elif status in _WITH_CLAIMS and not answer.claims:
        report.wrong("status", "answer", f"it is {status}, but it claims nothing")
    if status not in _WITH_CLAIMS and answer.claims:
        report.wrong("status", "answer", f"it is {status}, but it makes claims")
    if _ALWAYS_TOGETHER.get(status, reason) != reason or (
        status not in _WITH_CLAIMS and reason == "answered"
    ):
        report.wrong("status", "answer", f"it is {status}, but it stopped because: {reason}")
    if status != "refused" and reason == "refused":
        report.wrong("status", "answer", f"it was refused, but its status is {status}")


def _check_numbering(answer: Answer, report: Report) -> None:
    given = [citation.number for citation in answer.citations]
    if given != list(range(1, len(given) + 1)):
        shown_numbers = ", ".join(map(str, given[:20]))
        report.wrong("numbering", "answer", f"citations are numbered {shown_numbers}, not 1, 2, 3")
    for at, claim in enumerate(answer.claims, 1):
        _check_cited(claim, f"claim {at}", set(given), report)
        if not claim.citations and rests_on(answer) == "sources":
            tell = report.note if claim.supported is False else report.wrong
            tell("numbering", f"claim {at}", "it cites nothing")
    used = {number for claim in answer.claims for number in claim.citations}
    for number in sorted(set(given) - used):
        report.wrong("numbering", f"citation [{number}]", "no claim rests on it")


def _check_cited(claim: Claim, where: str, given: set[int], report: Report) -> None:
    for number in claim.citations:
        if number not in given:
            report.wrong("numbering", where, f"it cites [{number}], which does not exist")
    for number, times in Counter(claim.citations).items():
        if times > 1:
            report.wrong("numbering", where, f"it cites [{number}] {times} times")


def _check_text(answer: Answer, report: Report) -> None:
    text = _flat(without_cut(answer.text))
    at = 0
    marks: list[int] = []
    titled = headings(answer)
    for ordinal, claim in enumerate(answer.claims, 1):
        words = _flat(claim.text)
        found = text.find(words, at) if words else -1
        if found < 0:
            report.wrong("text", f"claim {ordinal}", f"{shown(claim.text)} is not in the text")
            return
        _check_between(answer, text[at:found], titled.get(ordinal, ""), report)
        at = found + len(words)
        following = _marks_at(text, at)
        marks += following[0]
        if following[0] and set(following[0]) != set(claim.citations):
            report.wrong("text", f"claim {ordinal}", _other_marks(following[0], claim))
        at = following[1]
        if claim.supported is False and (remark := _REMARK.match(text, at)):
            at = remark.end()
    _check_rest(answer, text[at:], marks, report)


def _marks_at(text: str, at: int) -> tuple[list[int], int]:
    """The numbers of the marks that stand from `at` on, and where they end."""
    numbers: list[int] = []
    while found := _MARK.match(text, at + (text[at : at + 1] == " ")):
        numbers += _numbers(found[1])
        at = found.end()
    return numbers, at + (text[at : at + 1] == " ")


def _check_between(answer: Answer, words: str, heading: str, report: Report) -> None:
    """Between claims stands nothing, or the heading of the step whose findings follow."""
    if answer.method not in _SPEAKS_IN_CLAIMS:
        return
    if heading and words.strip() != heading:
        report.wrong("text", "answer", f"{shown(words)} stands where {shown(heading)} belongs")
    elif not heading and _says_something(words):
        report.wrong("text", "answer", f"{shown(words)} is in the text, but in no claim")


def _check_rest(answer: Answer, rest: str, marks: Sequence[int], report: Report) -> None:
    """After the last claim an answer may speak about itself; of sources only by their numbers."""
    given = {citation.number for citation in answer.citations}
    loose = [number for found in _MARK.finditer(rest) for number in _numbers(found[1])]
    for number in sorted(set(loose) - given):
        report.wrong("text", "answer", f"the text cites [{number}], which does not exist")
    used = {number for claim in answer.claims for number in claim.citations}
    if marks:
        for number in sorted(used & given - set(marks) - set(loose)):
            report.wrong("text", "answer", f"the text does not cite [{number}], a claim does")
    if answer.claims and answer.choice is not None and answer.choice.letter:
        # The choice is checked by itself; it follows right upon the last claim.
        before, _, rest = rest.partition(_flat(choice_text(answer.choice)))
        _check_between(answer, before, "", report)
    if rests_on(answer) != "sources":
        _check_own_words(answer, rest, report)
    elif answer.claims and _says_something(rest):
        report.note("text", "answer", f"not checked, for it is no claim: {shown(rest)}")


def _check_own_words(answer: Answer, rest: str, report: Report) -> None:
    """How it was read, that it is general knowledge, that sentences were cut: nothing else."""
    reading = answer.analysis.reading if answer.analysis else ""
    for own in (f"Read as: {_flat(reading)}.", GENERAL):
        rest = rest.replace(own, "", 1)
    rest = _CUT.sub("", rest, count=1)
    if _says_something(rest):
        report.wrong("text", "answer", f"{shown(rest)} is in the text, but in no claim")


def _check_short(answer: Answer, report: Report) -> None:
    if rests_on(answer) == "tables":
        return  # it is compared with what the result says
    if answer.short is None or (answer.choice and answer.choice.letter == answer.short):
        return
    wanted = _flat(answer.short).casefold()
    unmarked = " ".join(claim.text for claim in answer.claims)
    places = [answer.text, unmarked, *(citation.quote for citation in answer.citations)]
    if not wanted or not any(_stands_in(_flat(place).casefold(), wanted) for place in places):
        report.wrong(
            "text", "answer", f"the short form {shown(answer.short)} is in no text or quote"
        )


def _stands_in(place: str, wanted: str) -> bool:
    """With its numbers whole: "5 metres" does not stand in "9.5 metres", nor "12" in "12,500"."""
    before = r"(?<!\d)(?<!\d[.,])" if wanted[0].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if wanted[-1].isdigit() else ""
    return re.search(f"{before}{re.escape(wanted)}{after}", place) is not None


def _check_grounded(answer: Answer, report: Report) -> None:
    if answer.grounded.value == "yes" and any(not claim.supported for claim in answer.claims):
        report.wrong("status", "answer", "it calls itself grounded, but not each of its claims")
    for at, claim in enumerate(answer.claims, 1):
        if claim.support is not None and not 0 <= claim.support <= 1:
            report.wrong("claim", f"claim {at}", f"a support of {claim.support} is not from 0 to 1")


def _other_marks(found: Sequence[int], claim: Claim) -> str:
    there = "".join(f"[{number}]" for number in found)
    meant = "".join(f"[{number}]" for number in claim.citations) or "nothing"
    return f"the text cites {there} for it, the claim {meant}"


def _numbers(listed: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", listed)]


def _says_something(words: str) -> bool:
    return any(sign.isalnum() for sign in _MARK.sub("", words))


def _flat(text: str) -> str:
    return " ".join(text.split())


# An answer of documents and tables, taken apart: each part is checked as what it is.


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


# Whether what code computed comes out the same again, from the values that the citations state.


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


# Whether a research agrees with itself: its steps, their counts, and which claims are whose.

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


# Whether a choice follows from what it says: its letter, its options, elements and facts.

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
    _choice_check_grounded(choice, answer, report)
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


def _choice_check_grounded(choice: Choice, answer: Answer, report: Report) -> None:
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
