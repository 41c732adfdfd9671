"""Values that were typed into the fields of a PDF form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.retrieval.parse.extract import extract_bytes
from tests.support.pdf_form import WIDGETS, form

if TYPE_CHECKING:
    from secondlook.document import Extracted


def parsed(data: bytes) -> Extracted:
    (document,) = extract_bytes(data, "form.pdf")
    assert document.extracted is not None, document.error
    return document.extracted


def test_values_stand_behind_their_labels_in_reading_order() -> None:
    text = parsed(form()).text
    assert text.split("\n\n") == [
        "Boat hire form",
        (
            "Name of hirer: Ines Haldorsen\nDay: 4 June 2031\nBoat: Heron\n"
            "Life jackets wanted, one for each person on board: yes\nOwn oars: no"
        ),
        "Deposit paid in",
        "cash: no\ncard: yes\nRemarks: Back by six. Keys under the mat.",
        "Left blank Door code Signature Part Price Mooring EUR 9",
        "Berth: B 12\nwarden: P. Lund",
    ]


def test_offsets_of_pages_and_headings_stay_right() -> None:
    found = parsed(form())
    (page,), (heading,) = found.pages, found.headings
    assert (page.start, page.end) == (0, len(found.text))
    assert found.text[heading.start : heading.end] == "Boat hire form"


def test_a_form_with_nothing_filled_in_reads_as_print() -> None:
    blank = tuple(widget.split(" /V ")[0].replace("/AS /On", "") for widget in WIDGETS)
    text = parsed(form(blank)).text
    assert "Name of hirer: Day" in text
    assert ": no" not in text


@pytest.mark.parametrize(
    ("widgets", "fields"),
    [
        (("/Rect 9 /FT 9 /T 9 /V 9 0 R", "/FT /Tx /Parent 8 0 R /V [1]", *WIDGETS[:1]), None),
        (("/Rect [9 9 1e38 -1e38] /FT /Ch /Opt 7 0 R /V 7 0 R /TU <FEFFD800>",), "[7 0 R [5 0 R]]"),
        (WIDGETS, "7 0 R"),
        (WIDGETS, "null"),
    ],
)
def test_a_broken_form_does_not_cost_the_page(widgets: tuple[str, ...], fields: str | None) -> None:
    assert "Left blank" in parsed(form(widgets, fields)).text


def test_far_too_many_fields_cost_the_values_only() -> None:
    many = tuple(f"/Rect [9 {n} 99 {n + 9}] /FT /Tx /T (t{n}) /V (v{n})" for n in range(1_500))
    assert "v7" not in parsed(form(many)).text
    assert "t7: v7" in parsed(form(many[:200])).text
