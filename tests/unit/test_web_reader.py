"""Reading pages in the parser's process: what is not even tried, and how it is closed."""

from __future__ import annotations

import pytest

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.fetch import Fetched
from secondlook.retrieval.web.pages import PageReader, check_readable


def page(body: bytes, kind: str = "text/html", *, status: int = 200) -> Fetched:
    return Fetched("http://good.test/", status, kind, "", body, is_cut=False)


@pytest.mark.parametrize(
    "unread",
    [
        page(b"words", status=204),
        page(b"words", status=206),
        page(b"words", status=404),
        page(b"words", "text/css"),
        page(b"words", "text/javascript"),
        page(b"words", "application/json"),
        page(b"words", "application/octet-stream"),
        page(b"words", "application/zip"),
        page(b"PK\x03\x04" + bytes(range(32)) * 9),
        page(b"\x1f\x8b\x08" + bytes(range(32)) * 9, ""),
        page(b""),
    ],
)
def test_what_holds_no_text_is_not_even_tried(unread: Fetched) -> None:
    with pytest.raises(WebSearchError):
        check_readable(unread)


def test_a_mail_or_an_archive_in_disguise_is_not_unpacked() -> None:
    reader = PageReader(seconds=30.0, body_bytes=10_000)
    mail = b"From: a@b.test\r\nTo: c@d.test\r\nSubject: hello\r\nDate: today\r\n\r\nwords"
    try:
        assert reader.read(page(mail, "text/plain")).kind == "text"
        with pytest.raises(WebSearchError):
            reader.read(page(mail, ""))
    finally:
        reader.close()
