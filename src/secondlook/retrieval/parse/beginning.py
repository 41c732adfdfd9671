"""The beginning of a text file that is too large to be read whole, and how long it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.retrieval.parse.charset import decode
from secondlook.retrieval.parse.compose import Composer

if TYPE_CHECKING:
    from secondlook.retrieval.parse.source import Source

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
