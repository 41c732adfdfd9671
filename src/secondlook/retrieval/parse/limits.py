"""What a parser may cost, and what it gives back. Both travel between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.retrieval.parse.suffixes import TABLES

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.errors import ExtractionError

PARSER_VERSION = "1"
"""Goes up whenever the same bytes would give another text, so that stored texts are renewed."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds on one file. What breaks one is reported as `LimitExceeded`."""

    idle_seconds: float = 60
    """A worker that shows no sign of life (a page, a member) for this long is killed."""
    total_seconds: float = 900
    file_bytes: int = 1 << 30
    """Larger files are refused before they are read."""
    table_bytes: int = 64 << 30
    """The same for tables, of which only the beginning is read here."""
    text_chars: int = 50_000_000
    """Of one file, the members of an archive together."""
    members: int = 10_000
    """Of one archive, the archives inside it included."""
    expanded_bytes: int = 2 << 30
    """Of everything that is decompressed out of one file."""
    pages: int = 50_000
    memory_bytes: int = 3 << 30
    """Address space of one worker, where the system can bound it."""
    ocr: Literal["auto", "off"] = "auto"
    """auto: pages without text go through tesseract where it is installed."""
    ocr_language: str = "eng"

    def most_bytes(self, suffix: str) -> int:
        """How large a file with such a name may be."""
        return self.table_bytes if suffix in TABLES else self.file_bytes


DEFAULT_LIMITS = ParseLimits()


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document that came out of a file, or the reason why none did."""

    member: str
    """"" for the file itself, "inner/path.txt" for what an archive or a mail carries."""
    sha256: str
    """Of the file's or member's bytes; "" when they were never read to the end."""
    bytes: int
    extracted: Extracted | None = None
    error: ExtractionError | None = None
    """Exactly one of both is set."""
