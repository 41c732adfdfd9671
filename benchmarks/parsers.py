"""How much of a PDF, a web page and a Word file comes out as it went in.

    SECONDLOOK_DATA=... python -m benchmarks.parsers [--articles 8]

Files are made from articles of `squad-train` (CC BY-SA 4.0): PDFs by Chromium in one and two
justified columns with headers and page numbers (left out where there is no `chromium`), web pages
with the furniture of a site around the text, and Word files with every part that can hold text.
Beside our reading of a PDF stands that of the library below it. Writes
benchmarks/results/parsers.json.
"""

from __future__ import annotations

import html
import itertools
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pypdfium2

from benchmarks.common import parser, rows, save
from secondlook.retrieval.parse.extract import extract_bytes
from tests.support.files import docx, word_paragraph

if TYPE_CHECKING:
    from collections.abc import Callable

    Article = tuple[str, list[str]]

FURNITURE = (
    "<header>Site name</header><nav><ul>{menu}</ul></nav><main><h1>{title}</h1>{body}</main>"
    "<aside>Read also: ten other things</aside><footer>Imprint and privacy</footer>"
)
SCRIPT = "<style>p{color:red}</style><script>var a = 'tracking code here';</script>"


def articles(count: int) -> list[Article]:
    """Articles with 8 to 25 paragraphs, the same ones every time."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows("squad-train", "corpus"):
        found[row["title"]].append(" ".join(row["text"].split()))
    fitting = [(title, texts[:25]) for title, texts in found.items() if len(texts) >= 8]
    return fitting[:: max(1, len(fitting) // count)][:count]


def as_pdf(article: Article, columns: int, program: str) -> bytes:
    title, texts = html.escape(article[0]), [html.escape(text) for text in article[1]]
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><style>body{font:10pt serif}'
        f"div{{text-align:justify;hyphens:auto;column-count:{columns}}}</style>"
        f"<title>{title}</title><h1>{title}</h1><div>"
        + "".join(f"<p>{text}</p>" for text in texts)
        + "</div></html>"
    )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.html"), Path(folder, "out.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return target.read_bytes()


def as_page(article: Article) -> bytes:
    title, texts = html.escape(article[0]), [html.escape(text) for text in article[1]]
    menu = "".join(f'<li><a href="/{n}">Menu entry {n}</a></li>' for n in range(40))
    body = "".join(f"<p>{text}</p>" for text in texts)
    inner = FURNITURE.format(menu=menu, title=title, body=body)
    head = f"<head><title>{title}</title>{SCRIPT}</head>"
    return f"<!doctype html><html>{head}<body>{inner}</body></html>".encode()


def as_word(article: Article) -> bytes:
    return docx("".join(word_paragraph(html.escape(text)) for text in [article[0], *article[1]]))


def ours(name: str) -> Callable[[bytes], str]:
    def read(data: bytes) -> str:
        extracted = extract_bytes(data, name)[0].extracted
        return extracted.text if extracted else ""

    return read


def pypdfium2_alone(data: bytes) -> str:
    with pypdfium2.PdfDocument(data) as document:
        return "\n\n".join(page.get_textpage().get_text_range() for page in document)


def judged(text: str, article: Article) -> dict[str, float]:
    """F1 of words; of pairs of neighbouring words, which mixed columns and torn words cost; and
    the share of the sentences that stand in the text letter by letter, on one line."""

    def overlap(found: Counter[Any], wanted: Counter[Any]) -> float:
        return 2 * (found & wanted).total() / max(1, found.total() + wanted.total())

    truth = "\n".join([article[0], *article[1]])
    found, wanted = (re.findall(r"\w+", one.lower()) for one in (text, truth))
    lines = "\n".join(" ".join(line.split()) for line in text.splitlines())
    sentences = [part for one in article[1] for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", one)]
    return {
        "word_f1": overlap(Counter(found), Counter(wanted)),
        "order_f1": overlap(*(Counter(itertools.pairwise(one)) for one in (found, wanted))),
        "whole_sentences": fmean(sentence in lines for sentence in sentences),
    }


def compared(
    readers: dict[str, Callable[[bytes], str]], make: Callable[[Article], bytes], of: list[Article]
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    files = [(make(article), article) for article in of]
    for name, read in readers.items():
        read(files[0][0])  # imports are done before anything is timed
        began = time.process_time()
        texts = [read(data) for data, _ in files]
        seconds = time.process_time() - began
        scores = [judged(text, article) for text, (_, article) in zip(texts, files, strict=True)]
        means = {key: round(fmean(one[key] for one in scores), 4) for key in scores[0]}
        told[name] = {**means, "processor_seconds_per_file": round(seconds / len(files), 4)}
    return told


def kept_parts() -> dict[str, bool]:
    """Which parts of a Word file survive; what was deleted must not."""
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    box = f"<w:pict><w:txbxContent>{word_paragraph('boxword')}</w:txbxContent></w:pict>"
    body = (
        word_paragraph("bodyword")
        + f"<w:tbl><w:tr><w:tc>{word_paragraph('cellword')}</w:tc></w:tr></w:tbl>"
        + f"<w:sdt><w:sdtContent>{word_paragraph('controlword')}</w:sdtContent></w:sdt>"
        + "<w:p><w:ins><w:r><w:t>insertedword</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deletedword</w:delText></w:r></w:del></w:p>"
        + f"<w:p><w:r>{box}</w:r></w:p>"
    )
    note = f"<w:footnote w:id='1'>{word_paragraph('noteword')}</w:footnote>"
    notes = f"<w:footnotes {w}>{note}</w:footnotes>"
    text = ours("a.docx")(docx(body, extra={"word/footnotes.xml": notes}))
    parts = ("body", "cell", "control", "inserted", "box", "note")
    kept = {part: f"{part}word" in text for part in parts}
    return kept | {"deleted is gone": "deletedword" not in text}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--articles", type=int, default=8)
    chosen = articles(options.parse_args().articles)
    found: dict[str, Any] = {}
    if program := shutil.which("chromium"):
        readers = {"secondlook": ours("a.pdf"), "pypdfium2": pypdfium2_alone}
        for columns in (1, 2):
            make = partial(as_pdf, columns=columns, program=program)
            found[f"pdf, {columns} columns"] = compared(readers, make, chosen)
    found["web page"] = compared({"secondlook": ours("a.html")}, as_page, chosen)
    found["word file"] = compared({"secondlook": ours("a.docx")}, as_word, chosen)
    save("parsers", {**found, "word_parts": kept_parts()})


if __name__ == "__main__":
    main()
