"""Files made to hurt: depth, bombs, lies and damage. Nothing but a reason may come of them."""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import ExtractionError, LimitExceeded, NoText, Unsupported
from secondlook.retrieval.parse import source as source_module
from secondlook.retrieval.parse.extract import as_extraction_error, extract, extract_bytes
from secondlook.retrieval.parse.source import Parsed, ParseLimits
from tests.support import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEEP = 10_000


def test_deep_html_is_read() -> None:
    page = (
        "<html><body>"
        + "<div>" * DEEP
        + "the bottom"
        + "</div>" * DEEP
        + "<p>after</p></body></html>"
    )
    parsed = extract_bytes(page.encode(), "a.html")[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text == "the bottom\n\nafter"


def test_deep_json_and_xml_are_text() -> None:
    for data, name in (
        ("[" * DEEP + "]" * DEEP, "a.json"),
        ("<a>" * DEEP + "x" + "</a>" * DEEP, "a.xml"),
    ):
        parsed = extract_bytes(data.encode(), name)[0]
        assert parsed.extracted is not None


def test_deep_office_xml_and_notebooks_end_in_a_reason() -> None:
    deep = "<w:sdt>" * DEEP + "</w:sdt>" * DEEP
    assert isinstance(extract_bytes(files.docx(deep), "a.docx")[0].error, LimitExceeded)
    notebook = '{"cells":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert isinstance(extract_bytes(notebook.encode(), "a.ipynb")[0].error, LimitExceeded)
    assert isinstance(extract_bytes(b'{"cells": 3}', "a.ipynb")[0].error, NoText)


def test_nested_tables_and_lists_stay_fast() -> None:
    page = "<table><tr><td>" * 3000 + "x" + "</td></tr></table>" * 3000
    assert extract_bytes(f"<html><body>{page}".encode(), "a.html")[0].extracted is not None


def test_entity_bombs_and_external_entities_stay_closed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOP SECRET")
    bomb = '<!DOCTYPE d [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">' for n in range(10)
    )
    outside = f'<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    body = files.word_paragraph("kept &k; &x;")
    document = (
        f'<?xml version="1.0"?>{bomb}{outside}<w:document xmlns:w="http://schemas.openxmlformats.org/'
        f'wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>'
    )
    parsed = extract_bytes(files.docx("", extra={"word/document.xml": document}), "a.docx")[0]
    text = parsed.extracted.text if parsed.extracted else str(parsed.error)
    assert "SECRET" not in text
    assert len(text) < 1000


def test_millions_of_empty_tags_are_refused() -> None:
    data = files.odf("<office:text>" + "<text:p/>" * 5_000_001 + "</office:text>")
    error = extract_bytes(data, "a.odt")[0].error
    assert isinstance(error, LimitExceeded)
    assert "tags" in str(error)


def test_ten_thousand_pages_with_heartbeats() -> None:
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1

    data = files.pdf(
        [[f"This is page {number} of a very long book."] for number in range(1, 10_001)]
    )
    parsed = extract_pages(data, beat)
    assert parsed.extracted is not None, parsed.error
    pages = parsed.extracted.pages
    assert len(pages) == 10_000
    assert parsed.extracted.text[pages[9_998].start : pages[9_998].end].endswith(
        "page 9999 of a very long book."
    )
    assert beats > 10_000
    few = extract_bytes(data, "a.pdf", ParseLimits(pages=100))[0]
    assert isinstance(few.error, LimitExceeded)
    assert "10,000 pages" in str(few.error)


def extract_pages(data: bytes, beat: Callable[[], None]) -> Parsed:
    from secondlook.retrieval.parse.extract import _documents
    from secondlook.retrieval.parse.source import Budget, Source

    return _documents(Source.of_bytes(data, "long.pdf", Budget(beat=beat)))[0]


