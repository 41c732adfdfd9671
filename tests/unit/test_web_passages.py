"""Cutting pages into passages, and putting the best by words first."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta

import pytest

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


@pytest.mark.parametrize(
    ("own", "engine", "shown"),
    [("Lamps", "Found", "Lamps"), (None, " Found\n it ", "Found it"), (" ", "", "good.test")],
)
def test_a_title_is_always_there(own: str | None, engine: str, shown: str) -> None:
    page = Extracted("Some words.", title=own, kind="html")
    assert Cutter().page(URL, page, WebResult(URL, engine))[0].title == shown


def test_halves_of_letters_are_replaced_one_for_one() -> None:
    page = Extracted("a\ud800b\x00c words", title="t\udfff", kind="html")
    passage = Cutter().page(URL, page, WebResult(URL))[0]
    assert passage.text == "a\ufffdb\ufffdc words"
    assert passage.title == "t\ufffd"
    assert passage.sha256 == hashlib.sha256(passage.text.encode()).hexdigest()


def test_a_snippet_stands_in_for_a_page_and_says_why() -> None:
    result = WebResult(URL, "Lamps", "  The lamp \n was lit. ")
    (passage,) = snippet(URL, result, "the server answered with status 500")
    assert passage.text == "The lamp was lit."
    assert (passage.start, passage.end) == (0, len(passage.text))
    assert passage.id == f"{document_id(URL)}.0"
    assert passage.is_snippet
    assert passage.unread == "the server answered with status 500"


def test_no_snippet_is_no_passage_and_a_long_one_is_cut() -> None:
    assert snippet(URL, WebResult(URL, "t", " \n"), "gone") == []
    (passage,) = snippet(URL, WebResult(URL, "t", "word " * 10_000), "gone")
    assert len(passage.text) <= 2000


def test_a_passage_goes_through_json_unchanged() -> None:
    (passage,) = snippet(URL, WebResult(URL, "Lamps", "The lamp was lit."), "gone")
    for one in (passage, *Cutter().page(URL, PAGE, WebResult(URL))):
        assert WebPassage.from_dict(json.loads(json.dumps(one.as_dict()))) == one


def test_a_passage_looks_like_one_of_a_library() -> None:
    one = Cutter().page(URL, PAGE, WebResult(URL))[0]
    passage = one.as_passage()
    for name in ("id", "document", "sha256", "title", "text", "start", "end", "page", "heading"):
        assert getattr(passage, name) == getattr(one, name)


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


def test_only_so_many_are_kept_and_ties_stay_in_order() -> None:
    many = [passage(n, "the same words again") for n in range(9)]
    kept = best_first(many, "words", language="english", keep=4)
    assert [one.id for one in kept] == [f"web-0.{n}" for n in range(4)]


def test_a_long_page_does_not_crowd_out_the_others() -> None:
    long = [passage(n, "lighthouse lighthouse keeper") for n in range(100)]
    short = [passage(0, f"A lighthouse and {n} words more", f"web-{n}") for n in (1, 2)]
    kept = best_first([*long, *short], "lighthouse", language="english", keep=15)
    assert len(kept) == 14
    assert [one.document for one in kept[-2:]] == ["web-1", "web-2"]
    alone = best_first(long, "lighthouse", language="english", keep=15)
    assert len(alone) == 15


@pytest.mark.parametrize("query", ["", "???", "the of and"])
def test_a_query_without_words_keeps_the_order(query: str) -> None:
    many = [passage(0, "one"), passage(1, "two")]
    assert [one.id for one in best_first(many, query, language="none", keep=9)] == [
        "web-0.0",
        "web-0.1",
    ]
    assert best_first([], query, language="none", keep=9) == []
