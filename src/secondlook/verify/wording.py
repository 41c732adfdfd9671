"""Whether an answer agrees with itself: its status, its text, its claims and their numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from secondlook.nodes.choosing.telling import choice_text
from secondlook.nodes.cutting_short import without_cut
from secondlook.nodes.explain_concept import GENERAL
from secondlook.verify.report import Report, shown
from secondlook.verify.research import headings
from secondlook.verify.standing import rests_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer, Claim, Status, StopReason

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
