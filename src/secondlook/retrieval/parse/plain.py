"""Formats that already are text: notes, source code, subtitles, JSON."""

from __future__ import annotations

import json
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from secondlook.errors import LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line, tidy
from secondlook.retrieval.parse.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


# JSON that is a table: one object a line, or an array of objects. A long one becomes a card.

_Object = dict[str, Any]


def parse_json_lines(source: Source) -> Extracted:
    if source.is_large:
        text, composer = beginning(source)
        write_card(_objects(text.splitlines()), composer, total=f"about {lines_in(source):,}")
        return composer.finish("jsonl")
    text, composer = start(source)
    lines = [line for line in text.splitlines() if line.strip()]
    first = _objects(lines)
    if first and is_long(first, len(lines)):
        write_card(first, composer, total=f"{len(lines):,}")
    else:
        composer.block(text)
    return composer.finish("jsonl")


def is_long(first: Sequence[_Object], count: int) -> bool:
    """Whether so many rows are no text to search."""
    return count > (MOST_PROSE_ROWS if is_prose(_cells(first)) else MOST_ROWS)


def write_card(objects: Sequence[_Object], composer: Composer, *, total: str) -> None:
    names = list(dict.fromkeys(name for item in objects for name in item))
    rows = [[_shown(item.get(name)) for name in names] for item in objects]
    rows_write_card(names, rows, names, composer, total=total)


def _objects(lines: Iterable[str]) -> list[_Object]:
    """The first of them; what is no object ends them."""
    found: list[_Object] = []
    for line in lines:
        if len(found) == SHOWN_ROWS:
            break
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        found.append(value)
    return found


def _cells(objects: Sequence[_Object]) -> list[list[str]]:
    return [[_shown(value) for value in item.values()] for item in objects]


def _shown(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Rows of a table as text. Each row is a line that can be understood alone.

MOST_ROWS = 2_000
"""Rows of numbers and names beyond which a table is described by a card."""
MOST_PROSE_ROWS = 20_000
"""The same where rows hold sentences: people search these as they search documents."""
SHOWN_ROWS = 20
_PROSE_CHARS = 80
"""A row whose longest cell has so many characters holds a sentence, not a name."""
_LONGEST_NAME = 60
_LONGEST_CARD_CELL = 200
_MOST_NAMED_COLUMNS = 60
_MOST_LISTED_COLUMNS = 500


def write_rows(rows: Iterable[Sequence[str]], composer: Composer, *, total: str = "") -> None:
    """Rows of text; the first one that is filled decides whether columns have names.

    `total` says how many rows there are where that is known and `rows` are only the first.
    """
    filled = (row for row in rows if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    head = list(islice(filled, MOST_ROWS + 1))
    names = _column_names(first, head[0] if head else None)
    if not total and len(head) > MOST_ROWS and is_prose(head[:SHOWN_ROWS]):
        head.extend(islice(filled, MOST_PROSE_ROWS - len(head) + 1))
        if len(head) <= MOST_PROSE_ROWS:
            _write_lines(first, head, names, composer)
            return
    if total or len(head) > MOST_ROWS:
        count = total or f"{len(head) + sum(1 for _ in filled) + (not names):,}"
        rows_write_card(first, head, names, composer, total=count)
    else:
        _write_lines(first, head, names, composer)


def write_named(
    columns: Sequence[str], rows: Iterator[Sequence[str]], composer: Composer, *, total: int
) -> None:
    """Rows of a table that knows the names of its columns and how many rows it has."""
    prose = list(islice(rows, SHOWN_ROWS))
    most = MOST_PROSE_ROWS if is_prose(prose) else MOST_ROWS
    if total > most:
        rows_write_card(columns, prose, list(columns), composer, total=f"{total:,}")
    else:
        _write_lines(columns, chain(prose, rows), list(columns), composer)


def rows_write_card(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    names: list[str],
    composer: Composer,
    *,
    total: str,
) -> None:
    """What a table holds, for a search to find it; its rows are for computing with."""
    composer.about.card = True
    shown = min(SHOWN_ROWS, len(rows))
    composer.paragraph(
        f"A table of {total} rows and {len(first):,} columns; its first {shown} rows are shown."
    )
    if names:
        listed = [name for name in map(one_line, names) if name]
        more = len(listed) - _MOST_LISTED_COLUMNS
        end = f" and {more:,} more" if more > 0 else ""
        composer.paragraph(f"Columns: {', '.join(listed[:_MOST_LISTED_COLUMNS])}{end}.")
    short = [[cell[:_LONGEST_CARD_CELL] for cell in row] for row in rows[:SHOWN_ROWS]]
    _write_lines(first, short, names, composer)


def _write_lines(
    first: Sequence[str], rows: Iterable[Sequence[str]], names: list[str], composer: Composer
) -> None:
    composer.row(first)
    for row in rows:
        if names:
            composer.line(_named(names, row))
        else:
            composer.row(row)
    composer.end_lines()


def is_prose(rows: Sequence[Sequence[str]]) -> bool:
    longest = sorted(max(map(len, row), default=0) for row in rows)
    return bool(longest) and longest[len(longest) // 2] >= _PROSE_CHARS


def _column_names(first: Sequence[str], second: Sequence[str] | None) -> list[str]:
    """The first row, if it looks like names: short words, all different, none a number."""
    names = [one_line(cell) for cell in first]
    given = [name for name in names if name]
    if second is None or len(given) < 2 or len(names) > _MOST_NAMED_COLUMNS:  # noqa: PLR2004
        return []
    if len(given) < len([cell for cell in second if cell.strip()]) - 1:
        return []
    if any(_is_number(name) or len(name) > _LONGEST_NAME for name in given):
        return []
    return names if len(set(given)) == len(given) else []


def _is_number(text: str) -> bool:
    return not any(char.isalpha() for char in text) and any(char.isdigit() for char in text)


def _named(names: list[str], row: Sequence[str]) -> str:
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = one_line(cell)
        if value:
            name = names[index] if index < len(names) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts)


# The beginning of a text file that is too large to be read whole, and how long it is.

_BEGINNING_BYTES = 1 << 20
_BLOCK = 8 << 20
_WIDEST_CHARACTER = 4


def beginning(source: Source) -> tuple[str, Composer]:
    """Its first lines, whole, and a composer that already knows what was lost."""
    with source.open() as stream:
        data = stream.read(_BEGINNING_BYTES)
    end = data.rfind(b"\n") + 1 or len(data)
    # In an encoding of two or four bytes a character, the end of a line is more than its mark.
    text, notes = decode(
        data[: end + (-end) % _WIDEST_CHARACTER] if 0 in data[:100] else data[:end]
    )
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    return text, composer


def lines_in(source: Source) -> int:
    """Line ends in all of it: about the number of its rows, as cells may hold some."""
    count = 0
    with source.open() as stream:
        while block := stream.read(_BLOCK):
            count += block.count(b"\n")
            source.budget.beat()
    return count
