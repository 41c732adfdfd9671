"""PDF through pdfium: lines with their geometry, flowed into paragraphs by `flow`."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, NoText
from secondlook.retrieval.parse import ocr
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.flow import Line, flow
from secondlook.retrieval.parse.outline import outline_headings

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": "-"}
)
_LINE_END = re.compile(r"\r\n|\r|\n")
# pdfium marks a hyphen that it takes for a word break like this, with or without a line end.
_PIECE_END = re.compile(r"\r\n|\r|\n|[\x02\ufffe](?:\r\n)?")
_Box = tuple[float, float, float, float]
_PASSWORD_ERROR = 4
_NAMED_PAGES = 12


def parse_pdf(source: Source) -> Extracted:
    document = _open(source)
    try:
        return _read(document, source)
    finally:
        document.close()


def _open(source: Source) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(source.data if source.data is not None else source.path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
            raise Encrypted(
                "it is protected by a password", hint="save a copy without password"
            ) from error
        raise Damaged(f"it is not a readable PDF: {error}") from error


def _read(document: Any, source: Source) -> Extracted:
    count = len(document)
    source.budget.spend_pages(count)
    pages: list[list[Line]] = []
    unread: list[int] = []
    for index in range(count):
        source.budget.beat()
        lines = _lines(document, index)
        pages.append(lines or [])
        if lines is None:
            unread.append(index)
    composer = Composer(source.budget)
    _read_scans(document, pages, source, composer)
    if unread:
        composer.about.notes.append(f"damaged and left out: {_name_pages(unread)}")
    _describe(document, composer)
    flow(pages, composer, outline=outline_headings(document), beat=source.budget.beat)
    return composer.finish("pdf")


def _lines(document: Any, index: int) -> list[Line] | None:
    """The lines of a page in reading order; None when the page cannot be loaded."""
    import pypdfium2

    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return None
    try:
        textpage = page.get_textpage()
        try:
            return _measured(textpage)
        finally:
            textpage.close()
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _measured(textpage: Any) -> list[Line]:
    text = textpage.get_text_range()
    lines: list[Line] = []
    position = 0
    is_wide = not text.isascii() and any(ord(char) > 0xFFFF for char in text)  # noqa: PLR2004
    for piece in _split(text):
        units = len(piece.encode("utf-16-le", "surrogatepass")) // 2 if is_wide else len(piece)
        words = _LINE_END.sub("", piece)
        if words.strip():
            lines.append(_line(textpage, words, position))
        position += units
    return lines


def _split(text: str) -> list[str]:
    """Pieces that keep their line ends, so that their lengths add up to the whole."""
    pieces: list[str] = []
    start = 0
    for match in _PIECE_END.finditer(text):
        pieces.append(text[start : match.end()])
        start = match.end()
    pieces.append(text[start:])
    return pieces


def _line(textpage: Any, words: str, position: int) -> Line:
    first = position + len(words) - len(words.lstrip())
    last = position + len(words.rstrip()) - 1
    is_broken = words[-1] in "\x02\ufffe"
    last = max(first, last - is_broken)
    boxes = [_box(textpage, first + (last - first) * step // 4) for step in range(5)]
    typical = _typical(boxes)
    words = words.rstrip("\x02\ufffe") + ("-" if is_broken else "")
    return Line(
        text=words.translate(_LIGATURES).strip(),
        left=boxes[0][0],
        right=boxes[-1][2],
        bottom=typical[1],
        top=typical[3],
        soft_break=is_broken,
    )


def _typical(boxes: list[_Box]) -> _Box:
    """A box of the commonest height: an odd symbol or a word in another type does not count."""
    heights = Counter(round(box[3] - box[1], 1) for box in boxes)
    return max(boxes, key=lambda box: (heights[round(box[3] - box[1], 1)], box[3] - box[1]))


def _box(textpage: Any, text_index: int) -> _Box:
    """Left, bottom, right, top of a character with its line's full height; zeros if unknown."""
    import pypdfium2.raw as pdfium

    index = pdfium.FPDFText_GetCharIndexFromTextIndex(textpage, text_index)
    rectangle = pdfium.FS_RECTF()
    if index < 0 or not pdfium.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(rectangle)):
        return (0.0, 0.0, 0.0, 0.0)
    return (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)


def _read_scans(document: Any, pages: list[list[Line]], source: Source, composer: Composer) -> None:
    """Pages without text are read by OCR where it is usable, and named where it is not."""
    empty = [index for index, lines in enumerate(pages) if not lines]
    if not empty:
        return
    scans = [index for index in empty if _has_picture(document, index)]
    reader = ocr.reader(source.budget.limits) if scans else None
    if reader is not None:
        for index in scans:
            pages[index] = reader.read_page(document, index, source.budget)
        still_empty = [index for index in scans if not pages[index]]
        read = len(scans) - len(still_empty)
        if read:
            composer.about.notes.append(
                f"read by OCR: {_name_pages([i for i in scans if pages[i]])}"
            )
    if not any(pages):
        raise _no_text(scanned=bool(scans), tried=reader is not None)
    remaining = [index for index in scans if not pages[index]]
    if remaining:
        composer.about.notes.append(f"pictures without text: {_name_pages(remaining)}")


def _has_picture(document: Any, index: int) -> bool:
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return False
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_SHADING)
    try:
        return next(iter(page.get_objects(filter=kinds, max_depth=3)), None) is not None
    except pypdfium2.PdfiumError:
        return False
    finally:
        page.close()


def _no_text(*, scanned: bool, tried: bool) -> NoText:
    if not scanned:
        return NoText("no page holds any text")
    if tried:
        return NoText("its pages are pictures in which OCR found no text")
    return NoText("its pages are pictures without text (a scan)", hint=ocr.HINT)


def _name_pages(indexes: list[int]) -> str:
    named = ", ".join(str(index + 1) for index in indexes[:_NAMED_PAGES])
    more = len(indexes) - _NAMED_PAGES
    plural = "page" if len(indexes) == 1 else "pages"
    return f"{plural} {named}" + (f" and {more:,} more" if more > 0 else "")


def _describe(document: Any, composer: Composer) -> None:
    try:
        found = document.get_metadata_dict(skip_empty=True)
    except (ValueError, RuntimeError):
        return
    composer.about.title = found.get("Title")
    composer.about.author = found.get("Author")
    composer.about.date = found.get("CreationDate") or found.get("ModDate")
