"""Putting a document's text together, piece by piece, with exact maps of pages and headings."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from secondlook.document import Extracted, Heading, Page
from secondlook.errors import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.retrieval.parse.source import Budget

PARAGRAPH = "\n\n"

_SUSPECT = re.compile(
    r"[\x00-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_LINE_ENDS = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _SUSPECT.search(text):
        if _SURROGATE.search(text):
            # Halves of a pair that came in separately are joined; others are lost for good.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def tidy(text: str) -> str:
    text = "\n".join(line.rstrip() for line in clean(text).split("\n"))
    return _BLANK_LINES.sub(PARAGRAPH, text).strip("\n").rstrip()


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


@dataclass(slots=True)
class About:
    title: str | None = None
    author: str | None = None
    date: str | None = None
    notes: list[str] = field(default_factory=list)
    card: bool = False


class Composer:
    """Collects paragraphs, headings and pages; every offset it hands out is exact."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[str] = []
        self.length = 0
        self._headings: list[Heading] = []
        self._pages: list[Page] = []
        self._page: tuple[int, int | None] | None = None
        self._after_line = -1
        self.about = About()

    def paragraph(self, text: str, separator: str = PARAGRAPH) -> None:
        self._append(one_line(text), separator)

    def block(self, text: str) -> int:
        return self._append(tidy(text))

    def line(self, text: str) -> None:
        at_page_start = self._page is not None and self._page[1] is None
        is_next = self._after_line == self.length and not at_page_start
        self._append(one_line(text), "\n" if is_next else PARAGRAPH)
        self._after_line = self.length

    def row(self, cells: Iterable[str]) -> None:
        self.line(" | ".join(cell for cell in map(one_line, cells) if cell))

    def end_lines(self) -> None:
        self._after_line = -1

    def heading(self, level: int, text: str) -> None:
        if words := one_line(text):
            start = self._append(words)
            self.mark_heading(level, start, start + len(words))

    def mark_heading(self, level: int, start: int, end: int) -> None:
        self._headings.append(Heading(min(max(level, 1), 9), start, end))

    def start_page(self, number: int) -> None:
        self.end_page()
        self._page = (number, None)

    def end_page(self) -> None:
        if self._page is not None:
            number, start = self._page
            self._pages.append(Page(number, self.length if start is None else start, self.length))
        self._page = None

    def finish(self, kind: str) -> Extracted:
        self.end_page()
        about = self.about
        return Extracted(
            "".join(self._parts),
            kind=kind,
            title=about.title,
            author=about.author,
            date=about.date,
            pages=tuple(self._pages),
            headings=tuple(sorted(self._headings, key=lambda item: item.start)),
            notes=tuple(about.notes),
            card=about.card,
        )

    def _append(self, text: str, separator: str = PARAGRAPH) -> int:
        if not text:
            self._budget.beat()
            return self.length
        if self.length:
            self._parts.append(separator)
            self.length += len(separator)
        start = self.length
        if self._page is not None and self._page[1] is None:
            self._page = (self._page[0], start)
        self._parts.append(text)
        self.length += len(text)
        self._budget.spend("text_chars", len(text))
        return start


# The last touch on every document: a title worth showing, an ISO date, the language.

_LONGEST = 300

_NO_TITLE = re.compile(
    r"(untitled|unbenannt|sans titre|no title|title|document|document ?\d*|slide ?\d*|"
    r"presentation ?\d*|powerpoint[- ]pr\w+|book ?\d+|sheet ?\d+|new document|temp\w*|unknown|"
    r"\(?anonymous\)?|\(?unspecified\)?|none|null|index|\W*|\d+)",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(\d+|[IVX]+)(\.\d+)*[.)]?\s|(introduction|abstract|contents|table of contents|preface|"
    r"summary|references|acknowledge?ments)$",
    re.IGNORECASE,
)
_OFFICE_TITLE = re.compile(r"^microsoft (word|powerpoint|excel) - ", re.IGNORECASE)
_FILE_NAME = re.compile(
    r"^.*\.(docx?|pdf|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|odt|html?|ps|eps|fm|pmd)$", re.IGNORECASE
)
_NO_AUTHOR = re.compile(
    r"(\(?anonymous\)?|unknown|user|admin\w*|owner|author|python-(docx|pptx)|\W*)", re.IGNORECASE
)
_ISO = re.compile(r"^\s*(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?=\D|$)")
_PDF_DATE = re.compile(r"^\s*(?:D:)?(\d{4})(\d{2})?(\d{2})?")
_WORDY_DATES = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y", "%B %Y", "%Y/%m/%d")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 20
_SURE = 0.8


def finish(extracted: Extracted, name: str) -> Extracted:
    if not extracted.text.strip():
        raise NoText("it holds no text")
    author = one_line(extracted.author or "")[:_LONGEST]
    # The file's own title, its first heading, or the name of the file.
    own = _sane_title(extracted.title) or _first_heading(extracted) or _readable_stem(name)
    return replace(
        extracted,
        title=own[:_LONGEST],
        author=None if _NO_AUTHOR.fullmatch(author) else author,
        date=iso_date(extracted.date),
        language=None if extracted.kind == "code" else language_of(extracted.text),
    )


def _sane_title(title: str | None) -> str | None:
    words = _OFFICE_TITLE.sub("", one_line(title or ""))
    is_none = not words or _NO_TITLE.fullmatch(words) or _FILE_NAME.match(words)
    return None if is_none else words


def _first_heading(extracted: Extracted) -> str | None:
    first = min(extracted.headings[:5], key=lambda heading: heading.level, default=None)
    words = _sane_title(extracted.text[first.start : first.end]) if first else None
    return None if words is None or _SECTION.match(words) else words


def _readable_stem(name: str) -> str:
    """`annual_report-2023.pdf` reads "annual report 2023"."""
    stem = PurePath(name.replace("\\", "/")).name
    stem = re.sub(r"(\.tar)?\.\w{1,8}$", "", stem) or stem
    return one_line(re.sub(r"[_\s]+|(?<=\w)-(?=\w)", " ", stem)) or "untitled"


def iso_date(value: str | None) -> str | None:
    """As exact as the file says: 2024, 2024-05 or 2024-05-17; None for what is no date."""
    value = (value or "").strip()
    if match := _ISO.match(value) or _PDF_DATE.match(value):
        parts = [part for part in match.groups() if part]
        while parts and "1000" <= parts[0] < "3000":
            with suppress(ValueError):
                datetime.strptime("-".join(parts), "%Y-%m-%d"[: 3 * len(parts) - 1])  # noqa: DTZ007
                return "-".join(parts)
            parts.pop()
        return None
    for form in _WORDY_DATES:
        with suppress(ValueError):
            day = datetime.strptime(value, form)  # noqa: DTZ007 - a day, no moment
            return day.strftime("%Y-%m" if form == "%B %Y" else "%Y-%m-%d")
    return None


def language_of(text: str) -> str | None:
    """ISO 639-1 code; None when there is too little text, or several languages compete."""
    # Beginning, middle and end: a front page is often in another language than the rest.
    size, middle = 600, len(text) // 2
    parts = (text[:size], text[middle : middle + size], text[-size:])
    sample = text if len(text) <= 3 * size else "\n".join(parts)
    if len(_WORD.findall(sample)) + len(_CJK.findall(sample)) // 2 < _FEWEST_WORDS:
        return None
    code, probability = _identifier().classify(sample)
    return str(code) if probability >= _SURE else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
