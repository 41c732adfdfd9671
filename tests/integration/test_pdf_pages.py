"""Pages of PDFs as they look, and quoted words found on them, by real parser processes."""

from __future__ import annotations

import re
import struct
import zlib
from contextlib import closing
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING

import pypdfium2
import pypdfium2.raw as pdfium
import pytest

from secondlook.document import Extracted, Page
from secondlook.errors import Damaged, Encrypted, ExtractionError, LimitExceeded, Unsupported
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.pages import PageViewer, Place, Rectangle
from secondlook.retrieval.parse.source import ParseLimits
from tests.support import files
from tests.support.hostile_forms import raw_pdf
from tests.support.pdf_form import form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Printed = tuple[float, float, str]  # left, bottom and words
WORD = re.compile(r"[^\W_]+")
WORDS = ("tide", "harbour", "lantern", "quarry", "orchard", "ledger", "copper", "bridge", "winter")


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
    return raw_pdf(*objects)


def prose(random: Random, lines: int, *, broken: float = 0.3) -> list[str]:
    """Lines of sentences, each word with a number that makes it unlike the others. Some words are
    broken at a line's end."""
    made, rest = [], ""
    for _ in range(lines):
        line = [rest] if rest else []
        line += [f"{random.choice(WORDS)}{random.randrange(900)}" for _ in range(3)]
        line[-1] += "." if random.random() < 0.4 else ""
        whole, rest = random.choice(WORDS), ""
        if random.random() < broken:
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
    """Rows of four columns between paragraphs; three pages."""

    def page() -> list[Printed]:
        lines = prose(random, 8, broken=0)
        found = [(60.0, 740.0 - 50 * at, line) for at, line in enumerate(lines[:3])]
        columns, bottom = (60.0, 190.0, 300.0, 400.0), 590.0
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
        return found + [(60.0, 340.0 - 13 * at, line) for at, line in enumerate(lines[3:])]

    return printed(page(), page(), page())


def parsed(data: bytes) -> Extracted:
    (found,) = extract_bytes(data, "a.pdf")
    assert found.extracted, found.error
    return found.extracted


def stored(folder: Path, data: bytes) -> tuple[Path, str]:
    """A file and its hash."""
    file = folder / "a.pdf"
    file.write_bytes(data)
    return file, sha256(data).hexdigest()


def marks(viewer: PageViewer, folder: Path, data: bytes, words: str) -> list[Rectangle]:
    text = parsed(data)
    at = text.text.index(words)
    (place,) = viewer.places(*stored(folder, data), text, at, at + len(words))
    return place.rectangles


def spans(text: str, random: Random, count: int) -> Iterator[tuple[int, int]]:
    """Parts of lines: a few words, a row, a sentence."""
    for line in random.choices(list(re.finditer(r"[^\n]+", text)), k=count):
        words = list(re.finditer(r"\S+", line.group()))
        first = random.randrange(len(words))
        last = min(len(words) - 1, first + random.randrange(25))
        yield line.start() + words[first].start(), line.start() + words[last].end()


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


@pytest.mark.parametrize("made", [two_columns, tables])
def test_rectangles_hold_the_quoted_words_and_no_others(
    viewer: PageViewer, tmp_path: Path, made: Callable[[Random], bytes]
) -> None:
    data = made(Random(7))
    file, text = stored(tmp_path, data), parsed(data)
    wrong, crossed = [], 0
    for start, end in spans(text.text, Random(8), 30):
        places = viewer.places(*file, text, start, end)
        said, held = (WORD.findall(one) for one in (text.text[start:end], inside(data, places)))
        # Rows name their columns, each of which stands on the page once.
        same = "".join(said) == "".join(held) or (made is tables and set(said) == set(held))
        wrong += [] if same and held else [(said, held)]
        sides = {left > 0.5 for one in places for left, *_ in one.rectangles}
        crossed += len(sides) > 1
    assert wrong == []
    assert crossed, "no quote over columns"


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_marks_lie_on_the_print_of_turned_and_cropped_pages(
    viewer: PageViewer, tmp_path: Path, turn: int
) -> None:
    page = [(150, 650, "Lighthouse"), (20, 20, "unseen")]
    data = printed(page, box="/CropBox [100 500 400 750]", turn=turn)
    ((left, top, right, bottom),) = marks(viewer, tmp_path, data, "Lighthouse")
    ink = print_in(viewer.picture(*stored(tmp_path, data), 1, 1200))
    assert left - 0.01 <= ink[0] <= ink[2] <= right + 0.01
    assert top - 0.01 <= ink[1] <= ink[3] <= bottom + 0.01
    assert (right - left) * (bottom - top) < 3 * (ink[2] - ink[0]) * (ink[3] - ink[1])
    assert marks(viewer, tmp_path, data, "unseen") == []


