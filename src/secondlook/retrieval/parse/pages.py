"""The pages of a PDF as they look, and where the words of its text stand on them. A file of a
stranger is opened in a parser process only; what that process says is checked."""

from __future__ import annotations

import base64
import ctypes
import math
import re
import struct
import unicodedata
import zlib
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from secondlook.errors import Damaged, LimitExceeded, Unsupported
from secondlook.processes import Closing
from secondlook.retrieval.parse.compose import clean
from secondlook.retrieval.parse.grid import Line, apart, words_of
from secondlook.retrieval.parse.pdf import LIGATURES, box_of, lines_of, opened
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import Budget, ParseLimits, open_source
from secondlook.retrieval.parse.text import column_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from secondlook.document import Extracted

T = TypeVar("T")
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Rectangle = tuple[Share, Share, Share, Share]
"""Left, top, right and bottom, as shares of a page's width and height."""

MOST_PAGES = 8  # of one quote
WIDTHS = range(200, 2401, 200)  # of pictures, in pixels
_LIMITS = ParseLimits(idle_seconds=20, total_seconds=20)
_MOST_PIXELS, _MOST_SIDE, _MOST_BYTES = 6_000_000, 8_000, 6 << 20
_MOST_RECTANGLES = 400
_KEPT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand on a page; nowhere if they were not found with certainty."""

    page: int
    rectangles: list[Rectangle]


class PageViewer(Closing):
    """Has one parser process, from the first page on that is looked at."""

    def __init__(self, limits: ParseLimits = _LIMITS) -> None:
        self._pool = ParserPool(1, limits)
        self._kept: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()

    def picture(self, file: Path, sha256: str, page: int, width: int) -> bytes:
        """A page as PNG, about so many pixels wide. Raises ExtractionError."""
        width = min(WIDTHS[-1], max(WIDTHS[0], math.ceil(width / WIDTHS.step) * WIDTHS.step))
        key = (sha256, page, width)
        if (kept := self._kept.get(key)) is None:
            wish = {"page": page, "width": width}
            kept = _png(*self._pool.look(file, sha256, wish, tuple[int, int, bool, str]))
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while sum(map(len, self._kept.values())) > _KEPT_BYTES:
            self._kept.popitem(last=False)
        return kept

    def places(
        self, file: Path, sha256: str, document: Extracted, start: int, end: int
    ) -> list[Place]:
        """Where the characters from `start` to `end` stand, by page. Raises ExtractionError."""
        over = [one for one in document.pages if one.start < end and one.end > start]
        spans = [
            {
                "page": one.number,
                "text": document.text[one.start : one.end],
                "start": max(0, start - one.start),
                "end": min(end, one.end) - one.start,
            }
            for one in over[:MOST_PAGES]
        ]
        form = list[list[Rectangle]]
        found = self._pool.look(file, sha256, {"spans": spans}, form) if spans else []
        if len(found) != len(spans):
            raise Damaged("the parser told of other pages than it was asked for")
        return [
            Place(one.number, marks[:_MOST_RECTANGLES])
            for one, marks in zip(over, found, strict=False)
        ]

    def close(self) -> None:
        self._pool.close()


def _png(width: int, height: int, is_grey: bool, packed: str) -> bytes:  # noqa: FBT001
    """Made here of lines of pixels, of which there must be as many as is said: a browser gets no
    bytes whose form a stranger chose."""
    row = 1 + width * (1 if is_grey else 3)
    try:
        body = base64.b64decode(packed)
        unpacking = zlib.decompressobj()
        lines = unpacking.decompress(body, max(1, min(row * height, 4 * _MOST_PIXELS) + 1))
    except (ValueError, zlib.error) as error:
        raise Damaged("the picture of the page is damaged") from error
    whole = len(lines) == row * height and unpacking.eof and not unpacking.unused_data
    if not whole or min(width, height) < 1 or any(lines[::row]):
        raise Damaged("the picture of the page is damaged")

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", width, height, 8, 0 if is_grey else 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", body), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# In the parser process


def look(path: Path, wish: dict[str, Any], limits: ParseLimits, beat: Callable[[], None]) -> Any:
    """The picture of a page, or the rectangles of each span."""
    source = open_source(path, Budget(limits, beat))
    with opened(source) as document:

        def on_page(number: int, work: Callable[[Any], T]) -> T:
            import pypdfium2

            beat()
            if not 1 <= number <= len(document):
                raise Unsupported(f"the document has no page {number}")
            try:
                with closing(document[number - 1]) as page:
                    return work(page)
            except (pypdfium2.PdfiumError, ValueError) as error:
                raise Damaged(f"page {number} cannot be shown: {error}") from error

        if "width" in wish:
            seen: Any = on_page(wish["page"], lambda page: _drawn(page, wish["width"]))
        else:
            seen = [on_page(one.pop("page"), _Finder(**one)) for one in wish["spans"]]
    return {"sha256": source.sha256, "seen": seen}


def _drawn(page: Any, width: int) -> tuple[int, int, bool, str]:
    across, down = (max(side, 1e-3) for side in page.get_size())
    pixels, side = math.sqrt(_MOST_PIXELS / (across * down)), _MOST_SIDE / max(across, down)
    scale = min(width / across, pixels, side)
    while True:
        bitmap = page.render(scale=scale, rev_byteorder=True)
        held, begins = bytes(bitmap.buffer), range(0, bitmap.stride * bitmap.height, bitmap.stride)
        lines = [held[at : at + 3 * bitmap.width] for at in begins]
        plain = b"".join(lines)
        is_grey = plain[::3] == plain[1::3] == plain[2::3]
        packed = zlib.compress(b"".join(b"\0" + line[:: 3 if is_grey else 1] for line in lines))
        if len(packed) <= _MOST_BYTES:
            return bitmap.width, bitmap.height, is_grey, base64.b64encode(packed).decode()
        scale *= 0.7  # noise and photographs hardly shrink


# Where words stand: the lines of the page are read once more, and written as the parser writes
# them, each character with its place. What differs from the stored text then is little: lines that
# repeat on every page, hyphens. Both are laid beside each other.

_WORD = re.compile(r"\w+|[^\w\s]")
_MOST_WORDS, _MOST_CHARS = 20_000, 2_000
_ENOUGH, _ALIKE = 0.9, 0.8  # of a quote's characters; of a page's, and of broken words'
_FINE = 100  # steps of a point
Box = tuple[float, float, float, float]


@dataclass(slots=True)
class _Printed:
    """What the parser writes of a page, and where each character stands: as the number of a unit of
    pdfium's text, or as the box of a form's field."""

    units: list[str]
    chars: list[str] = field(default_factory=list)
    spots: list[int | Box | None] = field(default_factory=list)

    def say(self, text: str, spot: int | Box | None = None) -> None:
        self.chars += text
        self.spots += [spot] * len(text)

    def add(self, line: Line) -> None:
        if line.is_field:
            *label, value = line.cells
            self.say_all(label)
            self.say(": ")
            self.say(clean(value.text), (value.left, value.bottom, value.right, value.top))
        for unit in range(*line.span):
            raw = self.units[unit].translate(LIGATURES)
            if self.chars and len(raw) == 1 and unicodedata.combining(raw):
                self.spots.pop()
                raw = unicodedata.normalize("NFC", self.chars.pop() + raw)
            self.say("-" if raw in {"\x02", "\ufffe"} else clean(raw), unit)
        self.say("\n")

    def say_all(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.add(line)

    def table(self, rows: Sequence[Sequence[list[Line]]]) -> None:
        first, *others = rows
        names = column_names(
            [words_of(cell) for cell in first],
            [words_of(cell) for cell in others[0]] if others else None,
        )
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell and at and names and len(first) > 2:  # noqa: PLR2004
                    self.say_all(first[column])
                    self.say(": ")
                self.say_all(cell)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds part of a page's stored text on the page."""

    text: str
    start: int
    end: int

    def __call__(self, page: Any) -> list[Rectangle]:
        with closing(page.get_textpage()) as textpage:
            text = textpage.get_text_range()
            # Where a character takes two units, the second one is empty.
            pairs = ((char, "") if ord(char) > 0xFFFF else char for char in text)  # noqa: PLR2004
            printed = _Printed([unit for pair in pairs for unit in pair])
            for lines, rows in apart(lines_of(page, textpage)):
                printed.say_all(lines)
                if rows:
                    printed.table(rows)
            beside = _beside(self.text, "".join(printed.chars))
            wanted = [at for at in range(self.start, self.end) if not self.text[at].isspace()]
            spots = {at: printed.spots[beside[at]] for at in wanted if at in beside}
            view = _View(page)
            boxes = {
                at: view.box(box_of(textpage, spot) if isinstance(spot, int) else spot)
                for at, spot in spots.items()
                if spot is not None
            }
        words = [at for at in wanted if self.text[at].isalnum()] or wanted
        found = sum(boxes.get(at) is not None for at in words)
        # A word that stands alone on a page of other words, such as a scan's, is another one.
        known = [at in beside for at, char in enumerate(self.text) if char.isalnum()]
        is_page = sum(known) >= _ALIKE * len(known)
        if not (is_page and found and found >= _ENOUGH * len(words)):
            return []
        return view.shares(_joined({at: box for at, box in boxes.items() if box}))


