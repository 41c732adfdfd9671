"""Choices without letters: numbers, bullets or plain lines. Only where a heading announces them,
for any text may hold such a list."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.nodes.multiple_choice.lettered import LINE_MARK, Apart

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERED_LINE = re.compile(r"^[ \t]*\(?(?P<number>\d{1,2})[.):][ \t]+", re.MULTILINE)
_NUMBERED = re.compile(r"(?<!\S)\(?(?P<number>\d{1,2})[.)]\s+")
_BULLET = re.compile(r"^[ \t]*[-*+\u2022\u2013\u25e6][ \t]+", re.MULTILINE)


def listed(text: str, *, stem: str) -> Apart | None:
    """All of the text as a list; None where some of it is outside of one."""
    texts = (
        _numbered(text, _NUMBERED_LINE)
        or _numbered(text, _NUMBERED)
        or _bulleted(text)
        or _on_lines(text)
    )
    tidy = tuple(" ".join(each.split()) for each in texts or ())
    return Apart(stem, tidy) if len(tidy) > 1 and all(tidy) else None


def _numbered(text: str, form: re.Pattern[str]) -> list[str] | None:
    found = list(form.finditer(text))
    numbers = [int(one["number"]) for one in found]
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):  # noqa: PLR2004
        return None
    return _between(text, found)


def _bulleted(text: str) -> list[str] | None:
    found = list(_BULLET.finditer(text))
    return _between(text, found) if found else None


def _between(text: str, found: Sequence[re.Match[str]]) -> list[str] | None:
    if text[: found[0].start()].strip():
        return None
    ends = [*(one.start() for one in found), len(text)]
    return [text[one.end() : end] for one, (_, end) in zip(found, pairwise(ends), strict=True)]


def _on_lines(text: str) -> list[str] | None:
    """Each line a choice, where they follow on the heading without a gap."""
    lines = text.strip().split("\n")
    marked = any(form.search(text) for form in (LINE_MARK, _NUMBERED_LINE, _BULLET))
    return lines if not marked and all(line.strip() for line in lines) else None
