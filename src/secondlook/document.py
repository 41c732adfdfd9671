"""What a parser makes of a file: one string, and maps that say where things are in it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: `text[start:end]` of the document is what stands on it."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading whose words stand at `text[start:end]`; level 1 is the outermost."""

    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of one document with its maps. Offsets count Python characters of `text`.

    Pages and headings are sorted by start. Pages do not overlap and may be absent where the
    format has none. `text` uses "\\n" for line ends and separates paragraphs by a blank line.
    """

    text: str
    title: str | None = None
    author: str | None = None
    date: str | None = None  # ISO 8601, as exact as the file says: 2024, 2024-05 or 2024-05-17
    language: str | None = None
    """ISO 639-1 code of the prevailing language; None when the text is too short to tell."""
    kind: str = "text"  # What it was read as: pdf, docx, html, code, ..
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What a reader of this text should know: pages without text, parts left out."""
    card: bool = False  # A long table that is only described here: its rows are no text to search
