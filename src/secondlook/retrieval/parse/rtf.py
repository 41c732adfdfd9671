"""Rich Text Format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.errors import LimitExceeded
from secondlook.retrieval.parse.compose import Composer, tidy

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_INFO = re.compile(r"\{\\(title|author)\s([^{}]{1,500})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_PICTURE_DATA = re.compile(r"(?:[0-9a-fA-F]{64,}\s*)+")
_BYTES_PER_CHAR = 20


def parse_rtf(source: Source) -> Extracted:
    from striprtf.striprtf import rtf_to_text

    limit = source.budget.limits.text_chars
    if source.size > limit * _BYTES_PER_CHAR:
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    raw = source.read().decode("latin-1")
    # Pictures are megabytes of hexadecimal digits that would only be walked to be dropped.
    raw = _PICTURE_DATA.sub("", raw)
    source.budget.beat()
    composer = Composer(source.budget)
    text: str = rtf_to_text(raw, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    for paragraph in tidy(text).split("\n"):
        composer.paragraph(paragraph)
    _describe(raw, composer)
    return composer.finish("rtf")


def _describe(raw: str, composer: Composer) -> None:
    about = {match.group(1): match.group(2) for match in _INFO.finditer(raw[:100_000])}
    composer.about.title = _plain(about.get("title"))
    composer.about.author = _plain(about.get("author"))
    if created := _CREATED.search(raw[:100_000]):
        year, month, day = map(int, created.groups())
        composer.about.date = f"{year:04}-{month:02}-{day:02}"


def _plain(value: str | None) -> str | None:
    """Escapes such as \\'fc resolved."""
    if value is None:
        return None
    resolved = re.sub(
        r"\\'([0-9a-fA-F]{2})",
        lambda match: bytes.fromhex(match.group(1)).decode("cp1252", "replace"),
        value,
    )
    return re.sub(r"\\u(-?\d{1,5})\s?\??", lambda match: chr(int(match.group(1)) % 65536), resolved)
