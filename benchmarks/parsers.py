"""Which library reads a PDF, a web page and a Word file best, on files whose text is known.

    SECONDLOOK_DATA=... python benchmarks/parsers.py [--articles 8] [--repeats 2]

PDFs are made from articles of `squad-train` (CC BY-SA 4.0) in four layouts: one and two columns,
each by ReportLab and by Chromium, all with running headers and page numbers. What comes out is
compared with what went in. Besides `pip install secondlook` this needs, for the comparison only:

    pip install reportlab pypdf pdfminer.six pdfplumber selectolax beautifulsoup4 html2text \\
        trafilatura python-docx docx2txt mammoth
    apt-get install chromium        (without it its two layouts are left out)

PyMuPDF is not measured: it is licensed under the AGPL and cannot be a part of this product.
"""

from __future__ import annotations

import argparse
import gzip
import html
import importlib.metadata
import io
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

from secondlook.retrieval.parse.extract import extract_bytes
from tests.support.files import docx as word_file
from tests.support.files import word_paragraph

RESULTS = Path(__file__).parent / "results" / "parsers.json"
Article = tuple[str, list[str]]
Tool = Callable[[bytes], list[str]]
"""Bytes of a file to the texts of its pages (one for formats without pages)."""

LICENCES = {
    "secondlook (pypdfium2)": "Apache-2.0 over BSD-3-Clause / Apache-2.0",
    "secondlook (lxml)": "Apache-2.0 over BSD-3-Clause",
    "pypdfium2": "BSD-3-Clause / Apache-2.0", "pypdf": "BSD-3-Clause", "pdfminer.six": "MIT",
    "pdfplumber": "MIT", "selectolax": "MIT", "beautifulsoup4": "MIT", "html2text": "GPL-3.0",
    "trafilatura": "Apache-2.0", "python-docx": "MIT", "docx2txt": "MIT", "mammoth": "BSD-2-Clause",
}  # fmt: skip