def samples() -> dict[str, bytes]:
    prose = files.PROSE
    return {
        "a.pdf": files.pdf([[prose[:60], prose[60:]]] * 3, title="T", outline=[("T", 0)]),
        "a.docx": files.docx(files.word_paragraph(prose)),
        "a.pptx": files.pptx([("T", prose)]),
        "a.odt": files.odf(f"<office:text><text:p>{prose}</text:p></office:text>"),
        "a.epub": files.epub({"c": f"<p>{prose}</p>"}),
        "a.eml": files.mail(prose, attachments={"x.zip": files.zipped({"y.txt": prose})}),
        "a.html": f"<html><body><h1>T</h1><p>{prose}</p></body></html>".encode(),
        "a.ipynb": files.notebook({"cell_type": "markdown", "source": prose}),
        "a.rtf": b"{\\rtf1 " + prose.encode() + b"\\par}",
        "a.zip": files.zipped({"x.txt": prose, "y.md": prose}),
        "a.tgz": files.tarred({"x.txt": prose.encode()}, mode="w:gz"),
        "a.csv": b"a,b\n" + prose.encode(),
        "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\n" + prose.encode(),
        "a.png": files.png(),
    }


@pytest.mark.parametrize("name", samples())
def test_truncated_and_garbled_files_give_text_or_a_reason(name: str) -> None:
    data = samples()[name]
    chance = random.Random(name)
    limits = ParseLimits(ocr="off")
    for _ in range(25):
        broken = bytearray(data[: chance.randrange(1, len(data) + 1)])
        for _ in range(chance.randrange(0, 20)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        for item in extract_bytes(bytes(broken), name, limits):
            assert (item.extracted is None) != (item.error is None)
            assert item.error is None or isinstance(item.error, ExtractionError)
            if item.extracted:
                item.extracted.text.encode("utf-8")


@pytest.mark.parametrize(
    "name", ["a.pdf", "a.docx", "a.xlsx", "a.epub", "a.msg", "a.zip", "a.rtf", "a.txt"]
)
def test_a_picture_under_any_name_is_a_picture(name: str) -> None:
    error = extract_bytes(files.png(), name, ParseLimits(ocr="off"))[0].error
    assert isinstance(error, Unsupported)
    assert "image" in str(error)


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs")
def test_pipes_folders_and_vanished_files_are_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in ((pipe, "pipe"), (tmp_path, "folder"), (tmp_path / "gone", "no longer")):
        parsed = extract(path)
        assert len(parsed) == 1
        assert words in str(parsed[0].error)
        assert parsed[0].sha256 == ""


def test_unreadable_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")

    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert "permission denied" in str(extract(path)[0].error)
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(OSError(5, "I/O error")))
    assert "I/O error" in str(extract(path)[0].error)


def test_large_files_are_refused_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as stream:
        stream.truncate(3 << 30)  # sparse
    assert "limit" in str(extract(path)[0].error)
    too_long = extract_bytes(b"x" * 100, "a.txt", ParseLimits(file_bytes=10))[0]
    assert isinstance(too_long.error, LimitExceeded)


def test_files_beyond_memory_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "IN_MEMORY_BYTES", 10)
    path = tmp_path / "a.pdf"
    path.write_bytes(files.pdf([["Streamed from disk."]]))
    parsed = extract(path)[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text == "Streamed from disk."
    note = tmp_path / "a.txt"
    note.write_text("also streamed")
    assert extract(note)[0].extracted is not None
    archive = tmp_path / "a.zip"
    archive.write_bytes(files.zipped({"x.txt": "in zip"}))
    assert extract(archive)[0].member == "x.txt"


def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "IN_MEMORY_BYTES", 10)
    path = tmp_path / "a.txt"
    path.write_text("a file that is long enough")

    def grow() -> None:
        """At every sign of life, like a log that is being written."""
        with path.open("a") as stream:
            stream.write("more")

    assert "changed" in str(extract(path, beat=grow)[0].error)


def test_any_exception_becomes_a_reason() -> None:
    assert isinstance(as_extraction_error(MemoryError()), LimitExceeded)
    assert isinstance(as_extraction_error(RecursionError()), LimitExceeded)
    assert str(as_extraction_error(KeyError("x"))) == "it could not be read (KeyError: 'x')"
    assert str(as_extraction_error(ValueError())) == "it could not be read (ValueError)"
