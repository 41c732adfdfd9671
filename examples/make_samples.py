"""Writes the sample documents that are shipped with Secondlook.

    python examples/make_samples.py [FOLDER]

The same bytes come out on every machine and every run: nothing is compressed (compressors differ
between versions) and no clock is read.
"""

# ruff: noqa: INP001 - a script, and a module for the test that runs it

from __future__ import annotations

import argparse
import io
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples import sample_texts as words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAMPLES = Path(__file__).resolve().parent.parent / "src" / "secondlook" / "samples"

_PAGE_WIDTH, _PAGE_HEIGHT, _MARGIN = 595, 842, 72
_COLUMN = 112
_CHARS_PER_LINE = 84
_SIZES = {"title": 20, "heading": 15, "text": 11, "row": 11}
_ZIP_TIME = (2024, 5, 17, 12, 0, 0)
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"
_PACKAGE_TYPE = "application/vnd.openxmlformats-package"


def build() -> dict[str, bytes]:
    """Every sample by its file name."""
    return {
        "harbour-survey-2024.pdf": survey_pdf(),
        "harbour-handbook.docx": handbook_docx(),
        "council-minutes-2024-06-11.md": words.MINUTES.encode(),
        "annual-report-2023.html": words.REPORT.encode(),
        "dredging-offer.eml": offer_mail(),
        "lighthouse-log-2023.txt": words.LOG.encode(),
        "tides-and-berths-2024.xlsx": figures_xlsx(),
    }


