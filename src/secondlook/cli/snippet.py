"""The part of a passage that shows why it was found, with the matching words marked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from secondlook.retrieval.analyse import query_terms, terms

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Snippet:
    text: str
    matches: tuple[tuple[int, int], ...]
    """Spans of `text` that match the query, in order."""


def snippet(text: str, query: str, *, width: int, language: str = "english") -> Snippet:
    """At most about `width` characters of `text`, where most different query terms stand."""
    flat = " ".join(text.split())
    found = _matches(flat, frozenset(query_terms(query, language)), language)
    start, end = _window(flat, found, width)
    before = _ELLIPSIS if start > 0 else ""
    after = _ELLIPSIS if end < len(flat) else ""
    shift = len(before) - start
    inside = tuple((a + shift, b + shift) for a, b, _ in found if start <= a and b <= end)
    return Snippet(f"{before}{flat[start:end]}{after}", inside)


def _matches(text: str, wanted: frozenset[str], language: str) -> list[tuple[int, int, str]]:
    """Each match as (start, end, term)."""
    found: list[tuple[int, int, str]] = []
    for word in _WORD.finditer(text):
        own = terms(word[0], language)
        hit = next((term for term in own if term in wanted), None)
        if hit is None:
            continue
        if len(own) > 1 and hit in word[0]:  # a run without spaces: only part of it matches
            found.extend(_within(word, wanted))
        else:
            found.append((word.start(), word.end(), hit))
    return found


def _within(word: re.Match[str], wanted: frozenset[str]) -> list[tuple[int, int, str]]:
    pairs = ((at, word[0][at : at + 2]) for at in range(len(word[0]) - 1))
    return [
        (word.start() + at, word.start() + at + 2, pair) for at, pair in pairs if pair in wanted
    ]


def _window(text: str, found: list[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """Where to cut: the stretch with most different terms, with some room in front of it."""
    if len(text) <= width:
        return 0, len(text)
    best = max(
        (start for start, _, _ in found),
        key=lambda start: _different_terms(found, start, start + width * 3 // 4),
        default=0,
    )
    start = _word_start(text, max(0, min(best - width // 4, len(text) - width)))
    return start, _word_end(text, min(len(text), start + width))


def _different_terms(found: list[tuple[int, int, str]], start: int, end: int) -> int:
    return len({term for a, b, term in found if start <= a and b <= end})


def _word_start(text: str, at: int) -> int:
    """Not in the middle of a word, unless it is a long run without spaces."""
    if at == 0 or text[at - 1] == " ":
        return at
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    if at >= len(text) or text[at] == " ":
        return at
    space = text.rfind(" ", max(0, at - 40), at)
    return at if space < 0 else space
