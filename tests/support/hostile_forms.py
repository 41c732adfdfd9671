"""Hostile contents, one builder each: bombs, cycles, depths, lies. Bytes in, bytes out, no disk."""

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib

from tests.support import files
from tests.support.compound import Storage, compound

LEVELS = 10_000
CANARY = "secondlook-canary-7d1f"
"""Written into a file beside the hostile ones: it must never turn up in a text."""


# Archives


def grown_zip(members: dict[str, bytes], name: str, filler: bytes, megabytes: int) -> bytes:
    """A zip whose member `name` has that much filler before its last closing tag. Deflate blocks
    that were flushed repeat as bytes, so that gigabytes take no time to write."""
    content = members[name]
    cut = max(content.rfind(b"</"), 0)
    block = filler * ((1 << 20) // len(filler))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    head = packer.compress(content[:cut]) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = head + middle * megabytes + packer.compress(content[cut:]) + packer.flush()
    size = len(content) + len(block) * megabytes
    checksum = zlib.crc32(content[:cut])
    # Above a gigabyte it is refused by its size, so nobody gets to see the checksum.
    for _ in range(megabytes if megabytes < 1024 else 0):
        checksum = zlib.crc32(block, checksum)
    checksum = zlib.crc32(content[cut:], checksum)
    made = files.zipped(members | {name: packed}, stored=["mimetype", name])
    return _deflated(made, name.encode(), checksum, len(packed), size)


def _deflated(made: bytes, name: bytes, checksum: int, packed: int, size: int) -> bytes:
    """Both headers of a stored member, changed to say what its bytes are."""
    data = bytearray(made)
    for mark, method, length in ((b"PK\x03\x04", 8, 30), (b"PK\x01\x02", 10, 46)):
        at = data.index(mark)
        while data[at + length : at + length + len(name)] != name:
            at = data.index(mark, at + 4)
        struct.pack_into("<H", data, at + method, 8)
        struct.pack_into("<III", data, at + method + 6, checksum, packed, size)
    return bytes(data)


def zeros_zip(megabytes: int) -> bytes:
    return grown_zip({"zeros.txt": b""}, "zeros.txt", b"0", megabytes)


def lying_zip() -> bytes:
    """Says that its member has one byte; 8 MB come out of it."""
    made = bytearray(zeros_zip(8))
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = made.index(mark) + offset
        made[at : at + 4] = struct.pack("<I", 1)
    return bytes(made)


def encrypted_zip() -> bytes:
    made = bytearray(files.zipped({"secret.txt": files.PROSE}))
    made[made.index(b"PK\x03\x04") + 6] |= 1
    made[made.index(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


def special_tar() -> bytes:
    """Links, devices, pipes and names that lead out of the folder; one honest file."""
    stream = io.BytesIO()
    kinds = {
        "link.txt": tarfile.SYMTYPE,
        "hard.txt": tarfile.LNKTYPE,
        "device.txt": tarfile.CHRTYPE,
        "disk.txt": tarfile.BLKTYPE,
        "pipe.txt": tarfile.FIFOTYPE,
    }
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        for name in ("../../climb.txt", "/absolute.txt", "plain.txt"):
            data = f"{name} {files.PROSE}".encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def archive_forms() -> dict[str, bytes]:
    # Just above what a text may have, so that the limit is met and little is unpacked.
    big_gzip = gzip.compress(b"0" * (51 << 20), 1, mtime=0)
    data = files.zipped({"core.txt": files.PROSE})
    for level in range(40):
        data = files.zipped({f"level{level}.zip": data})
    # Every entry of the directory points at the same megabytes, so that it grows by `entries`.
    made = zeros_zip(8)
    start = made.index(b"PK\x01\x02")
    directory = made[start : made.rindex(b"PK\x05\x06")] * 400
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 400, 400, len(directory), start, 0)
    return {
        "bomb-declared.zip": zeros_zip(3000),
        "bomb-lying.zip": lying_zip(),
        "bomb-overlapping.zip": (made[:start] + directory + tail),
        "bomb-nested.zip": files.zipped({"a.zip": files.zipped({"b.zip": zeros_zip(2500)})}),
        "bomb-layers.gz": gzip.compress(gzip.compress(big_gzip, mtime=0), mtime=0),
        "nested-40.zip": data,
        "climbing.zip": files.zipped(
            {"../../etc/climb.txt": files.PROSE, "/root/absolute.txt": "x"}
        ),
        "special.tar": special_tar(),
        "encrypted.zip": encrypted_zip(),
        "lone-end.zip": b"PK\x05\x06" + bytes(18),
    }


# PDF


def raw_pdf(*objects: bytes, trailer: str = "/Root 1 0 R") -> bytes:
    """A PDF of these objects, numbered from 1, with a correct table."""
    return files._assembled(objects, f"/Size {len(objects) + 1} {trailer}")


_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_FONT = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"


def _page(more: bytes = b"/Contents 4 0 R", box: bytes = b"[0 0 612 792]") -> bytes:
    return b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Resources %s %s >>" % (box, _FONT, more)


def _stream(content: bytes, length: int | None = None, more: bytes = b"") -> bytes:
    said = len(content) if length is None else length
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (said, more, content)


_WORDS = b"BT /F1 11 Tf 72 720 Td (The ferry leaves at seven.) Tj ET"
_PAGES = b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"


def pdf_forms() -> dict[str, bytes]:
    good = files.pdf([[files.PROSE]])
    table = good.rindex(b"xref\n0")
    # A page whose drawing instructions grow to 200 MB of blanks.
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(200)) + packer.flush()
    return {
        "xref-garbage": good[:table] + random.Random(3).randbytes(400),
        "header-only": b"%PDF-1.7\n",
        "tree-cyclic": raw_pdf(_CATALOG, b"<< /Type /Pages /Count 9 /Kids [2 0 R 2 0 R] >>"),
        "tree-count-lies": raw_pdf(
            _CATALOG,
            b"<< /Type /Pages /Count 2147483647 /Kids [3 0 R] >>",
            _page(),
            _stream(_WORDS),
        ),
        "outline-cyclic": raw_pdf(
            b"<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
            _PAGES,
            _page(),
            _stream(_WORDS),
            b"<< /Type /Outlines /First 6 0 R /Last 6 0 R /Count 1 >>",
            b"<< /Title (Round) /Parent 6 0 R /Next 6 0 R /First 6 0 R /Dest [3 0 R /Fit] >>",
        ),
        "reference-cyclic": raw_pdf(b"2 0 R", b"3 0 R", b"1 0 R"),
        "form-cyclic": raw_pdf(
            _CATALOG,
            _PAGES,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /XObject << /X 5 0 R >> >> >>",
            _stream(b"/X Do"),
            _stream(
                b"/X Do",
                more=b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] "
                b"/Resources << /XObject << /X 5 0 R >> >>",
            ),
        ),
        "box-huge": raw_pdf(_CATALOG, _PAGES, _page(box=b"[0 0 1e38 1e38]"), _stream(_WORDS)),
        "length-huge": raw_pdf(_CATALOG, _PAGES, _page(), _stream(_WORDS, 1 << 60)),
        "flate-bomb": raw_pdf(
            _CATALOG, _PAGES, _page(), _stream(packed, more=b"/Filter /FlateDecode")
        ),
        "arrays-deep": raw_pdf(_CATALOG, _PAGES, _page(b"/X %s" % (b"[" * LEVELS)), b"null"),
        "encrypted": files.pdf([[files.PROSE]], encrypt_flag=True),
        "no-pages": raw_pdf(_CATALOG, b"<< /Type /Pages /Count 0 /Kids [] >>"),
        "pages-60000": files.pdf([["Leaf"]] * 60_000),
    }