def print_in(png: bytes) -> tuple[float, float, float, float]:
    """Where the dark part of a grey picture lies."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour) == (8, 0)
    length = struct.unpack(">I", png[33:37])[0]
    lines = zlib.decompress(png[41 : 41 + length])
    dark = [divmod(at, width + 1) for at, value in enumerate(lines) if 0 < value < 128]
    down, across = [one[0] / height for one in dark], [(one[1] - 1) / width for one in dark]
    return min(across), min(down), max(across), max(down)


def test_values_in_a_form_are_marked_in_their_fields(viewer: PageViewer, tmp_path: Path) -> None:
    ((*ends,),) = marks(viewer, tmp_path, form(), "Ines Haldorsen")
    assert ends == pytest.approx([160 / 612, 80 / 792, 300 / 612, 97 / 792], abs=0.001)


def test_what_cannot_be_seen_says_why(viewer: PageViewer, tmp_path: Path) -> None:
    good = printed([(72, 700, "Page 4")])
    for data, page, error, why in (
        (files.pdf([["Harbour"]], encrypt_flag=True), 1, Encrypted, "password"),
        (b"%PDF-1.4 and no more", 1, Damaged, "not a readable PDF"),
        (good, 2, Unsupported, "no page 2"),
    ):
        with pytest.raises(error, match=why):
            viewer.picture(*stored(tmp_path, data), page, 400)
    file, own = stored(tmp_path, good)
    with pytest.raises(ExtractionError, match="changed"):
        viewer.picture(file, "0" * 64, 1, 400)
    # Words that are not there, as on a scan that OCR read, are not marked elsewhere.
    text = Extracted("The depth of berth 4", pages=(Page(1, 0, 20),))
    assert viewer.places(file, own, text, 0, 20) == [Place(1, [])]
    assert viewer.places(file, own, text, 19, 20) == [Place(1, [])]


HOSTILE = '''
import os, signal, struct, time
from types import SimpleNamespace
PDFIUM_INFO = SimpleNamespace(flags=[])
class PdfiumError(RuntimeError): pass
class PdfDocument:
    """Stands where pdfium stands, and does what the file says."""
    def __init__(self, data):
        deed = data.decode().split("|")[1]
        if deed == "crash": os.kill(os.getpid(), signal.SIGSEGV)
        if deed == "hang": time.sleep(600)
        for pipe in range(3, 12):
            try: os.write(pipe, struct.pack("<Q", len(deed)) + deed.encode())
            except OSError: pass
'''


def test_a_parser_that_a_page_took_over_gets_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "modules" / "pypdfium2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(str(package.parent))
    text = Extracted("Harbour", pages=(Page(1, 0, 7),))
    lies = [
        '{"sha256": "", "seen": [[[0, 0, 9, 9]]]}',
        '{"sha256": "", "seen": [[[0, 0, NaN, 1]]]}',
        '{"sha256": "", "seen": "words"}',
        '{"error": 5}',
        '{"sha256": "", "seen": [[], []]}',
    ]
    errors = [("crash", Damaged), ("hang", LimitExceeded), *((lie, Damaged) for lie in lies)]
    with PageViewer(ParseLimits(idle_seconds=5)) as viewer:
        for deed, error in errors:
            file, _ = stored(tmp_path, f"%PDF-|{deed}|".encode())
            with pytest.raises(error):
                viewer.places(file, "", text, 0, 7)
