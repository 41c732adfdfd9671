"""Words as Markdown that stands for itself: strangers' text never becomes a link, an image, a
heading or HTML of theirs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from secondlook.nodes.options import choice_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.answer import Answer, Method, ResultTable

_SPECIAL = re.compile(
    r"[\\`*_\[\]<>#|~$@]"
    r"|:(?=//|[a-z_+-]{1,40}:)"  # bare addresses, :smile:
    r"|&(?=#?\w{1,32};)"  # entities
    r"|(?<=\bwww)\.",
    re.IGNORECASE,
)
_LINE_OPENER = re.compile(r"^([-+=]|\d{1,9}[.)])(?=\s|[-=]|$)", re.MULTILINE)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters, and those that turn the direction of writing."""
_BULLET = re.compile(r"( *)- ")
_SAFE_SCHEMES = frozenset({"http", "https"})
_URL_SIGNS = "/:?#@!$&'*+,;=%~-._"


def link(url: str) -> str:
    """Only addresses of the web become links; `javascript:` and the like stay words."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return flat(url)
    if parts.scheme.lower() not in _SAFE_SCHEMES or not parts.netloc:
        return flat(url)
    return f"<{percent_encoded(_CONTROL.sub('', url), safe=_URL_SIGNS)}>"


def quoted(quote: str) -> str:
    """A block quote of plain words; lines stay lines, so that tables can be read."""
    lines = [line for line in words(quote).split("\n") if line]
    return "\n".join(f"> {line}  " for line in lines).rstrip() or "> (nothing)"


def flat(text: str) -> str:
    return " ".join(words(text).split())


def words(text: str) -> str:
    """Text whose every sign stands for itself in Markdown; lines stay lines."""
    lines = _CONTROL.sub("", "\n".join(text.splitlines())).split("\n")
    plain = _SPECIAL.sub(r"\\\g<0>", "\n".join(line.strip() for line in lines))
    return _LINE_OPENER.sub(_harmless_opener, plain)


def paragraphs(text: str, method: Method) -> str:
    """The text of an answer. Bullets of an outline are its own, what stands behind them is not."""
    shown = _outlined if method in {"outline", "catalogue"} else words
    return "\n\n".join(map(shown, re.split(r"\n\s*\n", text.strip())))


def _outlined(text: str) -> str:
    lines: list[str] = []
    deepest = 0
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        # Indented further than one step from the bullet above it, a line would be code.
        depth = min(len(bullet[1]) // 2, deepest) if bullet else 0
        deepest = depth + 1 if bullet else 0
        lines.append(f"{'  ' * depth}- {flat(line[bullet.end() :])}" if bullet else words(line))
    return "\n".join(lines)


def _harmless_opener(found: re.Match[str]) -> str:
    """A line that begins like a list, a rule or an underline begins like words."""
    return f"{found[1][:-1]}\\{found[1][-1]}"


def code(text: str) -> str:
    """Names and paths exactly, in a fence that they cannot break."""
    flat = " ".join(_CONTROL.sub("", text).split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{fence}{space}{flat}{space}{fence}"


# A research as Markdown: a heading for each step, its findings with marks that name step and
# source, the choice with its reasons, and every step that was tried.

_MARKS = re.compile(r"\s*(?:\[\d{1,6}\])+")
_DATE = 10  # characters of an ISO time that are its date


def recalled(answer: Answer) -> str:
    earlier = answer.research.recalled if answer.research else None
    if earlier is None:
        return ""
    alike = f"{earlier.similarity:.2f} alike, {flat(earlier.created[:_DATE])}"
    return f"*From memory: {flat(earlier.question)} ({alike})*"


def by_step(answer: Answer) -> tuple[str, dict[int, str]]:
    """The findings under a heading for each step, and what the answer says after them, such as
    that sentences were cut; and under which names each citation goes: `[Query 2][Source 3]` for
    each step that cites it. Empty where the steps do not account for each claim once."""
    steps = [step for step in (answer.research.steps if answer.research else ()) if step.claims]
    numbers = sorted(number for step in steps for number in step.claims)
    if not numbers or numbers != list(range(1, len(answer.claims) + 1)):
        return "", {}
    told: list[str] = []
    named: dict[int, list[str]] = {}
    for step in steps:
        claims = [answer.claims[number - 1] for number in step.claims]
        cited = dict.fromkeys(number for claim in claims for number in claim.citations)
        marks = {
            number: f"\\[Query {step.id}\\]\\[Source {at}\\]" for at, number in enumerate(cited, 1)
        }
        for number, mark in marks.items():
            named.setdefault(number, []).append(mark)
        said = []
        for claim in claims:
            sources = " ".join(marks[number] for number in claim.citations)
            doubt = " (not supported by the evidence)" if claim.supported is False else ""
            said.append(f"{flat(claim.text)} {sources}{doubt}".rstrip())
        head = f"## Step {step.id}: {flat(step.phase)}\n\n*{flat(step.question)}*"
        told.append(f"{head}\n\n{' '.join(said)}")
    last = answer.claims[-1].text
    rest = answer.text.rpartition(last)[2] if last in answer.text else ""
    if found := _MARKS.match(rest):
        rest = rest[found.end() :]
    if answer.choice and (choice := choice_text(answer.choice)):  # it has a section of its own
        rest = rest.replace(choice, "")
    told += [words(block) for block in re.split(r"\n\s*\n", rest.strip()) if block]
    return "\n\n".join(told), {number: " ".join(marks) for number, marks in named.items()}


def chosen(answer: Answer) -> str:
    choice = answer.choice
    if choice is None:
        return ""
    head = f"Nothing chosen: {flat(choice.why)}."
    if choice.letter is not None:
        sure = f" Confidence {choice.confidence:.2f} (provisional)." if choice.confidence else ""
        marked = (
            "" if choice.grounded else " **Ungrounded: the model's own guess, without a source.**"
        )
        disagreed = choice.agreed is False
        agreed = " Another order of the options led to another one." if disagreed else ""
        letter = f"**({choice.letter}) {flat(choice.text or '')}**"
        head = f"{letter}\n\n{flat(choice.why)}.{sure}{marked}{agreed}"
    lines = ["## Choice", "", head, ""]
    for option in choice.options:
        text = f"({option.letter}) {flat(option.text)}"
        mark = f"**{text}**" if option.letter == choice.letter else text
        lines.append(f"- {mark}{f' {flat(option.reason)}' if option.reason else ''}")
        for verdict in option.verdicts:
            known = verdict.element <= len(choice.elements)
            element = choice.elements[verdict.element - 1] if known else None
            said = flat(element.text) if element else f"element {verdict.element}"
            marks = "".join(f"\\[{number}\\]" for number in element.citations) if element else ""
            fact = f' ("{flat(verdict.fact)}")' if verdict.fact else ""
            lines.append(f"  - {verdict.met}: {said}{f' {marks}' if marks else ''}{fact}")
    return "\n".join(lines)


def steps_tried(answer: Answer) -> str:
    """Every step, those that failed too."""
    steps = answer.research.steps if answer.research else ()
    lines = []
    for step in steps:
        sure = f", confidence {step.confidence:.2f}" if step.confidence is not None else ""
        again = f", step {step.retry_of} in other words" if step.retry_of is not None else ""
        told = f"*{step.status}{sure}{again}*"
        lines.append(f"{step.id}. {flat(step.phase)}: {flat(step.question)} {told}")
    return "\n".join(["## Steps", "", *lines]) if lines else ""


# An analysis as Markdown: its result, how it was read, its code and checks, and its tables.

_MOST_ROWS = 100


def analysed(answer: Answer) -> str:
    """Empty where the answer is no analysis, or one that computed nothing."""
    analysis = answer.analysis
    if analysis is None or analysis.kind == "concept":
        return ""
    source = fenced(analysis.sql, "sql") if analysis.sql else ""
    if not source and analysis.code:
        source = fenced(analysis.code, "python")
    parts = [
        _table(analysis.table),
        f"Read as: {flat(analysis.reading)}." if analysis.reading else "",
        _listed(
            "Columns:",
            (
                f"{flat(one.asked)}: {code(one.column)} ({one.score:.2f}, {one.how})"
                for one in analysis.columns
            ),
        ),
        source,
        _listed(
            "Checks:",
            (
                f"{'passed' if one.passed else '**failed**'}: {flat(one.said)}"
                for one in analysis.checks
            ),
        ),
        _listed(
            "Tried again:",
            (f"{one.action.replace('_', ' ')}: {flat(one.cause)}" for one in analysis.remedies),
        ),
        _listed(
            "Charts, in the answer as JSON:",
            (f"{flat(one.title) or 'untitled'} ({one.kind})" for one in analysis.figures),
        ),
        _listed(
            "Made of:",
            (
                f"{flat(one.title)}, {one.rows:,} rows{f', {code(one.path)}' if one.path else ''}, "
                f"SHA-256 {code(one.sha256)}"
                for one in analysis.inputs
            ),
        ),
    ]
    return "\n\n".join(["## Analysis", *(part for part in parts if part)])


def _listed(head: str, items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items]
    return "\n".join([head, "", *lines]) if lines else ""


def _table(table: ResultTable | None) -> str:
    if table is None or not table.columns:
        return ""
    lines = [[flat(name) for name in table.columns], ["---"] * len(table.columns)]
    lines += [
        ["" if cell is None else flat(str(cell)) for cell in row] for row in table.rows[:_MOST_ROWS]
    ]
    shown = min(_MOST_ROWS, len(table.rows))
    more = f"\n\n({shown} of {table.total_rows} rows.)" if table.total_rows > shown else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + more


def fenced(text: str, language: str) -> str:
    """In a fence that nothing within can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    plain = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", text)
    return f"{fence}{language}\n{plain.strip()}\n{fence}"
