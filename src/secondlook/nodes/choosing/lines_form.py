"""The small form of a reply, for small models: a line for each option, `B: met | reason`, and one
that names the answer, by its letter or its words. There is one element: that the research leads to
the option."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.nodes.choosing.facts import fact_in, quoted_in
from secondlook.nodes.choosing.full_form import cited_by
from secondlook.nodes.choosing.weighing import Weighing
from secondlook.nodes.choosing.words import letter_of, met_of, option_of, said_of
from secondlook.state import ElementData, OptionData, VerdictData

if TYPE_CHECKING:
    from secondlook.nodes.choosing.task import Task

ELEMENT = "The research, with the facts of the question, leads to this option."
_MOST_CITED = 5
_LINE = re.compile(r"^\W*(?:option\s+)?\(?([A-Za-z])\s*[).:=-]+\s*(.+)$", re.IGNORECASE)
_ANSWER = re.compile(
    r"^\W*(?:the\s+)?(?:final\s+|correct\s+|right\s+)?(?:answer|choice)\b(?:\s+is\b)?\W*(.*)$",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"^\W*(?:because|reason)\b\W*(.*)$", re.IGNORECASE)
_VERDICT = re.compile(r"\W*(not[ _-]*met|unmet|met|unknown|unclear)\b[^\w\"\[]*", re.IGNORECASE)
"""Not "yes" or "no": small models repeat an option, and many begin so."""
_SOURCE = re.compile(r"\[(\d{1,3})\]")


@dataclass(slots=True)
class _Lines:
    judged: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Verdict and reason by letter."""
    named: str | None = None
    because: str = ""


def read_lines(text: str, task: Task) -> Weighing | None:
    """What the lines say; None where they judge no option and name none."""
    lines = _Lines()
    for line in text.splitlines():
        if because := _BECAUSE.match(line):
            lines.because = lines.because or because[1]
        elif answer := _ANSWER.match(line):
            lines.named = option_of(answer[1], task.options) or lines.named
        elif judged := _judged(line, task):
            lines.judged.setdefault(judged[0], judged[1:])
    if not lines.judged and lines.named is None:
        return None
    return _weighing(lines, task)


def _judged(line: str, task: Task) -> tuple[str, str, str] | None:
    """Letter, verdict and reason; None where the line is something else."""
    found = _LINE.match(line)
    letter = letter_of(found[1], task.options) if found else None
    verdict = _VERDICT.match(found[2]) if found else None
    if found is None or letter is None or verdict is None:
        return None
    return letter, verdict[1], found[2][verdict.end() :]


def _weighing(lines: _Lines, task: Task) -> Weighing:
    """An option of which nothing was said is unknown, but for the one that was named."""
    said = dict(lines.judged)
    if lines.named is not None:
        verdict, reason = said.get(lines.named, ("unknown" if said else "met", ""))
        said[lines.named] = (verdict, reason or lines.because)
    options = [_option(letter, said.get(letter), task) for letter in task.options]
    reasons = [reason for _, reason in said.values()]
    numbers = [int(number) for reason in reasons for number in _SOURCE.findall(reason)]
    known = list(dict.fromkeys(one for one in numbers if 1 <= one <= len(task.research)))
    shown = known or list(range(1, len(task.research) + 1))
    quoted = sum(bool(quoted_in(reason)) for reason in reasons)
    kept = sum(option["verdicts"][0]["fact"] is not None for option in options)
    return Weighing(
        elements=[ElementData(text=ELEMENT, cited=cited_by(shown[:_MOST_CITED], task))],
        options=options,
        named=lines.named,
        facts_dropped=max(0, quoted - kept),
        sources_dropped=sum(not 1 <= one <= len(task.research) for one in numbers),
    )


def _option(letter: str, said: tuple[str, str] | None, task: Task) -> OptionData:
    verdict, reason = said or ("unknown", "")
    sources = (task.stem, task.options[letter])
    facts = [fact for quote in quoted_in(reason) if (fact := fact_in(quote, sources))]
    return OptionData(
        letter=letter,
        text=task.options[letter],
        verdicts=[VerdictData(element=1, met=met_of(verdict), fact=facts[0] if facts else None)],
        reason=said_of(_SOURCE.sub("", reason)).strip(" |"),
    )
