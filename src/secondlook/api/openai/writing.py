"""An answer as a chat message: Markdown with a link behind every claim, and where each link is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.api.openai.forms import Annotation, UrlCitation
from secondlook.export.analysis import analysed
from secondlook.export.markdown import flat, link, words
from secondlook.export.research import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer, Citation

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Around the number of a citation until its link is written: no document may hold these."""
_OWN_SIGNS = re.compile(f"[{_OPEN}{_CLOSE}]")
_PLACE = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_MARK = re.compile(r"\[(\d{1,6})\]")
_BULLET = re.compile(r"( *)- ")


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    annotations: tuple[Annotation, ...]


def run_url(base: str, run: str) -> str:
    """The page of a run, on the server that was asked."""
    return f"{base.rstrip('/')}/#/runs/{run}"


def written(answer: Answer, base: str) -> Written:
    """`base` is the address under which the client reached this server."""
    parts = [
        _assumed(answer),
        _short(answer),
        _text(answer),
        _asks_back(answer),
        _OWN_SIGNS.sub("", chosen(answer)),
        _OWN_SIGNS.sub("", analysed(answer)),
        _sources(answer),
        _made_how(answer, base),
    ]
    return _linked("\n\n".join(part for part in parts if part), answer, base)


def _assumed(answer: Answer) -> str:
    return f"*Taken as: {_plain(answer.assumed)}*" if answer.assumed else ""


def _short(answer: Answer) -> str:
    short = _plain(answer.short or "")
    if answer.choice is not None and answer.choice.letter == answer.short:
        return ""  # the choice says it with its words
    return f"**{short}**" if short and short != _plain(answer.text) else ""


def _asks_back(answer: Answer) -> str:
    back = _plain(answer.asks_back or "")
    return f"**{back}**" if back and back not in _plain(answer.text) else ""


def _plain(text: str) -> str:
    return flat(_OWN_SIGNS.sub("", text))


def _text(answer: Answer) -> str:
    marked = _with_places(answer)
    if answer.method == "outline":
        return "\n".join(map(_outline_line, marked.splitlines()))
    return "\n\n".join(map(words, re.split(r"\n\s*\n", marked.strip())))


def _outline_line(line: str) -> str:
    """Bullets are the outline's own, what stands behind them is not."""
    bullet = _BULLET.match(line)
    return f"{bullet[1]}- {flat(line[bullet.end() :])}" if bullet else words(line)


def _with_places(answer: Answer) -> str:
    """The text, with a place for a link wherever our own code has set a mark: between the claims.
    What looks like a mark within a claim is a stranger's."""
    numbers = {citation.number for citation in answer.citations}

    def place(found: re.Match[str]) -> str:
        known = int(found[1]) in numbers
        return f"{_OPEN}{found[1]}{_CLOSE}" if known else found[0]

    text, done, parts = _OWN_SIGNS.sub("", answer.text), 0, []
    for claim in answer.claims:
        said = _OWN_SIGNS.sub("", claim.text)
        at = text.find(said, done)
        if at < 0:
            continue
        parts += [_MARK.sub(place, text[done:at]), said]
        done = at + len(said)
    return "".join([*parts, _MARK.sub(place, text[done:])])


def _sources(answer: Answer) -> str:
    """Each place once, with the numbers under which it is cited."""
    placed: dict[str, list[Citation]] = {}
    for citation in answer.citations:
        placed.setdefault(_named(citation), []).append(citation)
    lines = [
        f"- {' '.join(f'{_OPEN}{one.number}{_CLOSE}' for one in cited)} {named}"
        for named, cited in placed.items()
    ]
    return "\n".join(["Sources:", "", *lines]) if lines else ""


def _named(citation: Citation) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    web = f", {link(citation.url)}" if citation.origin == "web" and citation.url else ""
    return f"{_plain(citation.title) or 'Untitled'}{page}{web}"


def _made_how(answer: Answer, base: str) -> str:
    sure = answer.confidence.value if answer.status in {"answered", "partial"} else None
    said = [] if sure is None else [f"Confidence {sure:.0%}"]
    if unsupported := sum(claim.supported is False for claim in answer.claims):
        said.append(f"sentences that the evidence does not carry: {unsupported}")
    if figures := len(answer.analysis.figures) if answer.analysis else 0:
        said.append(f"charts on that page: {figures}")
    how = f"[how this answer was made]({run_url(base, answer.run)})"
    return f"*{', '.join([*said, how])}*"


def _linked(marked: str, answer: Answer, base: str) -> Written:
    titles = {one.number: one.title or "Untitled" for one in answer.citations}
    page = run_url(base, answer.run)
    text, annotations = "", []
    for piece, number in _pieces(marked):
        text += piece
        if number is None:
            continue
        url = f"{page}/citations/{number}"
        start, text = len(text), f"{text}[[{number}]]({url})"
        cited = UrlCitation(start_index=start, end_index=len(text), title=titles[number], url=url)
        annotations.append(Annotation(url_citation=cited))
    return Written(text, tuple(annotations))


def _pieces(marked: str) -> Iterator[tuple[str, int | None]]:
    """Text, and the number of the citation that follows it; None after the last."""
    done = 0
    for found in _PLACE.finditer(marked):
        yield marked[done : found.start()], int(found[1])
        done = found.end()
    yield marked[done:], None