def survey_pdf() -> bytes:
    pages = words.SURVEY
    first = 5
    kids = " ".join(f"{first + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _font("Helvetica"),
        _font("Helvetica-Bold"),
    ]
    for number, blocks in enumerate(pages, 1):
        content = _page_content(blocks, number, len(pages)).encode("cp1252")
        resources = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
        box = f"/MediaBox [0 0 {_PAGE_WIDTH} {_PAGE_HEIGHT}]"
        stream = len(objects) + 2
        objects.append(
            f"<< /Type /Page /Parent 2 0 R {box} /Contents {stream} 0 R {resources} >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    about = f"/Title ({words.SURVEY_TITLE}) /Author ({words.SURVEY_AUTHOR})"
    objects.append(f"<< {about} /CreationDate (D:20240517120000Z) >>".encode())
    return _assembled_pdf(objects)


def _font(name: str) -> bytes:
    return (
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
    )


def _page_content(blocks: Sequence[tuple[str, str]], number: int, count: int) -> str:
    shown = [_shown(9, _MARGIN, 800, words.SURVEY_TITLE)] if number > 1 else []
    top = 756
    for kind, text in blocks:
        size = _SIZES[kind]
        top -= {"title": 8, "heading": 12, "text": 8, "row": 0}[kind]
        for line in _lines(kind, text):
            for column, cell in enumerate(line):
                left = _MARGIN + column * _COLUMN
                shown.append(_shown(size, left, top, cell, bold=kind in {"title", "heading"}))
            top -= size + 4
    shown.append(_shown(9, 270, 40, f"Page {number} of {count}"))
    return "\n".join(["BT", *shown, "ET"])


def _lines(kind: str, text: str) -> list[list[str]]:
    if kind == "row":
        return [text.split("|")]
    return [[line] for line in textwrap.wrap(text, _CHARS_PER_LINE)]


def _shown(size: int, left: int, top: int, text: str, *, bold: bool = False) -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"/F{2 if bold else 1} {size} Tf 1 0 0 1 {left} {top} Tm ({escaped}) Tj"


def _assembled_pdf(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    return bytes(out) + f"{trailer}\nstartxref\n{start}\n%%EOF\n".encode()


def handbook_docx() -> bytes:
    space = f'xmlns:w="{_OFFICE.replace("officeDocument", "wordprocessingml")}/main"'
    body = "".join(
        _word_paragraph(text, "Heading1" if kind == "heading" else "")
        for kind, text in [("title", words.HANDBOOK_TITLE), *words.HANDBOOK]
    ).replace("<w:p>", '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr>', 1)
    named = (("Title", "Title", 40), ("Heading1", "heading 1", 28))
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/>'
        f'<w:rPr><w:b/><w:sz w:val="{size}"/></w:rPr></w:style>'
        for key, name, size in named
    )
    part = f"{_OFFICE_TYPE}.wordprocessingml"
    return _package(
        main="word/document.xml",
        parts={
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {space}>{styles}</w:styles>",
            "word/_rels/document.xml.rels": _relations([("styles", "styles.xml")]),
        },
        types={
            "/word/document.xml": f"{part}.document.main+xml",
            "/word/styles.xml": f"{part}.styles+xml",
        },
        about=(words.HANDBOOK_TITLE, words.HANDBOOK_AUTHOR, "2024-01-15T09:00:00Z"),
    )


def _word_paragraph(text: str, style: str) -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def figures_xlsx() -> bytes:
    space = f'xmlns="{_OFFICE.replace("officeDocument", "spreadsheetml")}/main"'
    names = [name for name, _ in words.SHEETS]
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(names, 1)
    )
    links = [("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(names) + 1)]
    parts = {
        "xl/workbook.xml": f'<workbook {space} xmlns:r="{_OFFICE}/relationships">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(links),
    }
    part = f"{_OFFICE_TYPE}.spreadsheetml"
    types = {"/xl/workbook.xml": f"{part}.sheet.main+xml"}
    for number, (_, rows) in enumerate(words.SHEETS, 1):
        name = f"xl/worksheets/sheet{number}.xml"
        lines = "".join(_sheet_row(row, at) for at, row in enumerate(rows, 1))
        parts[name] = f"<worksheet {space}><sheetData>{lines}</sheetData></worksheet>"
        types[f"/{name}"] = f"{part}.worksheet+xml"
    about = ("Tides and berths in 2024", "Runa Vestergaard", "2024-07-02T09:00:00Z")
    return _package(main="xl/workbook.xml", parts=parts, types=types, about=about)


def _sheet_row(row: Sequence[str | float], at: int) -> str:
    cells = []
    for letter, value in zip("ABCDEFGH", row, strict=False):
        place = f'r="{letter}{at}"'
        if isinstance(value, str):
            cells.append(f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>')
        else:
            cells.append(f"<c {place}><v>{value}</v></c>")
    return f'<row r="{at}">{"".join(cells)}</row>'


def _package(
    *, main: str, parts: Mapping[str, str], types: Mapping[str, str], about: tuple[str, str, str]
) -> bytes:
    """An Office file: a zip of XML parts with their types and relations."""
    overrides = {**types, "/docProps/core.xml": f"{_PACKAGE_TYPE}.core-properties+xml"}
    declared = "".join(
        f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in overrides.items()
    )
    defaults = (
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Default Extension="rels" ContentType="{_PACKAGE_TYPE}.relationships+xml"/>'
    )
    core = ("metadata/core-properties", "docProps/core.xml")
    space = f'xmlns="{_PACKAGE}/content-types"'
    members = {
        "[Content_Types].xml": f"<Types {space}>{defaults}{declared}</Types>",
        "_rels/.rels": _relations([("officeDocument", main)], package=[core]),
        "docProps/core.xml": _core_properties(*about),
        **parts,
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, text in members.items():
            member = zipfile.ZipInfo(name, _ZIP_TIME)
            member.create_system = 0
            archive.writestr(member, _XML + text)
    return stream.getvalue()


def _relations(links: Sequence[tuple[str, str]], package: Sequence[tuple[str, str]] = ()) -> str:
    typed = [(f"{_OFFICE}/relationships/{kind}", target) for kind, target in links]
    typed += [(f"{_PACKAGE}/relationships/{kind}", target) for kind, target in package]
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(typed, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def _core_properties(title: str, author: str, created: str) -> str:
    spaces = (
        f'xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    )
    return (
        f"<cp:coreProperties {spaces}><dc:title>{escape(title)}</dc:title>"
        f"<dc:creator>{escape(author)}</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created>'
        "</cp:coreProperties>"
    )


def offer_mail() -> bytes:
    head = {
        "From": words.MAIL_FROM,
        "To": words.MAIL_TO,
        "Subject": words.MAIL_SUBJECT,
        "Date": words.MAIL_DATE,
        "Message-ID": "<20240603091200.offer@nordmole.example>",
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "8bit",
    }
    lines = [f"{key}: {value}" for key, value in head.items()]
    return "\r\n".join([*lines, "", *words.MAIL.splitlines(), ""]).encode()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SAMPLES, help="where to write them")
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in build().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
