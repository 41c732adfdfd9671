"""What real files become: every passage shows the page and section its words stand in."""

from __future__ import annotations

import re

import pytest

from secondlook.library.library import samples_folder
from secondlook.retrieval.chunk import LINE_KINDS, chunk
from secondlook.retrieval.outline import UNIT_KINDS
from secondlook.retrieval.parse.extract import PARSERS, extract_bytes
from tests.support import files

_WORD = re.compile(r"\w+|[^\w\s]")
_ODP = (
    "<office:presentation>"
    '<draw:page><draw:frame presentation:class="title"><text:p>Plan</text:p></draw:frame>'
    "<draw:frame><text:p>We dredge.</text:p></draw:frame></draw:page>"
    "<draw:page><draw:frame><text:p>It costs a million.</text:p></draw:frame></draw:page>"
    "</office:presentation>"
)


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


def test_slides_of_opendocument() -> None:
    assert places(files.odf(_ODP, kind="presentation"), "deck.odp") == [
        ("Plan\n\nWe dredge.", 1, ("Plan",)),
        ("It costs a million.", 2, ()),
    ]


def test_sheets_of_a_workbook() -> None:
    name = "tides-and-berths-2024.xlsx"
    for text, page, heading in places((samples_folder() / name).read_bytes(), name):
        assert heading == {1: ("Tides 2024",), 2: ("Berth use 2024",)}[page or 0]
        assert ("Berth" in text) == (page == 2)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"# Report\n\n## Money\n\nIt grew.\n\n## Storm\n\nOne boat sank.\n", "report.md"),
        (
            b"<h1>Report</h1><h2>Money</h2><p>It grew.</p><h2>Storm</h2><p>One boat sank.</p>",
            "report.html",
        ),
    ],
)
def test_short_sections(data: bytes, name: str) -> None:
    (_, _, first), (text, _, second) = places(data, name)
    assert (first, second) == (("Report", "Money"), ("Report", "Storm"))
    assert text.endswith("One boat sank.")
    assert "It grew" not in text


def test_kinds_are_those_that_the_parsers_know() -> None:
    """A kind that no parser writes would be a rule that never holds."""
    assert PARSERS.keys() >= LINE_KINDS | UNIT_KINDS
