"""JSON that is a table: one object a line, or an array of objects. A long one becomes a card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from secondlook.retrieval.parse.beginning import beginning, lines_in
from secondlook.retrieval.parse.plain import start
from secondlook.retrieval.parse.rows import MOST_PROSE_ROWS, MOST_ROWS, SHOWN_ROWS, is_prose
from secondlook.retrieval.parse.rows import write_card as write_card_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.compose import Composer
    from secondlook.retrieval.parse.source import Source

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
    write_card_of(names, rows, names, composer, total=total)


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
