"""Pieces of HTML. Every text goes through `text`: questions and answers are others' words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from secondlook.evaluation.report.numbers import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.evaluation.report.tables.cells import Table

_SHORT = 18
_LONGEST = 400
"""Characters of a cell: results.csv and results.json hold the whole text."""


def text(words: str) -> str:
    shown = one_line(words)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")


def section(title: str, name: str, parts: Iterable[str]) -> str:
    """Empty where all its parts are: a heading alone tells nothing."""
    inside = "\n".join(part for part in parts if part)
    if not inside:
        return ""
    return f'<section id="{name}">\n<h2>{text(title)}</h2>\n{inside}\n</section>'


def folded(title: str, inside: str) -> str:
    """Opened by a click, and on paper."""
    if not inside:
        return ""
    return f"<details>\n<summary>{text(title)}</summary>\n{inside}\n</details>"


def table(item: Table, *, titled: bool = True) -> str:
    """A table that scrolls in its own frame where the window is narrow."""
    if not item.rows:
        return ""
    head = "".join(
        f'<th scope="col"{_kind(item, number)}>{text(name)}</th>'
        for number, name in enumerate(item.columns)
    )
    rows = "\n".join(_row(item, cells) for cells in item.rows)
    title = f"<h3>{text(item.title)}</h3>\n" if titled else ""
    note = f'\n<p class="note">{text(item.note)}</p>' if item.note else ""
    frame = f'<div class="frame" role="region" tabindex="0" aria-label="{text(item.title)}">'
    return (
        f"{title}{frame}<table>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table></div>{note}"
    )


def _row(item: Table, cells: tuple[str, ...]) -> str:
    first, *rest = cells
    others = "".join(
        f"<td{_kind(item, number, cell)}>{text(cell)}</td>"
        for number, cell in enumerate(rest, start=1)
    )
    return f'<tr><th scope="row">{text(first)}</th>{others}</tr>'


def _kind(item: Table, number: int, cell: str = "") -> str:
    """A figure, a word or two that stay on one line, or text."""
    if not item.is_text(number):
        return ' class="n"'
    return ' class="w"' if cell and len(cell) <= _SHORT else ""


def listed(lines: Iterable[str]) -> str:
    inside = "\n".join(f"<li>{text(line)}</li>" for line in lines)
    return f"<ul>\n{inside}\n</ul>" if inside else ""


def figure(svg: str, *, title: str, caption: str) -> str:
    """A plot on a white card, so that it reads the same on a dark page."""
    drawn = svg.replace("<svg ", f'<svg role="img" aria-label="{text(title)}" ', 1)
    return (
        f'<figure>\n<div class="card">{drawn}</div>\n'
        f"<figcaption>{text(title)}. {text(caption)}</figcaption>\n</figure>"
    )