def _beside(stored: str, printed: str) -> dict[int, int]:
    """For each character of one text that the other has too, where it stands in that."""
    one, other = list(_WORD.finditer(stored)), list(_WORD.finditer(printed))
    if max(len(one), len(other)) > _MOST_WORDS:
        raise LimitExceeded("the page has too many words to be searched")
    words = [match.group() for match in one], [match.group() for match in other]
    found: dict[int, int] = {}
    for kind, a, b, c, d in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if kind == "equal":
            for match, same in zip(one[a:b], other[c:d], strict=True):
                found |= zip(range(*match.span()), range(*same.span()), strict=True)
        elif kind == "replace":  # a word that was broken at the end of a line, most often
            found |= _spelled(
                [at for match in one[a:b] for at in range(*match.span())],
                [at for match in other[c:d] for at in range(*match.span())],
                stored,
                printed,
            )
    return found


def _spelled(
    one: list[int], other: list[int], stored: str, printed: str
) -> Iterator[tuple[int, int]]:
    if max(len(one), len(other)) > _MOST_CHARS:
        return
    texts = "".join(stored[at] for at in one), "".join(printed[at] for at in other)
    blocks = SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) < _ALIKE * len(one):
        return
    for a, c, size in blocks:
        yield from zip(one[a : a + size], other[c : c + size], strict=True)