def articles(count: int) -> list[Article]:
    """Articles with 8 to 25 paragraphs, the same ones every time."""
    path = Path(os.environ["SECONDLOOK_DATA"]) / "squad-train" / "corpus.jsonl.gz"
    found: dict[str, list[str]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text = " ".join(row["text"].split())
            if _is_printable(text):
                found[row["title"]].append(text)
    fitting = [(title, texts[:25]) for title, texts in found.items() if len(texts) >= 8]
    return fitting[:: max(1, len(fitting) // count)][:count]


def _is_printable(text: str) -> bool:
    """ReportLab's built-in fonts know Latin-1 only."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def by_reportlab(article: Article, columns: int) -> bytes:
    justified = import_module("reportlab.lib.enums").TA_JUSTIFY
    paper = import_module("reportlab.lib.pagesizes").A4
    sample_styles = import_module("reportlab.lib.styles").getSampleStyleSheet
    platypus = import_module("reportlab.platypus")

    title, texts = article
    stream = io.BytesIO()
    document = platypus.BaseDocTemplate(stream, pagesize=paper, title=title)
    width = (document.width - 18 * (columns - 1)) / columns
    frames = [
        platypus.Frame(
            document.leftMargin + column * (width + 18),
            document.bottomMargin,
            width,
            document.height,
        )
        for column in range(columns)
    ]

    def furniture(canvas: Any, _document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(72, paper[1] - 40, f"{title} - a running header")
        canvas.drawCentredString(paper[0] / 2, 30, str(canvas.getPageNumber()))

    document.addPageTemplates(platypus.PageTemplate(frames=frames, onPage=furniture))
    styles = sample_styles()
    body = styles["BodyText"]
    body.alignment, body.fontSize = justified, 9
    flow: list[Any] = [platypus.Paragraph(html.escape(title), styles["Heading1"])]
    flow += [platypus.Paragraph(html.escape(text), body) for text in texts]
    document.build(flow)
    return stream.getvalue()


def by_chromium(article: Article, columns: int, program: str) -> bytes:
    title, texts = article
    body = "".join(f"<p>{html.escape(text)}</p>" for text in texts)
    style = f"column-count:{columns}" if columns > 1 else ""
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><style>body{font:10pt serif}'
        f"div{{text-align:justify;hyphens:auto;{style}}}</style><title>{html.escape(title)}</title>"
        f"<h1>{html.escape(title)}</h1><div>{body}</div></html>"
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


def layouts(chosen: list[Article]) -> dict[str, list[tuple[bytes, Article]]]:
    made = {
        "reportlab, one column": [(by_reportlab(item, 1), item) for item in chosen],
        "reportlab, two columns": [(by_reportlab(item, 2), item) for item in chosen],
    }
    if program := shutil.which("chromium"):
        made["chromium, one column"] = [(by_chromium(item, 1, program), item) for item in chosen]
        made["chromium, two columns"] = [(by_chromium(item, 2, program), item) for item in chosen]
    return made


def paged(texts: list[str]) -> bytes:
    """One paragraph on each page, to see whether pages are told apart."""
    sample_styles = import_module("reportlab.lib.styles").getSampleStyleSheet
    platypus = import_module("reportlab.platypus")

    stream = io.BytesIO()
    style = sample_styles()["BodyText"]
    flow: list[Any] = []
    for text in texts:
        flow += [platypus.Paragraph(html.escape(text), style), platypus.PageBreak()]
    platypus.SimpleDocTemplate(stream).build(flow)
    return stream.getvalue()


# The candidates


def ours(name: str) -> Tool:
    def read(data: bytes) -> list[str]:
        extracted = extract_bytes(data, name)[0].extracted
        if extracted is None:
            return []
        text = extracted.text
        return [text[page.start : page.end] for page in extracted.pages] or [text]

    return read


def pypdfium2_alone(data: bytes) -> list[str]:
    import pypdfium2

    with pypdfium2.PdfDocument(data) as document:
        return [page.get_textpage().get_text_range() for page in document]


def pypdf(data: bytes) -> list[str]:
    library = import_module("pypdf")

    return [page.extract_text() for page in library.PdfReader(io.BytesIO(data)).pages]


def pdfminer(data: bytes) -> list[str]:
    extract_text = import_module("pdfminer.high_level").extract_text

    text: str = extract_text(io.BytesIO(data))
    return text.split("\f")[:-1]


def pdfplumber(data: bytes) -> list[str]:
    library = import_module("pdfplumber")

    with library.open(io.BytesIO(data)) as document:
        return [page.extract_text() for page in document.pages]


def selectolax(data: bytes) -> list[str]:
    parse = import_module("selectolax.lexbor").LexborHTMLParser

    tree = parse(data.decode())
    tree.strip_tags(["script", "style", "nav", "header", "footer", "aside"])
    return [tree.body.text(separator="\n") if tree.body else ""]


def beautifulsoup(data: bytes) -> list[str]:
    soup_of = import_module("bs4").BeautifulSoup

    soup = soup_of(data, "lxml")
    for tag in soup(["script", "style", "nav", "header", "footer", "aside"]):
        tag.decompose()
    return [soup.get_text("\n")]


def html2text(data: bytes) -> list[str]:
    library = import_module("html2text")

    return [library.html2text(data.decode())]


def trafilatura(data: bytes) -> list[str]:
    library = import_module("trafilatura")

    return [library.extract(data.decode()) or ""]


def python_docx(data: bytes) -> list[str]:
    docx = import_module("docx")

    document = docx.Document(io.BytesIO(data))
    lines: list[str] = []
    for item in document.iter_inner_content():
        if hasattr(item, "rows"):
            lines += [" | ".join(cell.text for cell in row.cells) for row in item.rows]
        else:
            lines.append(item.text)
    return ["\n\n".join(lines)]


def docx2txt(data: bytes) -> list[str]:
    library = import_module("docx2txt")

    return [library.process(io.BytesIO(data))]


def mammoth(data: bytes) -> list[str]:
    library = import_module("mammoth")

    return [library.extract_raw_text(io.BytesIO(data)).value]


PDF_TOOLS: dict[str, Tool] = {
    "secondlook (pypdfium2)": ours("a.pdf"), "pypdfium2": pypdfium2_alone, "pypdf": pypdf,
    "pdfminer.six": pdfminer, "pdfplumber": pdfplumber,
}  # fmt: skip
HTML_TOOLS: dict[str, Tool] = {
    "secondlook (lxml)": ours("a.html"), "selectolax": selectolax,
    "beautifulsoup4": beautifulsoup, "html2text": html2text, "trafilatura": trafilatura,
}  # fmt: skip
DOCX_TOOLS: dict[str, Tool] = {
    "secondlook (lxml)": ours("a.docx"), "python-docx": python_docx, "docx2txt": docx2txt,
    "mammoth": mammoth,
}  # fmt: skip


# The measures


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def overlap(found: Counter[Any], wanted: Counter[Any]) -> float:
    """F1 of two bags."""
    common = (found & wanted).total()
    return 2 * common / max(1, found.total() + wanted.total())


def word_f1(text: str, truth: str) -> float:
    return overlap(Counter(words(text)), Counter(words(truth)))


def order_f1(text: str, truth: str) -> float:
    """F1 of pairs of neighbouring words: mixed columns and torn words cost."""
    found, wanted = words(text), words(truth)
    return overlap(Counter(itertools.pairwise(found)), Counter(itertools.pairwise(wanted)))


def whole_sentences(text: str, texts: list[str]) -> float:
    """Share of the sentences that stand in the text letter by letter, on one line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    sentences = [part for item in texts for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", item)]
    joined = "\n".join(lines)
    return mean(sentence in joined for sentence in sentences)


def judged(pages: list[str], article: Article) -> dict[str, float]:
    text = "\n\n".join(pages)
    truth = "\n".join([article[0], *article[1]])
    return {
        "word_f1": word_f1(text, truth),
        "order_f1": order_f1(text, truth),
        "whole_sentences": whole_sentences(text, article[1]),
    }


def compare(
    tools: dict[str, Tool], groups: dict[str, list[tuple[bytes, Article]]], repeats: int
) -> dict[str, dict[str, Any]]:
    """Quality by layout, and the time of each tool as a ratio to ours on the same files."""
    scores: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    seconds: defaultdict[str, float] = defaultdict(float)
    for group, samples in groups.items():
        for data, article in samples:
            for name, tool in tools.items():
                best, pages = fastest(tool, data, repeats)
                seconds[name] += best
                scores[name][group].append(judged(pages, article))
    base = next(iter(tools))
    return {
        name: {
            "licence": LICENCES[name],
            "time_ratio": round(seconds[name] / seconds[base], 2),
            "seconds": round(seconds[name], 3),
            **{
                group: {key: round(mean(item[key] for item in items), 4) for key in items[0]}
                for group, items in scores[name].items()
            },
        }
        for name in tools
    }


def fastest(tool: Tool, data: bytes, repeats: int) -> tuple[float, list[str]]:
    """Processor time: all of them work in one thread, and other load must not count."""
    best, pages = float("inf"), list[str]()
    for _ in range(repeats):
        start = time.process_time()
        pages = tool(data)
        best = min(best, time.process_time() - start)
    return best, pages


def right_pages(texts: list[str]) -> dict[str, float]:
    data = paged(texts)
    found: dict[str, float] = {}
    for name, tool in PDF_TOOLS.items():
        pages = [words(page) for page in tool(data)]
        hits = [
            number < len(pages) and word_f1(" ".join(pages[number]), text) > 0.95
            for number, text in enumerate(texts)
        ]
        found[name] = round(mean(hits), 3)
    return found


def web_pages(chosen: list[Article]) -> dict[str, list[tuple[bytes, Article]]]:
    menu = "".join(f'<li><a href="/{n}">Menu entry {n}</a></li>' for n in range(40))
    made: list[tuple[bytes, Article]] = []
    for title, texts in chosen:
        body = "".join(f"<p>{html.escape(text)}</p>" for text in texts)
        page = (
            f"<!doctype html><html><head><title>{html.escape(title)}</title><style>p{{color:red}}</style>"  # noqa: E501
            f"<script>var a = 'tracking code here';</script></head><body><header>Site name</header>"
            f"<nav><ul>{menu}</ul></nav><main><h1>{html.escape(title)}</h1>{body}</main>"
            "<aside>Read also: ten other things</aside><footer>Imprint and privacy</footer></body></html>"  # noqa: E501
        )
        made.append((page.encode(), (title, texts)))
    return {"web page": made}


def word_files(chosen: list[Article]) -> dict[str, list[tuple[bytes, Article]]]:
    docx = import_module("docx")

    made: list[tuple[bytes, Article]] = []
    for title, texts in chosen:
        document = docx.Document()
        document.add_heading(title, 1)
        for text in texts:
            document.add_paragraph(text)
        stream = io.BytesIO()
        document.save(stream)
        made.append((stream.getvalue(), (title, texts)))
    return {"word file": made}


def kept_parts() -> dict[str, dict[str, bool]]:
    """Which parts of a Word file survive; what was deleted must not."""
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        word_paragraph("bodyword")
        + f"<w:tbl><w:tr><w:tc>{word_paragraph('cellword')}</w:tc></w:tr></w:tbl>"
        + f"<w:sdt><w:sdtContent>{word_paragraph('controlword')}</w:sdtContent></w:sdt>"
        + "<w:p><w:ins><w:r><w:t>insertedword</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deletedword</w:delText></w:r></w:del></w:p>"
        + f"<w:p><w:r><w:pict><w:txbxContent>{word_paragraph('boxword')}</w:txbxContent></w:pict></w:r></w:p>"  # noqa: E501
    )
    note = f"<w:footnotes {w}><w:footnote w:id='1'>{word_paragraph('noteword')}</w:footnote></w:footnotes>"  # noqa: E501
    data = _with_relations(word_file(body, extra={"word/footnotes.xml": note}))
    parts = ("bodyword", "cellword", "controlword", "insertedword", "boxword", "noteword")
    kept: dict[str, dict[str, bool]] = {}
    for name, tool in DOCX_TOOLS.items():
        text = "\n".join(tool(data))
        kept[name] = {part.removesuffix("word"): part in text for part in parts}
        kept[name]["deleted is gone"] = "deletedword" not in text
    return kept


def _with_relations(data: bytes) -> bytes:
    """Other libraries insist on the parts that name the parts."""
    import zipfile

    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    types = (
        f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{main}.styles+xml"/>'
        f'<Override PartName="/word/footnotes.xml" ContentType="{main}.footnotes+xml"/></Types>'
    )
    link = '<Relationship Id="{}" Type="{}/{}" Target="{}"/>'
    top = link.format("r1", office, "officeDocument", "word/document.xml")
    inner = link.format("r2", office, "styles", "styles.xml") + link.format(
        "r3", office, "footnotes", "footnotes.xml"
    )
    frame = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, types if name == "[Content_Types].xml" else old.read(name))
        new.writestr("_rels/.rels", frame.format(top))
        new.writestr("word/_rels/document.xml.rels", frame.format(inner))
    return stream.getvalue()


def versions() -> dict[str, str]:
    names = {name.partition(" ")[0] for name in LICENCES} | {"reportlab", "lxml"}
    found: dict[str, str] = {}
    for name in sorted(names):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "from source"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    chosen = articles(options.articles)
    warm_up(chosen[0])
    results = {
        "articles": [title for title, _ in chosen],
        "python": platform.python_version(),
        "versions": versions(),
        "pdf": compare(PDF_TOOLS, layouts(chosen), options.repeats),
        "pdf_right_pages": right_pages([text for _, texts in chosen for text in texts[:4]]),
        "html": compare(HTML_TOOLS, web_pages(chosen), options.repeats),
        "docx": compare(DOCX_TOOLS, word_files(chosen), options.repeats),
        "docx_parts": kept_parts(),
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


def warm_up(article: Article) -> None:
    """Imports and models are loaded before anything is timed."""
    for tool in PDF_TOOLS.values():
        tool(by_reportlab(article, 1))
    for tool in HTML_TOOLS.values():
        tool(web_pages([article])["web page"][0][0])
    for tool in DOCX_TOOLS.values():
        tool(word_files([article])["word file"][0][0])


if __name__ == "__main__":
    main()
