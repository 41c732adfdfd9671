"""What real files become: every passage shows the page and section its words stand in."""

from __future__ import annotations

import re

from secondlook.library.library import samples_folder
from secondlook.retrieval.chunk import LINE_KINDS, chunk
from secondlook.retrieval.outline import UNIT_KINDS
from secondlook.retrieval.parse.extract import PARSERS, extract_bytes
from tests.support import files

_WORD = re.compile(r"\w+|[^\w\s]")


def places(data: bytes, name: str) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """Each passage's text with the page and headings shown for it."""
    extracted = extract_bytes(data, name)[0].extracted
    assert extracted is not None
    spans = chunk(extracted, lambda text: [found.start() for found in _WORD.finditer(text)])
    return [(extracted.text[span.start : span.end], span.page, span.heading) for span in spans]


def test_slides_of_powerpoint() -> None:
    deck = [("Harbour plan", ""), ("Cost", "It costs a million."), ("", "No title here.")]
    assert places(files.pptx(deck), "deck.pptx") == [
        ("Harbour plan", 1, ("Harbour plan",)),
        ("Cost\n\nIt costs a million.", 2, ("Cost",)),
        ("No title here.", 3, ()),
    ]


def test_sheets_of_a_workbook() -> None:
    name = "tides-and-berths-2024.xlsx"
    for text, page, heading in places((samples_folder() / name).read_bytes(), name):
        assert heading == {1: ("Tides 2024",), 2: ("Berth use 2024",)}[page or 0]
        assert ("Berth" in text) == (page == 2)


def test_kinds_are_those_that_the_parsers_know() -> None:
    """A kind that no parser writes would be a rule that never holds."""
    assert PARSERS.keys() >= LINE_KINDS | UNIT_KINDS
