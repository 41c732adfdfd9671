"""PDF through pdfium: lines with their geometry, flowed into paragraphs by `flow`."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText, Unsupported
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.grid import Line, apart, words_of
from secondlook.retrieval.parse.ocr import DPI, HINT, MOST_PIXELS, recognizer
from secondlook.retrieval.parse.text import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": "-"}
)
_LINE_END = re.compile(r"\r\n|\r|\n")
# pdfium marks a hyphen that it takes for a word break like this, with or without a line end.
_PIECE_END = re.compile(r"\r\n|\r|\n|[\x02\ufffe](?:\r\n)?")
_PASSWORD_ERROR = 4
_NAMED_PAGES = 12


def parse_pdf(source: Source) -> Extracted:
    import pypdfium2

    with opened(source) as document:
        source.budget.spend_pages(len(document))
        pages: list[list[Line]] = []
        damaged: list[int] = []
        for index in range(len(document)):
            source.budget.beat()
            try:
                with closing(document[index]) as page, closing(page.get_textpage()) as textpage:
                    pages.append(lines_of(page, textpage))
            except pypdfium2.PdfiumError:
                pages.append([])
                damaged.append(index)
        composer = Composer(source.budget)
        _read_scans(document, pages, source, composer)
        if damaged:
            composer.about.notes.append(f"damaged and left out: {_name_pages(damaged)}")
        with suppress(ValueError, RuntimeError):
            found = document.get_metadata_dict(skip_empty=True)
            composer.about.title, composer.about.author = found.get("Title"), found.get("Author")
            composer.about.date = found.get("CreationDate") or found.get("ModDate")
        headings: dict[int, dict[str, int]] = {}
        # A broken outline costs the headings, not the text.
        with suppress(RuntimeError, ValueError):
            for bookmark in islice(document.get_toc(max_depth=8), 20_000):
                destination = bookmark.get_dest()
                at = destination.get_index() if destination is not None else None
                key = heading_key(bookmark.get_title())
                if at is not None and at >= 0 and key:
                    headings.setdefault(at, {}).setdefault(key, bookmark.level + 1)
        flow(pages, composer, outline=headings)
    return composer.finish("pdf")


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source.data if source.data is not None else source.path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
            raise Encrypted(
                "it is protected by a password", hint="save a copy without password"
            ) from error
        raise Damaged(f"it is not a readable PDF: {error}") from error
    with closing(document):
        # A build of pdfium with scripts or XFA would run what a form says.
        if not pypdfium2.PDFIUM_INFO.flags:
            with suppress(pypdfium2.PdfiumError):
                document.init_forms()
        yield document


def lines_of(page: Any, textpage: Any) -> list[Line]:
    lines: list[Line] = []
    with suppress(Exception):  # a broken form costs its values, not the page
        lines = _form_lines(page, textpage) if page.formenv else []
    return lines or _lines(textpage)


def _pieces(textpage: Any) -> Iterator[tuple[str, int]]:
    """The lines of a page as pdfium has them, each with its position in UTF-16 units."""
    text = textpage.get_text_range()
    position = start = 0
    is_wide = not text.isascii() and any(ord(char) > 0xFFFF for char in text)  # noqa: PLR2004
    for end in [*(match.end() for match in _PIECE_END.finditer(text)), len(text)]:
        piece = text[start:end]
        words = _LINE_END.sub("", piece)
        if words.strip():
            yield words, position
        position += _units(piece) if is_wide else len(piece)
        start = end


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _line(textpage: Any, words: str, position: int) -> Line:
    is_broken = words[-1] in "\x02\ufffe"
    first = position + len(words) - len(words.lstrip())
    last = max(first, position + len(words.rstrip()) - 1 - is_broken)
    boxes = [box_of(textpage, first + (last - first) * step // 4) for step in range(5)]
    # A box of the commonest height: an odd symbol or a word in another type does not count.
    heights = Counter(round(top - bottom, 1) for _, bottom, _, top in boxes)
    _, bottom, _, top = max(
        boxes, key=lambda box: (heights[round(box[3] - box[1], 1)], box[3] - box[1])
    )
    words = words.rstrip("\x02\ufffe") + ("-" if is_broken else "")
    text = words.translate(LIGATURES).strip()
    span = (first, last + 1 + is_broken)
    return Line(text, boxes[0][0], boxes[-1][2], bottom, top, is_broken, span=span)


def _lines(textpage: Any) -> list[Line]:
    """The lines of a page. Those that take more room for their words than most have parts, where
    their gaps are wide: looking at every word of every line would cost time."""
    pieces = list(_pieces(textpage))
    lines = [_line(textpage, *piece) for piece in pieces]
    room = [(one.right - one.left) / (one.height or 1.0) / len(one.text or " ") for one in lines]
    long = sorted(of for of, one in zip(room, lines, strict=True) if len(one.text) >= _LONG_LINE)
    usual = _WIDER * long[len(long) // 4] if long else 0.0
    least = min(max(usual, _ROOMY[0]), _ROOMY[1])
    for line, piece, taken in zip(lines, pieces, room, strict=True):
        is_row = taken > least and len(line.text) <= _LONGEST_ROW
        if is_row and not _DOT_LEADERS.search(line.text):
            line.cells = _cells(textpage, *piece, line)
    return lines


def _cells(textpage: Any, words: str, position: int, line: Line) -> tuple[Line, ...]:
    """Its parts at gaps wider than it is high, and theirs at gaps wider than between words."""
    wide: list[Line] = []
    for match in _LABEL_WORD.finditer(words):
        first = position + _units(words[: match.start()])
        end = first + _units(match.group())
        left, right = box_of(textpage, first)[0], box_of(textpage, end - 1)[2]
        text = match.group().translate(LIGATURES)
        part = replace(line, text=text, left=left, right=right, soft_break=False, span=(first, end))
        last = wide[-1] if wide else part
        if not wide or left - last.right > line.height:
            wide.append(part)
            continue
        cells = [*(last.cells or (last,))]
        if left - last.right > _NARROW * line.height:
            cells.append(part)
        else:
            cells[-1] = _with(cells[-1], part)
        several = tuple(cells) if len(cells) > 1 else ()
        wide[-1] = replace(_with(last, part), cells=several)
    return tuple(wide) if 1 < len(wide) <= _MOST_CELLS else ()


def _with(line: Line, part: Line) -> Line:
    """A line that goes on with what stands after a gap."""
    span = (line.span[0], part.span[1])
    return replace(line, text=f"{line.text} {part.text}", right=part.right, span=span)


def box_of(textpage: Any, text_index: int) -> tuple[float, float, float, float]:
    """Left, bottom, right, top of a character with its line's full height; zeros if unknown."""
    import pypdfium2.raw as pdfium

    index = pdfium.FPDFText_GetCharIndexFromTextIndex(textpage, text_index)
    rectangle = pdfium.FS_RECTF()
    if index < 0 or not pdfium.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(rectangle)):
        return (0.0, 0.0, 0.0, 0.0)
    return (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)


