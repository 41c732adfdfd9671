"""Exams: what a reply counts as, and what all replies amount to (docs/evaluation.md). It is right,
wrong, withheld, or uncommitted: asked for yes or no, it only quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

from secondlook.evaluation.metrics import CITATION_MARK, MOST_WORDS, is_answered
from secondlook.evaluation.records import Case, Outcome, Row, Tally
from secondlook.evaluation.statistics import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer

NEAR = 0.005  # how far a number may be off, as a share of the right one
YEARS = range(1900, 2101)  # the next one is another
_COMMITS = frozenset({"yes", "no", "ja", "nein", "oui", "non"})
_NONE = re.compile(r"(?:no|none|nothing|zero)\b|.*\bthere (?:is|are|was|were) (?:no|none)\b")


def outcome(case: Case, answer: Answer | None) -> Outcome | None:
    """None where the set leaves the judgement to a reader, and of sets that are no exam."""
    unknown = case.answerable and not case.answers
    if case.need is None or case.type == "meta" or unknown:
        return None
    if answer is None or not is_answered(answer):
        failed = answer is None or answer.status == "failed"
        return "withheld" if case.answerable or failed else "right"
    text = CITATION_MARK.sub("", answer.text)
    given = [words(answer.short or ""), words(" ".join(text.split()[:MOST_WORDS]))]
    if not case.answerable:
        # Of values that a table does not have, "none" says just that.
        over_table = bool(case.answers) or (case.type or "").startswith("table")
        return "right" if over_table and any(map(says_none, given)) else "wrong"
    forms = [form for one in case.answers if (form := words(one))]
    # "no" stands in many a sentence: where it is the answer, the reply must begin with it.
    if case.type == "yes_no" or any(len(form) == 1 and form[0] in _COMMITS for form in forms):
        if any(held[: len(form)] == form for held in given for form in forms):
            return "right"
        return "wrong" if any(held[0] in _COMMITS for held in given if held) else "uncommitted"
    held = [any(contains(reply, form) for reply in given) for form in forms]
    return "right" if (all(held) if case.need == "all" else any(held)) else "wrong"


def words(text: str) -> list[str]:
    """In lower case, numbers without thousands separators and with a decimal point."""
    text = text.lower().replace("\N{MINUS SIGN}", "-")
    text = re.sub(r"(?<=\d)\.(?=\d{3}(?:\.\d{3})*,\d)", "", text)  # as in 1.234,50
    text = re.sub(r"(?<=\d)[,'\u2019\u00a0\u202f](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<=\d),(?=\d{1,2}(?!\d))", ".", text)
    return re.findall(r"(?:(?<!\S)-(?=\d))?(?:\d+\.\d+|\w+)", text)


def contains(reply: Sequence[str], form: Sequence[str]) -> bool:
    starts = range(len(reply) - len(form) + 1)
    return any(all(map(_same, form, reply[at:])) for at in starts)


def _same(wanted: str, found: str) -> bool:
    number, other = _number(wanted), _number(found)
    if number is None or other is None:
        return wanted == found
    is_year = wanted.isdigit() and number in YEARS
    return number == other if is_year else abs(number - other) <= NEAR * abs(number)


def says_none(reply: Sequence[str]) -> bool:
    numbers = [number for word in reply if (number := _number(word)) is not None]
    return bool(_NONE.match(" ".join(reply))) or (bool(numbers) and not any(numbers))


def _number(word: str) -> float | None:
    return float(word) if re.fullmatch(r"-?\d+(\.\d+)?", word, re.ASCII) else None


PLAIN = frozenset({"fact", "field", "yes_no", "why_how", "list", "unanswerable"})
TOGETHER = ("plain documents", "all kinds", "sure", "likely")
"""Lines of the table beside the kinds: those of `PLAIN`, all, and all of each tier."""
SEALED = "wrong_under_a_seal"  # found to rest on its evidence, and yet wrong


def tallies(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Tally]:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        if row.outcome is not None:
            plain = TOGETHER[0] if row.type in PLAIN else None
            for line in filter(None, (row.type, plain, TOGETHER[1], row.tier)):
                lines.setdefault(line, []).append(row)
    kinds = sorted(set(lines) - set(TOGETHER))
    return {line: _tally(lines[line], seed) for line in (*kinds, *TOGETHER) if line in lines}


def _tally(rows: Sequence[Row], seed: int) -> Tally:
    marks = {told: [float(row.outcome == told) for row in rows] for told in get_args(Outcome)}
    marks[SEALED] = [float(row.outcome == "wrong" and row.grounded == "yes") for row in rows]
    cases, each = [row.case for row in rows], [1.0] * len(rows)
    shares = {told: share(cases, mark, each, seed=seed) for told, mark in marks.items()}
    return Tally(
        n=len(rows),
        counts={told: int(sum(mark)) for told, mark in marks.items()},
        shares={told: one for told, one in shares.items() if one is not None},
    )
