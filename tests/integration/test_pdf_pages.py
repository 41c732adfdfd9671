"""Pages of PDFs as they look, and quoted words found on them, by real parser processes."""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from contextlib import closing
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING

import pypdfium2
import pypdfium2.raw as pdfium
import pytest

from secondlook.errors import Damaged, Encrypted, ExtractionError, LimitExceeded, Unsupported
from secondlook.library.library import samples_folder
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.pages import Place, PageViewer
from secondlook.retrieval.parse.source import ParseLimits
from tests.support.files import _assembled, pdf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from secondlook.document import Extracted

Printed = tuple[float, float, str]  # left, bottom and words
WORD = re.compile(r"[^\W_]+")
WORDS = (
    "tide harbour lantern quarry orchard ledger copper bridge winter meadow signal timber garden "
    "ferry market candle river stone wagon letter"
).split()


@pytest.fixture(scope="module")
def viewer() -> Iterator[PageViewer]:
    with PageViewer() as made:
        yield made


def printed(*pages: Sequence[Printed], box: str = "", turn: int = 0) -> bytes:
    """A PDF with these words at these places, 10 points high."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, page in enumerate(pages):
        shown = "\n".join(f"/F1 10 Tf 1 0 0 1 {x} {y} Tm ({words}) Tj" for x, y, words in page)
        body = f"BT\n{shown}\nET".encode()
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {box} /Rotate {turn} "
            f"/Contents {5 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
    return _assembled(objects, f"/Size {len(objects) + 1} /Root 1 0 R")


def prose(random: Random, lines: int, *, words: int = 3) -> list[str]:
    """Lines of sentences, each word with a number that makes it unlike the others. Some words are
    broken at a line's end."""
    made, rest = [], ""
    for _ in range(lines):
        line = [rest] if rest else []
        line += [f"{random.choice(WORDS)}{random.randrange(900)}" for _ in range(words)]
        line[-1] += "." if random.random() < 0.4 else ""
        whole, rest = random.choice(WORDS), ""
        if random.random() < 0.3:
            line.append(f"{whole[:3]}-")
            rest = whole[3:]
        made.append(" ".join(line))
    return made


def two_columns(random: Random) -> bytes:
    def page(number: int) -> list[Printed]:
        left, right = prose(random, 40), prose(random, 40)
        head: list[Printed] = [(72, 760, "Annual letters of the harbour office")]
        foot: list[Printed] = [(300, 30, f"Page {number}")]
        found = [(50.0, 720.0 - 14 * row, words) for row, words in enumerate(left)]
        found += [(320.0, 720.0 - 14 * row, words) for row, words in enumerate(right)]
        return [*head, *found, *foot]

    return printed(*(page(number) for number in range(1, 5)))


def tables(random: Random) -> bytes:
    """Rows of four columns, some cells in two lines, between two paragraphs; three pages."""

    def page() -> list[Printed]:
        found: list[Printed] = [(60, 740 - 13 * at, line) for at, line in enumerate(prose(random, 4))]
        columns, bottom = (60.0, 190.0, 300.0, 400.0), 640.0
        names = ("Berth", "Depth in m", "Rent", "Tenant")
        found += [(x, bottom, name) for x, name in zip(columns, names, strict=True)]
        for _ in range(12):
            bottom -= 18
            cells = (
                f"{random.choice(WORDS)} {random.randrange(9)}",
                f"{random.randrange(99)}.{random.randrange(9)}",
                f"{random.randrange(9)},{random.randrange(100, 999)}",
                f"{random.choice(WORDS)} {random.choice(WORDS)}",
            )
            found += [(x, bottom, cell) for x, cell in zip(columns, cells, strict=True)]
        return found + [(60, 340 - 13 * at, line) for at, line in enumerate(prose(random, 4))]

    return printed(page(), page(), page())


def parsed(data: bytes) -> Extracted:
    (found,) = extract_bytes(data, "a.pdf")
    assert found.extracted, found.error
    return found.extracted


def spans(document: Extracted, random: Random, count: int) -> list[tuple[int, int]]:
    """Sentences, rows, and a few words."""
    lines = [match.span() for match in re.finditer(r"[^\n]+", document.text)]
    made = []
    for _ in range(count):
        begin, end = random.choice(lines)
        words = [match.span() for match in re.finditer(r"\S+", document.text[begin:end])]
        first = random.randrange(len(words))
        last = min(len(words) - 1, first + random.randrange(25))
        made.append((begin + words[first][0], begin + words[last][1]))
    return made


def inside(data: bytes, places: list[Place]) -> str:
    """What the text layer has in the rectangles, by the middles of its characters."""
    found = ""
    with closing(pypdfium2.PdfDocument(data)) as document:
        for place in places:
            page = document[place.page - 1]
            text, width, height = page.get_textpage(), page.get_width(), page.get_height()
            for at in range(text.count_chars()):
                left, bottom, right, top = text.get_charbox(at)
                x, y = (left + right) / 2 / width, 1 - (bottom + top) / 2 / height
                held = any(a <= x <= c and b <= y <= d for a, b, c, d in place.rectangles)
                char = chr(pdfium.FPDFText_GetUnicode(text, at))
                found += char if held else " "
    return found


@pytest.mark.parametrize(("made", "count"), [(two_columns, 60), (tables, 60)])
def test_rectangles(viewer: PageViewer, tmp_path: Path, made, count) -> None:
    random = Random(7)
    data = made(random)
    document = parsed(data)
    file = tmp_path / "a.pdf"
    file.write_bytes(data)
    bad = 0
    for start, end in spans(document, random, count):
        places = viewer.places(file, sha256(data).hexdigest(), document, start, end)
        said, held = document.text[start:end], inside(data, places)
        same = set(WORD.findall(said)) == set(WORD.findall(held))
        if made is two_columns:
            same = "".join(WORD.findall(said)) == "".join(WORD.findall(held))
        if not same:
            bad += 1
            print(repr(said), places, " ".join(held.split()), sep="\n")
    print(document.text[:1500])
    assert not bad
