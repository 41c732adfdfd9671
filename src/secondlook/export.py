"""An answer as Markdown, with its references: for notes, mails and issues.

Titles, quotes and a model's words are strangers' text: they come out as plain words, never as
links, images, headings or HTML of theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from secondlook.answer import Answer, Citation, Status

_STATUS: Final[dict[Status, str]] = {
    "answered": "Answered",
    "partial": "Answered in part",
    "abstained": "Not answered: the evidence is not there",
    "refused": "Refused",
    "failed": "Failed",
}
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
    """Question, answer, how sure it is, what went wrong, and the numbered references."""
    parts = [
        f"# {_line(answer.question)}",
        _short(answer),
        _text(answer),
        _standing(answer),
        _warnings(answer),
        _references(answer),
        _footer(answer),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


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
