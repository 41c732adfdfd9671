"""An answer as Markdown, with its references: for notes, mails and issues.

Titles, quotes and a model's words are strangers' text: they come out as plain words, never as
links, images, headings or HTML of theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer, Citation, Computation, Operand, Operation, Status

_STATUS: Final[dict[Status, str]] = {
    "answered": "Answered",
    "partial": "Answered in part",
    "abstained": "Not answered: the evidence is not there",
    "refused": "Refused",
    "failed": "Failed",
}
_SIGNS: Final[dict[Operation, str]] = {
    "years": "-",
    "difference": "-",
    "sum": "+",
    "least": "<",
    "most": ">",
    "same": "=",
}
_ARITHMETIC: Final = frozenset({"years", "difference", "sum"})
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


def to_markdown(answer: Answer) -> str:
    """Question, answer, what it is made of, how sure it is, what went wrong, and the numbered
    references."""
    parts = [
        f"# {_line(answer.question)}",
        _assumed(answer),
        _short(answer),
        _text(answer),
        _computed(answer),
        _asks_back(answer),
        _standing(answer),
        _parts(answer),
        _warnings(answer),
        _references(answer),
        _footer(answer),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def reckoned(computation: Computation) -> str:
    """`2004 [2] - 1981 [1] = 23 years`: what code did, with the citations that state the values."""
    operation = computation.operation
    if operation in _ARITHMETIC:
        values = [f"{one.text} [{one.citation}]" for one in _ordered(computation)]
        return f"{f' {_SIGNS[operation]} '.join(values)} = {computation.result}"
    unlike = operation == "same" and computation.result != "yes"
    sign = "\N{NOT EQUAL TO}" if unlike else _SIGNS[operation]
    named = map(_named, _ordered(computation))
    return f"{f' {sign} '.join(named)}: {computation.result}"


def _named(operand: Operand) -> str:
    name = f" ({operand.name})" if operand.name else ""
    return f"{operand.text}{name} [{operand.citation}]"


def _ordered(computation: Computation) -> Sequence[Operand]:
    """By value, as the sign between them wants it; as they come where one cannot be read."""
    operands, operation = computation.operands, computation.operation
    values = None if operation in {"sum", "same"} else _values(operands, operation)
    if values is None:
        return operands
    falling = operation != "least"
    places = sorted(range(len(operands)), key=values.__getitem__, reverse=falling)
    return [operands[at] for at in places]


def _values(operands: Sequence[Operand], operation: Operation) -> list[Any] | None:
    from secondlook.nodes.parts.values import read_date, read_number

    dates = [read_date(one.text) for one in operands] if operation != "difference" else [None]
    days = [date.day for date in dates if date]
    if len(days) == len(operands):
        return days
    numbers = [found.number for one in operands if (found := read_number(one.text))]
    return numbers if len(numbers) == len(operands) else None


def review_reason(answer: Answer) -> str | None:
    """Why a person should look at the evidence; None where nobody needs to."""
    if not answer.needs_review:
        return None
    if answer.status == "abstained":  # its text says why
        return "look at the evidence"
    why = {
        "attempts_exhausted": "every try was used up",
        "no_progress": "no other search brought more",
    }.get(answer.stop_reason, "not all of it stands on its evidence")
    return f"{why}; look at the evidence"


def _assumed(answer: Answer) -> str:
    return f"*Taken as: {_line(answer.assumed)}*" if answer.assumed else ""


def _computed(answer: Answer) -> str:
    done = [claim.computation for claim in answer.claims if claim.computation]
    return "\n\n".join(f"Computed: {_line(reckoned(one))}" for one in done)


def _asks_back(answer: Answer) -> str:
    return f"**{_line(answer.asks_back)}**" if answer.asks_back else ""


def _parts(answer: Answer) -> str:
    if not answer.parts:
        return ""
    lines = []
    for at, part in enumerate(answer.parts, 1):
        found = f"**{_line(part.short)}**" if part.short else "no answer of its own"
        marks = "".join(f"\\[{number}\\]" for number in part.citations)
        lines.append(f"{at}. {_line(part.question)} {found}{f' {marks}' if marks else ''}")
    return "\n".join(["## Parts", "", *lines])


def _short(answer: Answer) -> str:
    short = _line(answer.short or "")
    return f"**{short}**" if short and short != _line(answer.text) else ""


def _text(answer: Answer) -> str:
    shown = _outlined if answer.method == "outline" else _words
    return "\n\n".join(map(shown, re.split(r"\n\s*\n", answer.text.strip())))


def _outlined(text: str) -> str:
    """Bullets are the outline's own, what stands behind them is not."""
    lines: list[str] = []
    deepest = 0
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        # Indented further than one step from the bullet above it, a line would be code.
        depth = min(len(bullet[1]) // 2, deepest) if bullet else 0
        deepest = depth + 1 if bullet else 0
        lines.append(f"{'  ' * depth}- {_line(line[bullet.end() :])}" if bullet else _words(line))
    return "\n".join(lines)


def _standing(answer: Answer) -> str:
    """`*Answered. Confidence 0.82 (provisional): the reader is sure.*`"""
    reason = f" ({answer.stop_reason.replace('_', ' ')})"
    said = f"{_STATUS[answer.status]}{'' if answer.stop_reason == answer.status else reason}."
    reasons = "; ".join(map(_line, answer.confidence.reasons))
    if answer.confidence.value is not None:
        said += f" Confidence {answer.confidence.value:.2f} ({answer.confidence.label})"
        said += f": {reasons}." if reasons else "."
    elif reasons and answer.status == "answered":
        said += f" Confidence unknown: {reasons}."
    unsupported = sum(claim.supported is False for claim in answer.claims)
    if unsupported:
        said += f" Sentences without support: {unsupported}."
    if review := review_reason(answer):
        said += f" Needs review: {review}."
    return f"*{said}*"


def _warnings(answer: Answer) -> str:
    if not answer.warnings:
        return ""
    lines = [
        f"- {_line(one.node)}: {_line(one.message)} ({_line(one.error)}); {_line(one.consequence)}"
        for one in answer.warnings
    ]
    return "\n".join(["## Warnings", "", *lines])


def _references(answer: Answer) -> str:
    if not answer.citations:
        return ""
    return "\n\n".join(["## References", *map(_reference, answer.citations)])


def _reference(citation: Citation) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    head = f"\\[{citation.number}\\] **{_line(citation.title) or 'Untitled'}**"
    return f"{head}{page}{_source(citation)}\n\n{_quoted(citation.quote)}"


def _source(citation: Citation) -> str:
    if citation.origin == "web":
        read = f", read {_line(citation.fetched)}" if citation.fetched else ""
        return f", {_link(citation.url)}{read}" if citation.url else read
    return (
        f", {_code(citation.path)}" if citation.path else f", document {_code(citation.document)}"
    )


def _link(url: str) -> str:
    """Only addresses of the web become links; `javascript:` and the like stay words."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _line(url)
    if parts.scheme.lower() not in _SAFE_SCHEMES or not parts.netloc:
        return _line(url)
    return f"<{percent_encoded(_CONTROL.sub('', url), safe=_URL_SIGNS)}>"


def _quoted(quote: str) -> str:
    """A block quote of plain words; lines stay lines, so that tables can be read."""
    lines = [line for line in _words(quote).split("\n") if line]
    return "\n".join(f"> {line}  " for line in lines).rstrip() or "> (nothing)"


def _footer(answer: Answer) -> str:
    made = f"Run {_code(answer.run)}, {_line(answer.workflow)}, {answer.method}"
    model = f", {_code(answer.model)}" if answer.model else ""
    return f"---\n\n{made}{model}, {_line(answer.created)}, Secondlook {_line(answer.version)}."


def _line(text: str) -> str:
    return " ".join(_words(text).split())


def _words(text: str) -> str:
    """Text whose every sign stands for itself in Markdown; lines stay lines."""
    lines = _CONTROL.sub("", "\n".join(text.splitlines())).split("\n")
    plain = _SPECIAL.sub(r"\\\g<0>", "\n".join(line.strip() for line in lines))
    return _LINE_OPENER.sub(_harmless_opener, plain)


def _harmless_opener(found: re.Match[str]) -> str:
    """A line that begins like a list, a rule or an underline begins like words."""
    return f"{found[1][:-1]}\\{found[1][-1]}"


def _code(text: str) -> str:
    """Names and paths exactly, in a fence that they cannot break."""
    flat = " ".join(_CONTROL.sub("", text).split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{fence}{space}{flat}{space}{fence}"