class _View:
    """A page as it is shown: turned and cropped as it says, in small steps from the upper left."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._size = tuple(max(1, round(side * _FINE)) for side in page.get_size())

    def box(self, box: Box) -> Box | None:
        """None where it lies outside of what is shown, or is empty."""
        from pypdfium2 import raw

        ends: list[tuple[int, int]] = []
        for x, y in (box[:2], box[2:]):
            across, down = ctypes.c_int(), ctypes.c_int()
            raw.FPDF_PageToDevice(self._page, 0, 0, *self._size, 0, x, y, across, down)
            ends.append((across.value, down.value))
        (left, right), (top, bottom) = (sorted(pair) for pair in zip(*ends, strict=True))
        width, height = self._size
        shown = (max(left, 0), max(top, 0), min(right, width), min(bottom, height))
        area = max(0, shown[2] - shown[0]) * max(0, shown[3] - shown[1])
        return shown if area and area * 2 >= (right - left) * (bottom - top) else None

    def shares(self, boxes: Iterable[Box]) -> list[Rectangle]:
        sides = self._size * 2
        shares = (
            tuple(round(at / side, 5) for at, side in zip(box, sides, strict=True)) for box in boxes
        )
        return list(dict.fromkeys(shares))


def _joined(boxes: dict[int, Box]) -> list[Box]:
    """Those of characters that follow each other on one line, across or down, as one."""
    found: list[Box] = []
    before, last = -math.inf, (0.0, 0.0, 0.0, 0.0)
    for at, box in boxes.items():
        over = [min(box[end], last[end]) - max(box[end - 2], last[end - 2]) for end in (2, 3)]
        sides = [min(one[end] - one[end - 2] for one in (box, last)) for end in (2, 3)]
        goes_on = any(
            2 * over[across] > sides[across] and -over[1 - across] < sides[across]
            for across in (1, 0)
        )
        if at - before <= 2 and goes_on:  # noqa: PLR2004 - there may be a blank between them
            left, top, right, bottom = found[-1]
            left, top = min(left, box[0]), min(top, box[1])
            found[-1] = (left, top, max(right, box[2]), max(bottom, box[3]))
        else:
            found.append(box)
        before, last = at, box
    return found
