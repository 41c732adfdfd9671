"""Formats that already are text: notes, source code, subtitles, JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from secondlook.errors import LimitExceeded
from secondlook.retrieval.parse.charset import decode
from secondlook.retrieval.parse.compose import Composer, tidy
from secondlook.retrieval.parse.rows import MOST_ROWS, SHOWN_ROWS

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_BYTES_PER_CHAR = 4
_CUE_TIME = re.compile(r"^\s*(\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->.*$")
_CUE_TAG = re.compile(r"<[^>\n]{1,60}>|\{\\[^}\n]{1,40}\}")
_ENDS_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*$")  # noqa: RUF001 - as printed
_LONGEST_SUBTITLE_PARAGRAPH = 600
_LONG_LINE = 2000
_PRETTY_BYTES = 20_000_000


def read_text(source: Source, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The decoded text of a source, refused early when it must be too long."""
    if source.size > source.budget.limits.text_chars * _BYTES_PER_CHAR:
        limit = source.budget.limits.text_chars
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    return decode(source.read(), declared=declared)


def start(source: Source) -> tuple[str, Composer]:
    """Clean text of a source, and a composer that already knows what was lost."""
    text, notes = read_text(source)
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    return text, composer


def parse_text(source: Source) -> Extracted:
    text, composer = start(source)
    composer.block(text)
    return composer.finish("text")


def parse_code(source: Source) -> Extracted:
    text, composer = start(source)
    composer.block(text)
    return composer.finish("code")


def parse_xml(source: Source) -> Extracted:
    text, composer = start(source)
    composer.block(text)
    return composer.finish("xml")


def parse_json(source: Source) -> Extracted:
    """As it stands; one endless line is broken up so that a passage can be shown."""
    text, composer = start(source)
    if not _written_as_table(text, composer):
        composer.block(_pretty(text))
    return composer.finish("json")


def _written_as_table(text: str, composer: Composer) -> bool:
    """A long array of objects is a table: it is described, not searched object by object."""
    if not text.lstrip().startswith("[") or text.count("{") <= MOST_ROWS:
        return False
    from secondlook.retrieval.parse.json_lines import is_long, write_card

    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not all(isinstance(value, dict) for value in values):
        return False
    first = values[:SHOWN_ROWS]
    if not is_long(first, len(values)):
        return False
    write_card(first, composer, total=f"{len(values):,}")
    return True


def _pretty(text: str) -> str:
    if len(text) > _PRETTY_BYTES or len(text) < _LONG_LINE * (text.count("\n") + 1):
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def parse_subtitles(source: Source) -> Extracted:
    """Spoken words only; cues are joined up to the end of a sentence."""
    text, composer = start(source)
    spoken: list[str] = []
    for line in _spoken_lines(tidy(text)):
        spoken.append(line)
        length = sum(map(len, spoken))
        if _ENDS_SENTENCE.search(line) and length > _LONGEST_SUBTITLE_PARAGRAPH // 2:
            composer.paragraph(" ".join(spoken))
            spoken = []
    composer.paragraph(" ".join(spoken))
    return composer.finish("subtitles")


def _spoken_lines(text: str) -> list[str]:
    spoken: list[str] = []
    for cue in text.split("\n\n"):
        lines = cue.split("\n")
        times = [index for index, line in enumerate(lines) if _CUE_TIME.match(line)]
        # What has no time is a header, a style sheet or a comment.
        words = lines[times[0] + 1 :] if times else []
        spoken.extend(_CUE_TAG.sub("", word).strip() for word in words)
    return [line for line in spoken if line]
