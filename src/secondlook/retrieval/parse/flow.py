"""Lines on pages flowed into paragraphs: sentences read whole, headings stand alone.

The rules look only at geometry and punctuation. A paragraph goes on over the end of a column
or page when nothing speaks against it; a word broken at a line's end is put together again.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from secondlook.retrieval.parse.outline import heading_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.retrieval.parse.compose import Composer

_ENDS_SENTENCE = re.compile(r"[.!?:;。!?][\"'”’)\]]*$")  # noqa: RUF001 - full width is meant
_STARTS_ITEM = re.compile(r"^([•◦▪‣●○■□·*\u2013\u2014-]\s|\(?[0-9]{1,3}[.)]\s|\(?[a-zA-Z][.)]\s)")
_BROKEN_WORD = re.compile(r"[^\W\d_][-\u2010]$")
_LOWER_START = re.compile(r"^[^\W\d_A-Z]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_DOT_LEADERS = re.compile(r"(?:\.\s?){4}")
_DIGITS = re.compile(r"\d+")
_ONLY_NUMBER = re.compile(r"\W*(page|seite|p\.)?\W*#(\W*(/|of|von)\W*#)?\W*", re.IGNORECASE)
_WIDE_GAP = 1.45
"""Times the usual distance of lines: beyond it a new paragraph begins."""
_OTHER_SIZE = 0.13
_HEADING_SIZE = 1.15
_LONGEST_HEADING = 160
_MOST_HEADING_LINES = 3
_RUNNING_PAGES = 3
_RUNNING_SHARE = 0.3
_SHORT_LINE = 0.85
_INDENT = 0.7


@dataclass(slots=True)
class Line:
    text: str
    left: float
    right: float
    bottom: float
    top: float
    soft_break: bool = False
    """It ends in a hyphen that only the line's end made necessary."""

    @property
    def height(self) -> float:
        return self.top - self.bottom


@dataclass(slots=True)
class _Style:
    """What is usual in this document."""

    height: float
    pitches: dict[float, float]
    """Height of a line -> usual distance between two lines of that height."""
    sizes: list[float]
    """Heights of headings, largest first."""
    words: frozenset[str]


def flow(
    pages: Sequence[list[Line]],
    composer: Composer,
    *,
    outline: dict[int, dict[str, int]],
    beat: Callable[[], None],
) -> None:
    kept = drop_running_lines(pages)
    style = _style(kept)
    writer = _Writer(composer, style)
    for index, lines in enumerate(kept):
        beat()
        composer.start_page(index + 1)
        bookmarks = outline.get(index, {})
        for block in _blocks(lines, style, bookmarks):
            level = _heading_level(block, style, bookmarks)
            writer.write(block, level)
        composer.end_page()