def _read_scans(document: Any, pages: list[list[Line]], source: Source, composer: Composer) -> None:
    """Pages without text are read by OCR where it is usable, and named where it is not."""
    blank = [index for index, lines in enumerate(pages) if not _has_print(lines)]
    scans = [index for index in blank if _has_picture(document, index)]
    read_picture = recognizer(source.budget.limits) if scans else None
    for index in scans if read_picture else ():
        source.budget.beat()
        with closing(document[index]) as page:
            width, height = page.get_size()
            scale = min(DPI / 72, (MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
            picture = page.render(scale=scale, grayscale=True).to_pil()
        pages[index] = read_picture(picture) + pages[index]  # type: ignore[misc]
    if not any(pages):
        if not scans:
            raise NoText("no page holds any text")
        if read_picture is not None:
            raise NoText("its pages are pictures in which OCR found no text")
        raise NoText("its pages are pictures without text (a scan)", hint=HINT)
    if read := [index for index in scans if _has_print(pages[index])]:
        composer.about.notes.append(f"read by OCR: {_name_pages(read)}")
    if remaining := [index for index in scans if not _has_print(pages[index])]:
        composer.about.notes.append(f"pictures without text: {_name_pages(remaining)}")


def _has_print(lines: list[Line]) -> bool:
    return any(not line.is_field for line in lines)


def _has_picture(document: Any, index: int) -> bool:
    import pypdfium2
    import pypdfium2.raw as pdfium

    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_SHADING)
    try:
        with closing(document[index]) as page:
            return next(iter(page.get_objects(filter=kinds, max_depth=3)), None) is not None
    except pypdfium2.PdfiumError:
        return False


def _name_pages(indexes: list[int]) -> str:
    named = ", ".join(str(index + 1) for index in indexes[:_NAMED_PAGES])
    more = len(indexes) - _NAMED_PAGES
    end = f" and {more:,} more" if more > 0 else ""
    return f"{'page' if len(indexes) == 1 else 'pages'} {named}{end}"


# Lines on pages flowed into paragraphs: sentences read whole, headings stand alone.

_ENDS_SENTENCE = re.compile(r"[.!?:;。!?][\"'”’)\]]*$")  # noqa: RUF001 - full width is meant
_STARTS_ITEM = re.compile(r"^([•◦▪‣●○■□·*\u2013\u2014-]\s|\(?[0-9]{1,3}[.)]\s|\(?[a-zA-Z][.)]\s)")
_BROKEN_WORD = re.compile(r"[^\W\d_][-\u2010]$")
_LOWER_START = re.compile(r"^[^\W\d_A-Z]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_DOT_LEADERS = re.compile(r"(?:\.\s?){4}")
_DIGITS = re.compile(r"\d+")
_ONLY_NUMBER = re.compile(r"\W*(page|seite|p\.)?\W*#(\W*(/|of|von)\W*#)?\W*", re.IGNORECASE)
_NARROW = 0.45  # of a line's height: wider than between words
_ROOMY, _WIDER, _LONG_LINE = (0.45, 0.6), 1.2, 20
"""A line is roomy where its characters take more of its height than those of a quarter of the long
lines, and something on top, within these bounds: print takes 0.4, in some typefaces 0.5."""
_LONGEST_ROW, _MOST_CELLS = 1_000, 40  # in characters, in cells: beyond it a line is text
_WIDE_GAP = 1.45  # times the usual distance of lines: beyond it a new paragraph begins
_OTHER_SIZE = 0.13
_HEADING_SIZE = 1.15
_LONGEST_HEADING = 160
_MOST_HEADING_LINES = 3
_RUNNING_PAGES = 3
_RUNNING_SHARE = 0.3
_SHORT_LINE = 0.85
_INDENT = 0.7


@dataclass(slots=True)
class _Style:
    height: float
    pitches: dict[float, float]  # height of a line -> usual distance of such lines
    sizes: list[float]  # heights of headings, largest first
    words: frozenset[str]


def flow(
    pages: Sequence[list[Line]], composer: Composer, *, outline: dict[int, dict[str, int]]
) -> None:
    kept = drop_running_lines(pages)
    style = _style(kept)
    writer = _Writer(composer, style)
    for index, lines in enumerate(kept):
        composer.start_page(index + 1)
        bookmarks = outline.get(index, {})
        for text, rows in apart(lines):
            for block in _blocks(text, style, bookmarks):
                writer.write(block, _heading_level(block, style, bookmarks))
            if rows:
                writer.table([[words_of(cell) for cell in row] for row in rows])
        composer.end_page()


def drop_running_lines(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Without page numbers, and without headers and footers after their first appearance."""
    masked = [[_DIGITS.sub("#", line.text) for line in lines] for lines in pages]
    edges = [{*lines[:2], *lines[-2:]} if len(lines) > 2 else set() for lines in masked]  # noqa: PLR2004
    seen = Counter(mask for masks in edges for mask in masks)
    enough = max(_RUNNING_PAGES, _RUNNING_SHARE * len(pages))
    running = {mask for mask, count in seen.items() if count >= enough}
    shown: set[str] = set()
    kept: list[list[Line]] = []
    for lines, masks in zip(pages, masked, strict=True):
        kept.append([])
        for position, (line, mask) in enumerate(zip(lines, masks, strict=True)):
            is_edge = position < 2 or position >= len(lines) - 2  # noqa: PLR2004
            if is_edge and mask in running and not line.is_field:
                if mask in shown or _ONLY_NUMBER.fullmatch(mask):
                    continue
                shown.add(mask)
            kept[-1].append(line)
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
    unnumbered = re.sub(r"^[\dIVXA-Z]+(\.\d+)*\.?\s+", "", text)
    return outline.get(heading_key(text)) or outline.get(heading_key(unnumbered))


def _continues(block: list[Line], line: Line, style: _Style) -> bool:
    before = block[-1]
    if before.soft_break or line.same_row or before.is_field or line.is_field:
        return not (before.is_field or line.is_field)
    if _STARTS_ITEM.match(line.text) or _differ(before.height, line.height):
        return False
    drop = before.bottom - line.bottom
    if drop < -before.height:  # the next column, or a jump back up
        return not _ENDS_SENTENCE.search(before.text)
    pitch = style.pitches.get(round(line.height), line.height)
    if drop > _WIDE_GAP * max(pitch, line.height):
        return False
    if not _ENDS_SENTENCE.search(before.text):
        return True
    # A full stop on a short line, or a first line indented more than the one above, ends it.
    widest = max(item.right for item in block) - min(item.left for item in block)
    is_short = len(block) > 1 and before.right - block[0].left < _SHORT_LINE * widest
    is_indented = line.left - before.left > _INDENT * line.height
    reaches_less = before.right + line.height < line.right
    return not (is_indented or is_short or (len(block) == 1 and reaches_less))


def _differ(first: float, second: float) -> bool:
    return abs(first - second) > _OTHER_SIZE * max(first, second)


def _heading_level(block: list[Line], style: _Style, outline: dict[str, int]) -> int | None:
    text = " ".join(line.text for line in block)
    if block[0].is_field or len(text) > _LONGEST_HEADING or len(block) > _MOST_HEADING_LINES:
        return None
    level = _bookmark_level(text, outline)
    size = round(block[0].height, 1)
    is_plain = not any(map(str.isalpha, text)) or text.endswith((".", ",", ";"))
    # Dots lead to a page number in a table of contents.
    if level or outline or is_plain or _DOT_LEADERS.search(text) or size not in style.sizes:
        return level
    # 1 for the largest; sizes that differ by less than a twentieth count as one.
    rank, last = 0, 0.0
    for other in style.sizes:
        if not last or last - other > last * 0.05:
            rank, last = rank + 1, other
        if other <= size:
            break
    return rank


@dataclass(slots=True)
class _Writer:
    composer: Composer
    style: _Style
    open_end: str = ""  # last line of the paragraph so far, if that may go on

    def write(self, block: list[Line], level: int | None) -> None:
        text = block[0].text
        if level is not None or block[0].is_field:
            if level is not None:
                self.composer.heading(level, " ".join(line.text for line in block))
            else:
                self.composer.line(text)
            self.open_end = ""
            return
        for before, line in pairwise(block):
            text = self._glued(text, before, line.text)
        if self.open_end and _LOWER_START.match(text) and not _STARTS_ITEM.match(text):
            self.composer.paragraph(text, " ")
        else:
            self.composer.paragraph(text)
        is_open = len(block) > 1 and not _ENDS_SENTENCE.search(text)
        self.open_end = block[-1].text if is_open else ""

    def table(self, rows: list[list[str]]) -> None:
        """Each row is a line that names its columns; of two columns the first names the second."""
        self.open_end = ""
        if len(rows[0]) > 2:  # noqa: PLR2004
            write_rows(rows, self.composer)
            return
        for label, value in rows:
            self.composer.line(
                f"{label.rstrip(':')}: {value}" if label and value else label or value
            )
        self.composer.end_lines()

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


# Forms: the value of each field as `label: value`, in the place of its printed label.

_LABEL_WORD = re.compile(r"(?:(?!\.\.|__|(?<=\.)\.|(?<=_)_)\S)+")  # no dots to write on
_LABEL_ENDS = " :*._…"
_LABEL_ABOVE = 200.0  # points: a label farther left than this gives way to one above the field
_TOUCH = 3.0  # points by which a label may reach into its field
_MOST_PAIRS = 2_000_000  # of fields and lines on a page: beyond it the values are left out
_HIDDEN, _PASSWORD = 0b100010, 1 << 13  # flags of an annotation, of a text field


@dataclass(slots=True)
class _Field(Line):
    is_box: bool = False  # a check box or a radio button
    name: str = ""
    value: str = ""


def _form_lines(page: Any, textpage: Any) -> list[Line]:
    """The lines of a page with the values of its fields; nothing where none is filled in."""
    fields = sorted(_fields(page), key=lambda item: (-item.top, item.left))
    if not any(item.value not in {"", "no"} for item in fields):
        return []
    lines = [part for piece in _pieces(textpage) for part in _parts(textpage, *piece)]
    if len(fields) * len(lines) > _MOST_PAIRS:
        return []
    free = dict(enumerate(lines))
    found: list[tuple[float, Line]] = []
    for item in fields:
        labels = _labels(item, fields, free)
        parts = [free.pop(at) for at in labels]
        text = " ".join(part.text for part in parts).strip(_LABEL_ENDS) or item.name
        if not item.value or not text:
            found += zip(labels, parts, strict=True)
            continue
        higher = (at for at, line in enumerate(lines) if line.bottom >= item.bottom - _TOUCH)
        above = max(higher, default=-1)
        box = [*parts, *lines[above : above + 1], item][0]
        at = labels[0] if labels else above + 0.5
        words, held = f"{text}: {item.value}", (*parts, replace(item, text=item.value))
        found.append((at, replace(box, text=words, is_field=True, cells=held, span=(0, 0))))
    return [line for _, line in sorted([*free.items(), *found], key=itemgetter(0))]


def _parts(textpage: Any, words: str, position: int) -> list[Line]:
    """A line of print, cut at its wide gaps."""
    parts: list[Line] = []
    for match in _LABEL_WORD.finditer(words):
        line = _line(textpage, match.group(), position + _units(words[: match.start()]))
        if parts and line.left - parts[-1].right <= line.height:
            parts[-1] = replace(_with(parts[-1], line), soft_break=line.soft_break)
        else:
            parts.append(replace(line, same_row=bool(parts)))
    return parts


def _labels(item: _Field, fields: list[_Field], lines: dict[int, Line]) -> list[int]:
    """The nearest line left of a field (right of a box), else above it, and how it goes on."""
    row = [other for other in fields if other is not item and other.is_beside(item)]
    start = max((other.right for other in row if other.left < item.left), default=-math.inf)
    distances: dict[int, float] = {}
    for at, line in lines.items():
        before, after, over = item.left - line.right, line.left - item.right, line.bottom - item.top
        is_beside = line.is_beside(item)
        if is_beside and before >= -_TOUCH and line.left >= start - _TOUCH:
            distances[at] = before * (1 + item.is_box) + abs(item.top - line.top)
        elif is_beside and item.is_box and -_TOUCH <= after < 3 * line.height:
            distances[at] = after
        elif -_TOUCH <= over <= line.height and before < 0 and after < 0:
            distances[at] = _LABEL_ABOVE + over
    found = [min(distances, key=lambda at: distances[at])] if distances else []
    while found and (below := lines.get(found[-1] + 1)) and _LOWER_START.match(below.text):
        last = lines[found[-1]]
        is_under = 0 < last.bottom - below.bottom < _WIDE_GAP * below.height
        is_others = any(below.is_beside(other) for other in fields if other is not item)
        if is_others or not is_under or abs(below.left - last.left) > _TOUCH:
            break
        found.append(found[-1] + 1)
    return found


def _fields(page: Any) -> Iterator[_Field]:
    from pypdfium2 import raw

    count = raw.FPDFPage_GetAnnotCount(page)  # pdfium's own time grows with its square
    for index in range(count if count**2 <= _MOST_PAIRS else 0):
        if annotation := raw.FPDFPage_GetAnnot(page, index):
            try:
                is_field = raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET
                if is_field and not raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                    yield _field(page.formenv, annotation)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any) -> _Field:
    from pypdfium2 import raw

    def said(call: Any, *more: int) -> str:
        size = call(form, annotation, *more, None, 0)
        stored = (raw.FPDF_WCHAR * (size // 2 + 1))()
        call(form, annotation, *more, stored, size)
        return one_line(bytes(stored).decode("utf-16-le", "replace").split("\0")[0])

    box = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, box)
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = said(raw.FPDFAnnot_GetFormFieldAlternateName) or said(raw.FPDFAnnot_GetFormFieldName)
    if kind == raw.FPDF_FORMFIELD_RADIOBUTTON:  # all buttons of a group have one name
        name = f"{name} {said(raw.FPDFAnnot_GetFormFieldExportValue)}"
    is_box = kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
    is_secret, value = raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD, ""
    if is_box:
        value = "yes" if raw.FPDFAnnot_IsChecked(form, annotation) else "no"
    elif raw.FPDF_FORMFIELD_COMBOBOX <= kind <= raw.FPDF_FORMFIELD_TEXTFIELD and not is_secret:
        options = range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), 1_000))
        chosen = (at for at in options if raw.FPDFAnnot_IsOptionSelected(form, annotation, at))
        value = ", ".join(said(raw.FPDFAnnot_GetOptionLabel, at) for at in chosen)
        value = value or said(raw.FPDFAnnot_GetFormFieldValue)
    corners = (box.left, box.right, box.bottom, box.top)
    return _Field("", *corners, is_box=is_box, name=name, value=value)


# The bookmarks of a PDF, as headings to look for on its pages.


def heading_key(words: str) -> str:
    return one_line(words).lower().replace(" ", "")


# Pictures.


def parse_image(source: Source) -> Extracted:
    read_picture = recognizer(source.budget.limits)
    if read_picture is None:
        raise Unsupported("it is an image, which only OCR can read", hint=HINT)
    import PIL.Image
    import PIL.ImageSequence

    pages: list[list[Line]] = []
    try:
        with source.open() as stream, PIL.Image.open(stream) as picture:
            if picture.width * picture.height > MOST_PIXELS * 4:
                raise LimitExceeded(f"the image has {picture.width} x {picture.height} pixels")
            for frame in PIL.ImageSequence.Iterator(picture):
                source.budget.spend_pages(len(pages) + 1)
                pages.append(read_picture(frame))
    except PIL.Image.DecompressionBombError as error:
        raise LimitExceeded("the image has far more pixels than a scan has") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        # The message names a place in memory where PIL does not know the kind.
        unknown = isinstance(error, PIL.UnidentifiedImageError)
        said = "of no known kind" if unknown else str(error)
        raise Damaged(f"the image cannot be opened: {said}") from error
    composer = Composer(source.budget)
    flow(pages, composer, outline={})
    if not composer.length:
        raise NoText("OCR found no text in the image")
    composer.about.notes.append("read by OCR")
    return composer.finish("image")
