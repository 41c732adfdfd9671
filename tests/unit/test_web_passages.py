"""Cutting pages into passages, and putting the best by words first."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from secondlook.document import Extracted, Heading
from secondlook.retrieval.chunk import ChunkOptions
from secondlook.retrieval.web.pages import Cutter, best_first, document_id, snippet
from secondlook.retrieval.web.port import WebPassage, WebResult

URL = "https://good.test/lighthouses"
TEXT = "Lighthouses\n\n" + "\n\n".join(
    f"Paragraph {n} tells of lamp {n} and of the keeper who lit it." for n in range(40)
)
PAGE = Extracted(TEXT, title="Lamps", kind="html", headings=(Heading(1, 0, 11),))


def test_passages_carry_their_place_and_where_they_come_from() -> None:
    passages = Cutter(options=ChunkOptions(tokens=50, overlap=0)).page(URL, PAGE, WebResult(URL))
    assert len(passages) > 3
    hashed = hashlib.sha256(URL.encode()).hexdigest()[:16]
    for number, passage in enumerate(passages):
        assert passage.text == TEXT[passage.start : passage.end]
        assert passage.id == f"web-{hashed}.{number}"
        assert passage.document == f"web-{hashed}" == document_id(URL)
        assert passage.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
        assert (passage.url, passage.title, passage.page) == (URL, "Lamps", None)
        assert passage.heading == ("Lighthouses",)
        assert not passage.is_snippet
        assert datetime.fromisoformat(passage.fetched).utcoffset() == timedelta(0)


def test_a_snippet_stands_in_for_a_page_and_says_why() -> None:
    result = WebResult(URL, "Lamps", "  The lamp \n was lit. ")
    (passage,) = snippet(URL, result, "the server answered with status 500")
    assert passage.text == "The lamp was lit."
    assert (passage.start, passage.end) == (0, len(passage.text))
    assert passage.id == f"{document_id(URL)}.0"
    assert passage.is_snippet
    assert passage.unread == "the server answered with status 500"


def passage(number: int, text: str, document: str = "web-0") -> WebPassage:
    return WebPassage(f"{document}.{number}", document, "0", URL, "", text, 0, len(text), "2026")


def test_the_passage_with_the_rare_words_comes_first() -> None:
    found = best_first(
        [
            passage(0, "The keeper of the cape and the keeper of the harbour."),
            passage(1, "A tower of 43 metres, built of granite."),
            passage(2, "Every keeper saw the tower of the cape."),
        ],
        "Which tower is built of granite?",
        language="english",
        keep=10,
    )
    assert [one.id for one in found] == ["web-0.1", "web-0.2", "web-0.0"]
    assert found[0].score > found[1].score > found[2].score == 0.0


def test_a_long_page_does_not_crowd_out_the_others() -> None:
    long = [passage(n, "lighthouse lighthouse keeper") for n in range(100)]
    short = [passage(0, f"A lighthouse and {n} words more", f"web-{n}") for n in (1, 2)]
    kept = best_first([*long, *short], "lighthouse", language="english", keep=15)
    assert len(kept) == 14
    assert [one.document for one in kept[-2:]] == ["web-1", "web-2"]
    alone = best_first(long, "lighthouse", language="english", keep=15)
    assert len(alone) == 15