def drop_running_lines(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Without page numbers, and without headers and footers after their first appearance."""
    seen = Counter(mask for lines in pages for mask in _edges(lines))
    enough = max(_RUNNING_PAGES, _RUNNING_SHARE * len(pages))
    running = {mask for mask, count in seen.items() if count >= enough}
    shown: set[str] = set()
    return [_without(lines, running, shown) for lines in pages] if running else list(pages)


def _edges(lines: list[Line]) -> set[str]:
    return {_mask(line) for line in (*lines[:2], *lines[-2:])} if len(lines) > 2 else set()  # noqa: PLR2004


def _mask(line: Line) -> str:
    return _DIGITS.sub("#", line.text)


def _without(lines: list[Line], running: set[str], shown: set[str]) -> list[Line]:
    kept: list[Line] = []
    for position, line in enumerate(lines):
        is_edge = position < 2 or position >= len(lines) - 2  # noqa: PLR2004 - as in `_edges`
        mask = _mask(line) if is_edge else ""
        if mask in running and (mask in shown or _ONLY_NUMBER.fullmatch(mask)):
            continue
        shown.add(mask)
        kept.append(line)
    return kept


def _style(pages: Sequence[list[Line]]) -> _Style:
    weights: Counter[float] = Counter()
    gaps: dict[float, list[float]] = {}
    words: set[str] = set()
    for lines in pages:
        for line in lines:
            weights[round(line.height, 1)] += len(line.text)
            words.update(word.lower() for word in _WORD.findall(line.text.rstrip("-")))
        for first, second in pairwise(lines):
            gap = first.bottom - second.bottom
            if 0 < gap < 3 * second.height and not _differ(first.height, second.height):
                gaps.setdefault(round(second.height), []).append(gap)
    height = weights.most_common(1)[0][0] if weights else 0.0
    larger = sorted((size for size in weights if size >= height * _HEADING_SIZE), reverse=True)
    pitches = {size: median(found) for size, found in gaps.items()}
    return _Style(height, pitches, larger, frozenset(words))


def _blocks(lines: list[Line], style: _Style, outline: dict[str, int]) -> list[list[Line]]:
    """Runs of lines that belong to one paragraph. A line that is a bookmark stands alone."""
    blocks: list[list[Line]] = []
    is_after_heading = False
    for line in lines:
        is_heading = bool(outline) and _bookmark_level(line.text, outline) is not None
        is_apart = is_heading or is_after_heading
        if blocks and not is_apart and _continues(blocks[-1], line, style):
            blocks[-1].append(line)
        else:
            blocks.append([line])
        is_after_heading = is_heading
    return blocks


def _bookmark_level(text: str, outline: dict[str, int]) -> int | None:
    return outline.get(heading_key(text)) or outline.get(heading_key(_unnumbered(text)))


def _continues(block: list[Line], line: Line, style: _Style) -> bool:
    before = block[-1]
    if before.soft_break:
        return True
    if _STARTS_ITEM.match(line.text) or _differ(before.height, line.height):
        return False
    drop = before.bottom - line.bottom
    if drop < -before.height:  # the next column, or a jump back up
        return not _ENDS_SENTENCE.search(before.text)
    pitch = style.pitches.get(round(line.height), line.height)
    if drop > _WIDE_GAP * max(pitch, line.height):
        return False
    return not _closes(block, before, line)


def _closes(block: list[Line], before: Line, line: Line) -> bool:
    """A full stop on a short line, or a first line indented more than the one above."""
    if not _ENDS_SENTENCE.search(before.text):
        return False
    widest = max(item.right for item in block) - min(item.left for item in block)
    is_short = len(block) > 1 and before.right - block[0].left < _SHORT_LINE * widest
    is_indented = line.left - before.left > _INDENT * line.height
    reaches_less = before.right + line.height < line.right
    return is_indented or is_short or (len(block) == 1 and reaches_less)


def _differ(first: float, second: float) -> bool:
    return abs(first - second) > _OTHER_SIZE * max(first, second)


def _heading_level(block: list[Line], style: _Style, outline: dict[str, int]) -> int | None:
    text = " ".join(line.text for line in block)
    if len(text) > _LONGEST_HEADING or len(block) > _MOST_HEADING_LINES:
        return None
    level = _bookmark_level(text, outline)
    if level is not None:
        return level
    if outline or not any(char.isalpha() for char in text) or text.endswith((".", ",", ";")):
        return None
    if _DOT_LEADERS.search(text):  # a table of contents
        return None
    size = round(block[0].height, 1)
    return _rank(size, style) if size in style.sizes else None


def _rank(size: float, style: _Style) -> int:
    """1 for the largest; sizes that differ by less than a twentieth count as one."""
    level, last = 0, 0.0
    for other in style.sizes:
        if not last or last - other > last * 0.05:
            level, last = level + 1, other
        if other <= size:
            break
    return level


def _unnumbered(text: str) -> str:
    return re.sub(r"^[\dIVXA-Z]+(\.\d+)*\.?\s+", "", text)


@dataclass(slots=True)
class _Writer:
    """Puts paragraphs down, and goes on with the last one where it was left unfinished."""

    composer: Composer
    style: _Style
    open_end: str = ""
    """Last line of the paragraph so far, if that may go on."""

    def write(self, block: list[Line], level: int | None) -> None:
        if level is not None:
            self.composer.heading(level, " ".join(line.text for line in block))
            self.open_end = ""
            return
        text = self._joined(block)
        if self.open_end and _LOWER_START.match(text) and not _STARTS_ITEM.match(text):
            self.composer.join(text, " ")
        else:
            self.composer.paragraph(text)
        is_open = len(block) > 1 and not _ENDS_SENTENCE.search(text)
        self.open_end = block[-1].text if is_open else ""

    def _joined(self, block: list[Line]) -> str:
        text = block[0].text
        for before, line in pairwise(block):
            text = self._glued(text, before, line.text)
        return text

    def _glued(self, text: str, before: Line, following: str) -> str:
        if not _BROKEN_WORD.search(text):
            return f"{text} {following}"
        head = _WORD.findall(text)[-1]
        is_shouted = head.isupper() and len(head) > 1 and following[:2].isupper()
        if not is_shouted and not _LOWER_START.match(following):
            return f"{text} {following}"
        tail = _WORD.match(following)
        rest = tail.group() if tail else ""
        keeps_hyphen = (
            f"{head}-{rest}".lower() in self.style.words
            and f"{head}{rest}".lower() not in self.style.words
        )
        is_compound = "-" in head and not before.soft_break
        return text + following if keeps_hyphen or is_compound else text[:-1] + following
