"""Outlook messages and the other things that live in compound files."""

from __future__ import annotations

import pytest

from secondlook.errors import Encrypted, Unsupported
from secondlook.retrieval.parse.extract import extract_bytes
from tests.support.compound import Storage, compound, message

HEADERS = "From: Ada Ferro <ada@example.org>\r\nTo: Bo <bo@example.org>\r\nDate: Fri, 17 May 2024 10:00:00 +0200\r\n"  # noqa: E501


def test_a_message_with_body_headers_and_attachments() -> None:
    data = message(
        {0x0037: "Tide tables", 0x1000: "Please find\r\nthe tables attached.", 0x007D: HEADERS},
        {"tables.txt": b"high water at noon", "..\\evil.md": b"# Evil"},
    )
    parsed = {item.member: item for item in extract_bytes(data, "a.msg")}
    own = parsed[""].extracted
    assert own is not None, parsed[""].error
    assert own.text.endswith("Subject: Tide tables\n\nPlease find\nthe tables attached.")
    assert "From: Ada Ferro <ada@example.org>" in own.text
    assert (own.title, own.kind, own.date) == ("Tide tables", "mail", "2024-05-17")
    assert set(parsed) == {"", "tables.txt", "evil.md"}
    assert parsed["tables.txt"].extracted is not None


def test_a_message_in_html_only() -> None:
    html = b"<html><body><h1>Hello</h1><p>from Outlook</p></body></html>"
    data = message({0x0037: "Hi"}, {})
    assert extract_bytes(data, "a.msg")[0].extracted is not None
    from tests.support.compound import _with_properties

    root = _with_properties({0x0037: "Hi"}, {0x1013: html}, header=bytes(32))
    parsed = extract_bytes(compound(root), "renamed.txt")[0]
    assert parsed.extracted is not None, parsed.error
    assert "Hello\n\nfrom Outlook" in parsed.extracted.text


@pytest.mark.parametrize(
    ("stream", "kind", "words"),
    [
        ("WordDocument", Unsupported, ".docx"),
        ("PowerPoint Document", Unsupported, ".pptx"),
        ("EncryptedPackage", Encrypted, "password"),
        ("Something", Unsupported, "no known kind"),
    ],
)
def test_other_compound_files_are_named(stream: str, kind: type[Exception], words: str) -> None:
    error = extract_bytes(compound(Storage({stream: b"x" * 100})), "a.doc")[0].error
    assert type(error) is kind
    assert words in f"{error} {error.hint}"
