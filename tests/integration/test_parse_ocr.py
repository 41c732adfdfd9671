"""Scans through the real tesseract."""

from __future__ import annotations

import io
import shutil
import struct
import zlib
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import Damaged, NoText
from secondlook.retrieval.parse import pdf as ocr
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import ParseLimits

if TYPE_CHECKING:
    from pathlib import Path

PIL = pytest.importorskip("PIL")
needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="tesseract is not installed (Debian: tesseract-ocr)"
)
LINES = [
    "The harbour master keeps a register",
    "of every vessel that enters the bay.",
    "In the year 1893 he counted 412 ships.",
]


def picture(lines: list[str]) -> Any:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (1240, 700), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=44)
    for number, line in enumerate(lines):
        draw.text((100, 100 + 70 * number), line, font=font, fill=0)
    return image


def scan(*pages: list[str]) -> bytes:
    stream = io.BytesIO()
    first, *rest = [picture(lines) for lines in pages]
    first.save(stream, "PDF", save_all=True, append_images=rest, resolution=150)
    return stream.getvalue()


def likeness(text: str) -> float:
    return SequenceMatcher(None, text, " ".join(LINES)).ratio()


@needs_tesseract
def test_a_scanned_pdf_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(scan(LINES, ["Second page of the register"]))
    with ParserPool(1) as pool:
        ((_, parsed),) = pool.parse([("scan", path)])
    extracted = parsed[0].extracted
    assert extracted is not None, parsed[0].error
    first = extracted.text[extracted.pages[0].start : extracted.pages[0].end]
    assert likeness(first) > 0.9
    assert "Second page" in extracted.text[extracted.pages[1].start :]
    assert extracted.notes == ("read by OCR: pages 1, 2",)


@needs_tesseract
def test_a_picture_is_read() -> None:
    stream = io.BytesIO()
    picture(LINES).save(stream, "TIFF")
    extracted = extract_bytes(stream.getvalue(), "scan.tiff")[0].extracted
    assert extracted is not None
    assert extracted.kind == "image"
    assert likeness(extracted.text) > 0.9


@needs_tesseract
def test_blank_scans_and_missing_languages_are_named() -> None:
    assert "OCR found no text" in str(extract_bytes(scan([""]), "blank.pdf")[0].error)
    error = extract_bytes(scan(LINES), "a.pdf", ParseLimits(ocr_language="xxx"))[0].error
    assert isinstance(error, Damaged)
    assert "xxx" in (error.hint or "")


def test_without_ocr_a_scan_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_program", lambda: None)
    error = extract_bytes(scan(LINES), "a.pdf")[0].error
    assert isinstance(error, NoText)
    assert "pip install pillow" in (error.hint or "")
    assert "tesseract-ocr" in (error.hint or "")
    off = extract_bytes(scan(LINES), "a.pdf", ParseLimits(ocr="off"))[0].error
    assert isinstance(off, NoText)


def test_pages_that_are_pictures_are_noted_among_pages_of_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pypdfium2

    from tests.support import files

    joined = pypdfium2.PdfDocument(files.pdf([["A page of text stands here."]]))
    joined.import_pages(pypdfium2.PdfDocument(scan(LINES)))
    stream = io.BytesIO()
    joined.save(stream)
    joined.close()
    extracted = extract_bytes(stream.getvalue(), "a.pdf", ParseLimits(ocr="off"))[0].extracted
    assert extracted is not None
    assert extracted.notes == ("pictures without text: page 2",)


def test_broken_pictures_are_damaged() -> None:
    pytest.importorskip("PIL.Image")
    if not ocr.usable():
        pytest.skip("tesseract is not installed")
    broken = extract_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100), "a.png")[0].error
    assert isinstance(broken, Damaged)


def _png_of(width: int, height: int) -> bytes:
    """A picture that says it is that large, and holds nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@needs_tesseract
@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.jpg", b"\xff\xd8\xff\xe0 and so on", "the image cannot be opened"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "the image cannot be opened: it is damaged, or of a kind"),
        ("bomb.png", _png_of(60_000, 60_000), "far more pixels than a scan has"),
    ],
    ids=["cut", "unknown", "bomb"],
)
def test_a_picture_that_cannot_be_opened_says_why(name: str, data: bytes, reason: str) -> None:
    error = extract_bytes(data, name)[0].error
    assert reason in str(error)
    assert "0x" not in str(error)
