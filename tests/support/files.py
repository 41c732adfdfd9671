"""Sample files of every format, built from scratch, for the tests of the parsers."""

import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

PROSE = (
    "The lighthouse keeper wrote every evening in a thick notebook. He recorded the wind, the "
    "height of the waves and the names of the ships that passed the northern cape."
)


def pdf(
    pages: Sequence[Sequence[tuple[float, str] | str]],
    *,
    title: str = "",
    author: str = "",
    columns: int = 1,
    outline: Sequence[tuple[str, int]] = (),
    encrypt_flag: bool = False,
) -> bytes:
    """A PDF with lines of text, each (font size, words) or words alone at 11 points."""
    objects: list[bytes] = []
    count = len(pages)
    first_page = 4
    kids = " ".join(f"{first_page + 2 * index} 0 R" for index in range(count))
    outline_at = first_page + 2 * count + 1
    root = "/Type /Catalog /Pages 2 0 R" + (f" /Outlines {outline_at} 0 R" if outline else "")
    objects.append(f"<< {root} >>".encode())
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for index, lines in enumerate(pages):
        content = _page_content(lines, columns).encode("latin-1", "replace")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    info = f"/Title ({title}) /Author ({author}) /CreationDate (D:20240517120000Z)"
    objects.append(f"<< {info} >>".encode())
    objects.extend(_outline(outline, outline_at, first_page))
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R /Info {first_page + 2 * count} 0 R"
    if encrypt_flag:
        keys = b"41" * 32, b"42" * 32
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % keys)
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    return _assembled(objects, trailer)


def _page_content(lines: Sequence[tuple[float, str] | str], columns: int) -> str:
    parts = ["BT"]
    per_column = -(-len(lines) // columns)
    for number, line in enumerate(lines):
        size, words = line if isinstance(line, tuple) else (11.0, line)
        column, row = divmod(number, per_column)
        left, top = 72 + column * 260, 720 - row * 14
        escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        parts.append(f"/F1 {size} Tf 1 0 0 1 {left} {top} Tm ({escaped}) Tj")
    return "\n".join([*parts, "ET"])


def _outline(entries: Sequence[tuple[str, int]], at: int, first_page: int) -> list[bytes]:
    if not entries:
        return []
    last = at + len(entries)
    found = [f"<< /Type /Outlines /First {at + 1} 0 R /Last {last} 0 R /Count {len(entries)} >>"]
    for number, (title, page) in enumerate(entries, 1):
        beside = (f" /Prev {at + number - 1} 0 R" if number > 1 else "") + (
            f" /Next {at + number + 1} 0 R" if number < len(entries) else ""
        )
        target = f"[{first_page + 2 * page} 0 R /Fit]"
        found.append(f"<< /Title ({title}) /Parent {at} 0 R /Dest {target}{beside} >>")
    return [item.encode() for item in found]


def _assembled(objects: Sequence[bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.5\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out) + f"trailer << {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()


def zipped(members: Mapping[str, bytes | str], *, stored: Sequence[str] = ()) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            method = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(name, data, compress_type=method)
    return stream.getvalue()


def tarred(members: Mapping[str, bytes], *, mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
    'core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>{title}</dc:title>'
    "<dc:creator>{author}</dc:creator><dcterms:created>2023-02-03T04:05:06Z</dcterms:created>"
    "</cp:coreProperties>"
)
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(
    body: str, *, title: str = "", author: str = "", extra: Mapping[str, str] | None = None
) -> bytes:
    """`body` is WordprocessingML between the body's tags."""
    styles = (
        f'<w:styles {_W}><w:style w:type="paragraph" w:styleId="berschrift1">'
        '<w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/>'
        '<w:basedOn w:val="berschrift1"/>'
        "</w:style></w:styles>"
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": styles,
            "docProps/core.xml": _CORE.format(title=title, author=author),
            **(extra or {}),
        }
    )


def word_paragraph(text: str, *, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


_PML = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pptx(slides: Sequence[tuple[str, str]], *, notes: str = "", shown: Sequence[int] = ()) -> bytes:
    """Slides of (title, body); `shown` is their order, by number from 1."""
    order = shown or range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in order)
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{_REL}/slide" Target="slides/slide{number}.xml"/>'
        for number in range(1, len(slides) + 1)
    )
    members: dict[str, str] = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f"<p:presentation {_PML}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",  # noqa: E501
        "ppt/_rels/presentation.xml.rels": f"<Relationships>{relations}</Relationships>",
    }
    for number, (title, body) in enumerate(slides, 1):
        shapes = shape(body, "body") + shape(title, "title") + shape(str(number), "sldNum")
        members[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {_PML}><p:cSld>{shapes}</p:cSld></p:sld>"
        )
    if notes:
        members["ppt/slides/_rels/slide1.xml.rels"] = (
            f'<Relationships><Relationship Id="n" Type="{_REL}/notesSlide" '
            'Target="../notesSlides/notesSlide1.xml"/></Relationships>'
        )
        members["ppt/notesSlides/notesSlide1.xml"] = (
            f"<p:notes {_PML}>{shape(notes, 'body')}</p:notes>"
        )
    return zipped(members)


def shape(text: str, kind: str) -> str:
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f'<p:sp><p:nvPr><p:ph type="{kind}"/></p:nvPr><p:txBody>{paragraphs}</p:txBody></p:sp>'


def odf(content: str, *, kind: str = "text", manifest: str = "", title: str = "") -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw", "presentation", "meta", "manifest")
    )
    meta = f"<office:document-meta {names} xmlns:dc='http://purl.org/dc/elements/1.1/'>"
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {names}><office:body>{content}</office:body></office:document-content>",  # noqa: E501
            "meta.xml": f"{meta}<dc:title>{title}</dc:title><meta:initial-creator>Ada</meta:initial-creator>"  # noqa: E501
            "<meta:creation-date>2022-07-08T00:00:00</meta:creation-date></office:document-meta>",
            "META-INF/manifest.xml": f"<manifest:manifest {names}>{manifest}</manifest:manifest>",
        },
        stored=["mimetype"],
    )


def epub(
    chapters: Mapping[str, str],
    *,
    spine: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
) -> bytes:
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in chapters
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in (spine or chapters))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<metadata><dc:title>A Book of Tides</dc:title><dc:creator>Mara Lind</dc:creator>"
        f"<dc:date>1998</dc:date></metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',  # noqa: E501
            "OPS/book.opf": opf,
            **{f"OPS/{name}.xhtml": body for name, body in chapters.items()},
            **(extra or {}),
        },
        stored=["mimetype"],
    )


def notebook(*cells: Mapping[str, object]) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": list(cells)}).encode()


def mail(body: str, *, html: str = "", attachments: Mapping[str, bytes] | None = None) -> bytes:
    message = EmailMessage()
    message["From"] = "Ada Ferro <ada@example.org>"
    message["To"] = "Bo <bo@example.org>"
    message["Subject"] = "Grüße aus dem Hafen"
    message["Date"] = "Fri, 17 May 2024 10:00:00 +0200"
    if body:
        message.set_content(body)
    if html and body:
        message.add_alternative(html, subtype="html")
    elif html:
        message.set_content(html, subtype="html")
    for name, data in (attachments or {}).items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def png(width: int = 4, height: int = 4) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + b"\xff" * width for _ in range(height)))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )
