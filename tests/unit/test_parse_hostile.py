"""Files made to hurt: depth, bombs, lies and damage. Nothing but a reason may come of them."""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import ExtractionError, LimitExceeded
from secondlook.retrieval.parse import source as source_module
from secondlook.retrieval.parse.extract import extract, extract_bytes
from secondlook.retrieval.parse.source import ParseLimits
from tests.support import files

if TYPE_CHECKING:
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


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs")
def test_pipes_folders_and_vanished_files_are_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in ((pipe, "pipe"), (tmp_path, "folder"), (tmp_path / "gone", "no longer")):
        parsed = extract(path)
        assert len(parsed) == 1
        assert words in str(parsed[0].error)
        assert parsed[0].sha256 == ""


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