# Office, books, XML

_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BILLION_LAUGHS = f'<!DOCTYPE x [<!ENTITY l0 "ha">{_LAUGHS}]>'
QUADRATIC = f'<!DOCTYPE x [<!ENTITY l9 "{"ha" * 50_000}">]>'


def reading_entity(path: str) -> str:
    return f'<!DOCTYPE x [<!ENTITY l9 SYSTEM "file://{path}">]>'


def _with_entity(data: bytes, part: str, declaration: str, tag: bytes) -> bytes:
    """The same package, with the declaration in front of a part and its entity inside a tag."""
    members: dict[str, bytes | str] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if name == part:
                content = declaration.encode() + content.replace(tag, tag + b"&l9;", 1)
            members[name] = content
    return files.zipped(members, stored=["mimetype"])


def _inflated(data: bytes, part: str, filler: bytes, megabytes: int) -> bytes:
    """The same package with a part that grows to that size when it is unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return grown_zip(members, part, filler, megabytes)


def xlsx(*, dimension: str = "A1:B2", cells: str | None = None) -> bytes:
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    rows = cells or (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Harbour</t></is></c></row>'
        '<row r="2"><c r="A2" t="inlineStr"><is><t>Kelpwick</t></is></c></row>'
    )
    return files.zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook {space} xmlns:r="{relations}"><sheets>'
            '<sheet name="Quays" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f'<worksheet {space}><dimension ref="{dimension}"/>'
            f"<sheetData>{rows}</sheetData></worksheet>",
        }
    )


def office_forms(secret: str) -> dict[str, bytes]:
    """`secret` is the path of a file that external entities try to read."""
    word = files.docx(files.word_paragraph(files.PROSE))
    corner = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row>'
    deep = "<w:sdt><w:sdtContent>" * LEVELS + "</w:sdtContent></w:sdt>" * LEVELS
    entities = {
        "laughs": BILLION_LAUGHS,
        "quadratic": QUADRATIC,
        "external": reading_entity(secret),
    }
    made = {}
    for kind, declaration in entities.items():
        made[f"{kind}.docx"] = _with_entity(word, "word/document.xml", declaration, b"<w:t>")
        made[f"{kind}.xlsx"] = _with_entity(xlsx(), "xl/worksheets/sheet1.xml", declaration, b"<t>")
    return made | {
        "inflated.docx": _inflated(word, "word/document.xml", b"<w:p/>", 2100),
        "inflated.xlsx": _inflated(xlsx(), "xl/worksheets/sheet1.xml", b"<row></row>", 3),
        "corners.xlsx": xlsx(
            cells='<row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c></row>' + corner
        ),
        "deep.docx": files.docx(deep),
        "encrypted.docx": encrypted_ole(),
    }


def encrypted_ole() -> bytes:
    """A compound file as Office writes it under a password: its only stream is the cipher."""
    return compound(Storage({"EncryptedPackage": random.Random(5).randbytes(4096)}))


# Text


def text_forms(secret: str) -> dict[str, bytes]:
    prose = files.PROSE
    wide = prose.encode("utf-16-le")
    surrogates = {"cell_type": "markdown", "source": f"\ud800 {prose} \udfff"}
    parts = [b"From: a@example.org\r\nSubject: depth\r\n"]
    parts += [
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (level, level)
        for level in range(LEVELS)
    ]
    return {
        "empty.txt": b"",
        "blank.txt": b" \t\r\n" * 500,
        "mark.txt": b"\xef\xbb\xbf",
        "nul.txt": bytes(100_000),
        "invalid.txt": prose.encode() + b"\xff\xfe\xc0\xaf\xed\xa0\x80",
        "wide.txt": wide,
        "control.txt": bytes(range(32)) * 40,
        "one-line.txt": b"x" * (50 << 20),
        "quote-open.csv": b'a,b\n1,"' + b"never closed, " * 200,
        "deep.html": b"<div>" * LEVELS + prose.encode() + b"</div>" * LEVELS,
        "deep.xml": b"<a>" * 1500 + b"deep" + b"</a>" * 1500,
        "deep.json": b"[" * LEVELS + b"]" * LEVELS,
        "deep.ipynb": b"[" * 100_000,
        "deep.rtf": b"{\\rtf1 " + b"{\\b " * LEVELS + b"deep" + b"}" * LEVELS + b"}",
        "deep-10000.eml": (b"".join(parts) + b"Content-Type: text/plain\r\n\r\nbottom\r\n"),
        "laughs.xml": f"{BILLION_LAUGHS}<x>&l9;</x>".encode(),
        "external.xml": f"{reading_entity(secret)}<x>&l9; {prose}</x>".encode(),
        "surrogates.ipynb": files.notebook(surrogates),
        "entities.html": b"<p>&#xD800; &#x110000; &#0; &nosuch; " + prose.encode(),
        "headers.eml": b"From: a\r\n" * 20_000 + b"\r\n" + prose.encode(),
        "names.eml": files.mail(prose, attachments={"../../etc/climb.txt": prose.encode()}),
    }
