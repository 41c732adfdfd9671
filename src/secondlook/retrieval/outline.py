"""Which headings and which page stand above a place in a document."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.document import Extracted, Heading, Page

UNIT_KINDS = frozenset({"pptx", "odp", "sheet"})  # pages are units; elsewhere text runs on

# What may follow a heading's words before the text under it: closing marks, an underline.
_AFTER_HEADING = re.compile(
    r"[ \t#=*_]*+(?:\n[ \t]*+(?:={2,}+|-{2,}+|~{2,}+)[ \t]*+(?=\n|\Z))?+\s*+"
)
_LONGEST_MARK = 8


class Outline:
    def __init__(self, document: Extracted) -> None:
        text = document.text
        self._pages = document.pages
        self._page_starts = [page.start for page in document.pages]
        self._pages_are_units = document.kind in UNIT_KINDS
        headings = [h for h in document.headings if text[h.start : h.end].strip()]
        self.starts = [_line_start(text, heading.start) for heading in headings]
        """Where each heading begins, with the marks before its words."""
        ends = ((h.end, _AFTER_HEADING.match(text, h.end)) for h in headings)
        self.bodies = [found.end() if found else end for end, found in ends]
        """Where the text under each heading begins."""
        self._paths = []
        stack: list[tuple[Heading, str]] = []
        for heading in headings:
            while stack and stack[-1][0].level >= heading.level:
                stack.pop()
            if stack and self._is_elsewhere(stack[-1][0].start, heading.start):
                stack.clear()
            stack.append((heading, " ".join(text[heading.start : heading.end].split())))
            self._paths.append(tuple(words for _, words in stack))
        found_at = {
            start
            for start, body_before in zip(self.starts, [-1, *self.bodies], strict=False)
            if start > body_before  # else the heading before it announces this one
        }
        if self._pages_are_units:
            found_at.update(page_starts(text, self._pages))
        self.boundaries = sorted(found_at)  # no passage reaches across these

    def page(self, at: int) -> int | None:
        index = bisect_right(self._page_starts, at) - 1
        return self._pages[index].number if index >= 0 else None

    def path(self, start: int, end: int) -> tuple[str, ...]:
        index = bisect_right(self.starts, start) - 1
        # The title of one slide is no heading of the next.
        if index < 0 or self._is_elsewhere(self.starts[index], start):
            return ()
        if start < self.bodies[index]:
            # The innermost of the headings that follow one another without text between.
            following = zip(self.starts[index + 1 :], self.bodies[index:], strict=False)
            index += sum(1 for _ in takewhile(lambda at: at[0] <= at[1] < end, following))
        return self._paths[index]

    def heading_at(self, at: int) -> int | None:
        index = bisect_left(self.starts, at) - 1
        return self.starts[index] if index >= 0 and at <= self.bodies[index] else None

    def _is_elsewhere(self, above: int, below: int) -> bool:
        return self._pages_are_units and self.page(above) != self.page(below)


def page_starts(text: str, pages: Iterable[Page]) -> list[int]:
    trimmed = ((page, text[page.start : page.end].lstrip()) for page in pages)
    return [page.end - len(words) for page, words in trimmed if words]


def _line_start(text: str, at: int) -> int:
    """The start of the heading's line where only marks such as "## " stand before its words."""
    line = text.rfind("\n", max(0, at - _LONGEST_MARK), at) + 1
    if line == 0 and at > _LONGEST_MARK:
        return at
    lead = text[line:at]
    return line + len(lead) - len(lead.lstrip())


# Where sentences begin: rules for the scripts people write in, in time linear in the text.

# Possessive quantifiers and the look-behind keep a megabyte of dots from being scanned twice.
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’»)\]]*+\s++"  # noqa: RUF001
    r"|[。！？｡।॥؟۔።։]++[」』）】》”’\"']*+\s*+"  # noqa: RUF001
)

# After these a full stop is part of the word, whatever follows.
_NEVER_LAST = frozenset(
    """mr mrs ms dr prof rev hon st sen rep gov gen col capt lt sgt cmdr pres supt messrs mme mlle
    fig figs eq eqs ref refs sec sect ch chap vol vols no nos nr art arts para cl ed eds trans
    vs v cf viz al approx ca resp incl excl esp est dept univ assn bros inc ltd co corp
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    bzw usw evtl ggf vgl abb tab bd hrsg str pp p""".split()  # noqa: SIM905
)
_OPENERS = "\"'“‘«([{„¿¡*_#"  # noqa: RUF001
_LONGEST_WORD = 24


def sentence_starts(text: str) -> list[int]:
    certain: list[int] = []
    lowercase: list[int] = []
    capitals = 0
    for found in _END.finditer(text):
        at = found.end()
        if at >= len(text):
            break
        if found["mark"] is None:
            certain.append(at)
            continue
        if found["mark"] == "." and _stop_belongs_to_word(text, found.start()):
            continue
        if text[at : at + 3].lstrip(_OPENERS)[:1].islower():
            lowercase.append(at)
        else:
            certain.append(at)
            capitals += 1
    # A text that begins its sentences without capitals is written so throughout.
    if len(lowercase) > capitals:
        return sorted(certain + lowercase)
    return certain


def _stop_belongs_to_word(text: str, stop: int) -> bool:
    """Whether the full stop at `stop` marks an abbreviation, an initial or a list number."""
    before = text[max(0, stop - _LONGEST_WORD) : stop]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1].lstrip(_OPENERS)
    if word.isdigit():  # a number that opens its line
        at = stop - len(word)
        line_start = text.rfind("\n", max(0, at - _LONGEST_WORD), at) + 1
        blank = text[line_start:at] if line_start or at <= _LONGEST_WORD else "x"
        return len(word) <= 3 and not blank.strip()  # noqa: PLR2004
    if word.lower() in _NEVER_LAST:
        return True
    parts = word.split(".")
    if len(parts) > 1:  # e.g, i.e, U.S, Ph.D
        return all(part.isalpha() and len(part) <= 2 for part in parts)  # noqa: PLR2004
    return len(word) == 1 and word.isalpha() and word.isupper()
