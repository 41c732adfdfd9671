"""Scans through the real tesseract."""

from __future__ import annotations

import io
import shutil
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
def test_pictures_are_read_and_blank_scans_and_missing_languages_named() -> None:
    stream = io.BytesIO()
    picture(LINES).save(stream, "TIFF")
    extracted = extract_bytes(stream.getvalue(), "scan.tiff")[0].extracted
    assert extracted is not None
    assert likeness(extracted.text) > 0.9
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
