"""Whether an answer agrees with itself: its status, its text, its claims and their numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from secondlook.answer import (
    Answer,
    AnswerPart,
    Check,
    Choice,
    ChoiceOption,
    Claim,
    Computation,
    ResearchStep,
    Status,
)
from secondlook.nodes.choices import parsed
from secondlook.nodes.combine import OPERATIONS, flat, stands_in
from secondlook.nodes.explain import GENERAL
from secondlook.nodes.finish import marked
from secondlook.nodes.finish_auto import shifted, unanswered
from secondlook.nodes.limits import lead, without_cut
from secondlook.nodes.options import Weighing, choice_text, derived, step_heading
from secondlook.nodes.state import OptionData, VerdictData
from secondlook.roles.arithmetic import Stated, computed, sentence
from secondlook.roles.wants import wanted
from secondlook.verify.report import Report, rests_on, shown

_WITH_CLAIMS: Final[frozenset[Status]] = frozenset({"answered", "partial"})
_MARK = re.compile(r"\[(\d{1,6}(?:\s?[,;]\s?\d{1,6})*)\]")
_CUT = re.compile(r"\(\d{1,4} (?:more )?sentences? (?:was|were) cut: [a-z ]+\.\)")
_REMARK = re.compile(r"\([^()]*\)")
_SPEAKS_IN_CLAIMS: Final = frozenset({"extractive", "generative", "computed"})
"""Methods whose text is claims and nothing between them; an outline has headings too."""


def check_wording(answer: Answer, report: Report) -> None:
    wrong = report.checker("status", "answer")
    if answer.method == "catalogue":  # it tells of the library, and answers from no document
        more = answer.claims or answer.citations or answer.short or answer.status != "answered"
        wrong(more, "a list of the library makes no claims")
        return
    _check_status(answer, report)
    _check_numbering(answer, report)
    _check_text(answer, report)
    _check_short(answer, report)
    loose = answer.grounded.value == "yes" and any(not one.supported for one in answer.claims)
    wrong(loose, "it calls itself grounded, but not each of its claims")
    for at, claim in enumerate(answer.claims, 1):
        if claim.support is not None and not 0 <= claim.support <= 1:
            report.wrong("claim", f"claim {at}", f"a support of {claim.support} is not from 0 to 1")


def _check_status(answer: Answer, report: Report) -> None:
    wrong, status, reason = report.checker("status", "answer"), answer.status, answer.stop_reason
    claims, of_sources = answer.claims, rests_on(answer) == "sources"
    cited = any(claim.citations for claim in claims)
    given = status in _WITH_CLAIMS
    wrong(given and of_sources and not cited, f"it is {status}, but no claim has a citation")
    wrong(given and not of_sources and not claims, f"it is {status}, but it claims nothing")
    wrong(not given and claims, f"it is {status}, but it makes claims")
    unlike = reason != status if status in {"answered", "refused"} else reason == "refused"
    unlike = unlike or (not given and reason == "answered")
    wrong(unlike, f"it is {status}, but it stopped because: {reason}")


def _check_numbering(answer: Answer, report: Report) -> None:
    given = [citation.number for citation in answer.citations]
    if given != list(range(1, len(given) + 1)):
        listed = ", ".join(map(str, given[:20]))
        report.wrong("numbering", "answer", f"citations are numbered {listed}, not 1, 2, 3")
    used = set()
    for at, claim in enumerate(answer.claims, 1):
        where = f"claim {at}"
        for number, times in Counter(claim.citations).items():
            used.add(number)
            missing = f"it cites [{number}], which does not exist"
            report.wrong_if(number not in given, "numbering", where, missing)
            report.wrong_if(times > 1, "numbering", where, f"it cites [{number}] {times} times")
        if not claim.citations and rests_on(answer) == "sources":
            tell = report.note if claim.supported is False else report.wrong
            tell("numbering", where, "it cites nothing")
    for number in sorted(set(given) - used):
        report.wrong("numbering", f"citation [{number}]", "no claim rests on it")


def _check_text(answer: Answer, report: Report) -> None:
    text = flat(without_cut(answer.text))
    leads = (lead(answer.tier, answer.short, answer.method), lead(answer.tier, None, answer.method))
    at = next((len(one) for one in leads if text.startswith(one)), 0)
    marks: list[int] = []
    titled = headings(answer)
    for ordinal, claim in enumerate(answer.claims, 1):
        words, where = flat(claim.text), f"claim {ordinal}"
        found = text.find(words, at) if words else -1
        if answer.method == "survey":  # a title may have the words too
            found = max(found, text.find(flat(marked(claim)), at))
        if found < 0:
            report.wrong("text", where, f"{shown(claim.text)} is not in the text")
            return
        _check_between(answer, text[at:found], titled.get(ordinal, ""), report)
        following, at = _marks_at(text, found + len(words))
        marks += following
        if following and set(following) != set(claim.citations):
            there = "".join(f"[{number}]" for number in following)
            meant = "".join(f"[{number}]" for number in claim.citations) or "nothing"
            report.wrong("text", where, f"the text cites {there} for it, the claim {meant}")
        if claim.supported is False and (remark := _REMARK.match(text, at)):
            at = remark.end()
    _check_rest(answer, text[at:], marks, report)


def _marks_at(text: str, at: int) -> tuple[list[int], int]:
    """The numbers of the marks that stand from `at` on, and where they end."""
    numbers: list[int] = []
    while found := _MARK.match(text, at + (text[at : at + 1] == " ")):
        numbers += map(int, re.findall(r"\d+", found[1]))
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
    loose = {int(one) for found in _MARK.finditer(rest) for one in re.findall(r"\d+", found[1])}
    for number in sorted(loose - given):
        report.wrong("text", "answer", f"the text cites [{number}], which does not exist")
    used = {number for claim in answer.claims for number in claim.citations}
    for number in sorted(used & given - set(marks) - loose) if marks else ():
        report.wrong("text", "answer", f"the text does not cite [{number}], a claim does")
    if answer.claims and answer.choice is not None and answer.choice.letter:
        # The choice is checked by itself; it follows right upon the last claim.
        before, _, rest = rest.partition(flat(choice_text(answer.choice)))
        _check_between(answer, before, "", report)
    if rests_on(answer) == "sources":
        if answer.claims and _says_something(rest):
            report.note("text", "answer", f"not checked, for it is no claim: {shown(rest)}")
        return
    # How it was read, that it is general knowledge, that sentences were cut: nothing else.
    reading = answer.analysis.reading if answer.analysis else ""
    for own in (f"Read as: {flat(reading)}.", GENERAL):
        rest = rest.replace(own, "", 1)
    rest = _CUT.sub("", rest, count=1)
    message = f"{shown(rest)} is in the text, but in no claim"
    report.wrong_if(_says_something(rest), "text", "answer", message)


def _check_short(answer: Answer, report: Report) -> None:
    of_tables = rests_on(answer) == "tables"  # there it is compared with what the result says
    chosen = answer.choice and answer.choice.letter == answer.short
    chosen = chosen or (answer.method == "extractive" and answer.short in {"Yes", "No"})
    if of_tables or answer.short is None or chosen:
        return
    wanted = flat(answer.short).casefold()
    unmarked = " ".join(claim.text for claim in answer.claims)
    places = [answer.text, unmarked, *(citation.quote for citation in answer.citations)]
    # Numbers are whole: "5 metres" does not stand in "9.5 metres", nor "12" in "12,500".
    before = r"(?<!\d)(?<!\d[.,])" if wanted[:1].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if wanted[-1:].isdigit() else ""
    form = re.compile(f"{before}{re.escape(wanted)}{after}")
    if not wanted or not any(form.search(flat(place).casefold()) for place in places):
        message = f"the short form {shown(answer.short)} is in no text or quote"
        report.wrong("text", "answer", message)


def _says_something(words: str) -> bool:
    return any(sign.isalnum() for sign in _MARK.sub("", words))


# An answer of documents and tables, taken apart: each part is checked as what it is.


def apart(answer: Answer, report: Report) -> list[Answer]:
    """The answers that it was put together from; itself where it is one. What does not come apart
    as it says is reported."""
    if all(part.status is None for part in answer.parts):
        return [answer]
    listed = [number for part in answer.parts for number in part.claims]
    values = " ".join(filter(None, (part.short for part in answer.parts)))
    unlike = answer.short is not None and answer.short.replace("; ", " ") != values
    open_ = answer.status == "answered" and any(one.status != "answered" for one in answer.parts)
    mixed = listed != list(range(1, len(answer.claims) + 1))
    report.wrong_if(mixed, "status", "answer", "its parts do not tell whose each claim is")
    report.wrong_if(open_, "status", "answer", "it is answered, but not each of its parts")
    message = f"the short form {shown(answer.short)} is not of its parts"
    report.wrong_if(unlike, "text", "answer", message)
    text, found = without_cut(answer.text), []
    told = [part for part in answer.parts if part.claims]
    for part in reversed(answer.parts):
        if not part.claims and told:
            # The text before what it says of a part that has no answer.
            said = unanswered(part)
            before, there, after = text.rpartition(f"\n\n{said}")
            if there and not after.strip():
                text = before
            else:
                report.wrong("text", "answer", f"it does not say {shown(said)}")
    for at, part in enumerate(told):
        # The text of a part ends where the first claim of the next one begins.
        following = told[at + 1].claims[0] - 1 if at + 1 < len(told) else len(answer.claims)
        begins = answer.claims[following].text if following < len(answer.claims) else ""
        end = text.find(f"\n\n{begins}") if begins else -1
        own, text = (text, "") if end < 0 else (text[:end], text[end:].lstrip())
        found.append(_alone(answer, part, own))
    return found or [answer]


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
            _check_computation(claim, claim.computation, f"claim {at}", answer, report)
    of_claims = answer.method == "computed" and rests_on(answer) == "sources"
    message = f"the short form {shown(answer.short)} is not what was computed"
    report.wrong_if(of_claims and answer.short not in results, "computation", "answer", message)


def _check_computation(
    claim: Claim, made: Computation, where: str, answer: Answer, report: Report
) -> None:
    wrong = report.checker("computation", where)
    for operand in made.operands:
        value, mark = shown(operand.text), f"[{operand.citation}]"
        cited = next((one for one in answer.citations if one.number == operand.citation), None)
        if cited is None or operand.citation not in claim.citations:
            report.wrong(
                "computation", where, f"its value {value} is of {mark}, which it cites not"
            )
        else:
            stands = stands_in(operand.text, cited.quote)
            wrong(not stands, f"its value {value} stands nowhere in {mark}")
        # The part that rests on the operand's citation is about what it is named for.
        asked = [part.question for part in answer.parts if operand.citation in part.citations]
        named = operand.name or ""
        unasked = named and not any(stands_in(named, one) for one in asked or [answer.asked])
        wrong(unasked, f"nobody asked about {shown(named)} what {mark} states")
    stated = [Stated(operand.text, operand.name) for operand in made.operands]
    again = computed(made.operation, stated)
    if again != made.result:
        comes = "cannot be computed" if again is None else f"comes to {shown(again)}"
        report.wrong("computation", where, f"its result {shown(made.result)} {comes}")
    elif flat(claim.text) != flat(sentence(made.operation, stated, made.result)):
        report.wrong("computation", where, f"{shown(claim.text)} is not what was computed")
    # Where the question's form tells what must be computed, nothing else was.
    form = wanted(answer.asked).split
    operation = OPERATIONS.get(form.combining) if form else None
    other = operation is not None and operation != made.operation
    wrong(other, f"the question asks for {operation}, not {made.operation}")


# Whether a research agrees with itself: its steps, their counts, and which claims are whose.


def check_research(answer: Answer, report: Report) -> None:
    research = answer.research
    if research is None:
        return
    wrong = report.checker("research", "research")
    steps = [step.status for step in research.steps]
    for kind in ("completed", "weak", "failed", "pending"):
        said, listed = getattr(research, kind), steps.count(kind)
        wrong(said != listed, f"it says that {said} steps are {kind}, and lists {listed}")
    tried = len(steps) - steps.count("pending")
    other = research.recalled is None and research.cycles != tried
    wrong(other, f"it says that {research.cycles} steps were tried, and lists {tried}")
    verdict = research.screen.verdict
    refused = (verdict == "refused") != (answer.status == "refused")
    wrong(refused, f"the screen says {verdict}, but the answer is {answer.status}")
    told: set[int] = set()
    for at, step in enumerate(research.steps, 1):
        wrong, again, sure = (
            report.checker("research", f"step {at}"),
            step.retry_of,
            step.confidence,
        )
        astray = step.id != at or (again is not None and not 1 <= again < at)
        wrong(astray, "it is not numbered as the steps come")
        beyond = sure is not None and not 0 <= sure <= 1
        wrong(beyond, f"a confidence of {sure} is not from 0 to 1")
        idle = step.status in {"failed", "pending"} and step.claims
        wrong(idle, f"it is {step.status}, but it has findings")
        for number in step.claims:
            missing = not 1 <= number <= len(answer.claims)
            wrong(missing, f"it found claim {number}, which does not exist")
            told.add(number)
    # The first may be the answer itself, read out of what all steps found.
    for number in sorted(set(range(1 + bool(told), len(answer.claims) + 1)) - told):
        report.wrong("research", f"claim {number}", "no step of the research found it")


def headings(answer: Answer) -> dict[int, str]:
    """The line that stands before a claim, by its number: where findings of another step begin.
    None where only one step found something."""
    steps = [step for step in (answer.research.steps if answer.research else ()) if step.claims]
    if len(steps) < 2:  # noqa: PLR2004
        return {}
    owners: dict[int, ResearchStep] = {}
    for step in steps:
        for number in step.claims:
            owners.setdefault(number, step)
    return {
        number: step_heading(owner.id, owner.phase)
        for number in range(1, len(answer.claims) + 1)
        if (owner := owners.get(number)) is not None and owner is not owners.get(number - 1)
    }


# Whether a choice follows from what it says: its letter, its options, elements and facts.

_CHOSEN: Final = re.compile(r"^(?:Answer: \(|Ungrounded:)", re.MULTILINE)


def check_choice(answer: Answer, report: Report) -> None:
    choice, wrong = answer.choice, report.checker("choice", "answer")
    if choice is None:
        named = answer.research is not None and _CHOSEN.search(answer.text)
        wrong(named, "the text names a choice, and none was made")
        return
    _check_letter(choice, answer, report)
    # The text ends with what was chosen, and with nothing else that looks like it.
    said = choice_text(choice)
    wrong(said and answer.text.count(said) != 1, f"the text does not say once {shown(said)}")
    wrong(_CHOSEN.search(answer.text.replace(said, "")), "the text names another choice")
    asked = parsed(answer.question).choices
    if not asked:
        report.note("choice", "choice", "the question does not show its options as they were read")
    elif asked != {option.letter: option.text for option in choice.options}:
        report.wrong("choice", "choice", "its options are not those of the question")
    given = {citation.number for citation in answer.citations}
    for at, element in enumerate(choice.elements, 1):
        for number in sorted(set(element.citations) - given):
            message = f"it cites [{number}], which does not exist"
            report.wrong("choice", f"element {at}", message)
        if not element.citations and choice.model is not None:
            report.note("choice", f"element {at}", f"no source states {shown(element.text)}")
    for option in choice.options:
        _check_verdicts(option, choice, answer, report)


def _check_letter(choice: Choice, answer: Answer, report: Report) -> None:
    wrong = report.checker("choice", "choice")
    letter, texts = choice.letter, {option.letter: option.text for option in choice.options}
    wrong(len(texts) < len(choice.options), "two options have the same letter")
    if letter is None:
        wrong(choice.text is not None, "nothing was chosen, but it has words")
        return
    message = f"the short form is {shown(answer.short)}, and {letter} was chosen"
    report.wrong_if(answer.short != letter, "choice", "answer", message)
    wrong(letter not in texts, f"there is no option {shown(letter)}")
    wrong(texts.get(letter, choice.text) != choice.text, f"its words are not option {letter}")
    # A model's verdicts leave one letter, or several; the reader goes by its own scores.
    if choice.model is not None and any(option.verdicts for option in choice.options):
        options = [_data(option) for option in choice.options]
        allowed = derived(Weighing([], options)).letters
        other = bool(allowed) and letter not in allowed
        wrong(other, f"by what is met it is {' or '.join(allowed)}, not {letter}")
    unfounded = choice.grounded and not answer.claims
    wrong(unfounded, "it calls itself grounded, but nothing was found")
    known = answer.claims or choice.elements or choice.confidence is not None
    guess = not choice.grounded and known
    wrong(guess, "it is a guess, but it has claims, elements or a confidence")
    agreed = choice.agreed is not None and choice.model is None
    wrong(agreed, "no model chose, so that none can have agreed")


def _data(option: ChoiceOption) -> OptionData:
    verdicts = [
        VerdictData(element=one.element, met=one.met, fact=one.fact) for one in option.verdicts
    ]
    return OptionData(
        letter=option.letter, text=option.text, verdicts=verdicts, reason=option.reason
    )


def _check_verdicts(option: ChoiceOption, choice: Choice, answer: Answer, report: Report) -> None:
    wrong = report.checker("choice", f"option {option.letter}")
    judged = [one.element for one in option.verdicts]
    wrong(len(set(judged)) < len(judged), "an element was judged twice")
    sources = [flat(text) for text in (answer.question, answer.asked, option.text)]
    for verdict in option.verdicts:
        message = f"it was judged by element {verdict.element}, which does not exist"
        wrong(verdict.element > len(choice.elements), message)
        fact = None if verdict.fact is None else flat(verdict.fact)
        stray = fact is not None and not (fact and any(fact in text for text in sources))
        wrong(stray, f"{shown(verdict.fact)} is not in the question")
