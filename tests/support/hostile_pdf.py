"""PDF files that are broken or built to harm, written object by object."""

from __future__ import annotations

import random
import zlib

from tests.support import files

LEVELS = 10_000


def raw_pdf(*objects: bytes, trailer: str = "/Root 1 0 R") -> bytes:
    """A PDF of these objects, numbered from 1, with a correct table."""
    return files._assembled(objects, f"/Size {len(objects) + 1} {trailer}")


def many_pages_pdf(count: int) -> bytes:
    """Pages with a word each, that share one font."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * page) for page in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page in range(count):
        content = b"BT /F1 11 Tf 72 720 Td (Leaf %d) Tj ET" % page
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * page)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return raw_pdf(*objects)


_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_FONT = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"


def _page(
    more: bytes = b"/Contents 4 0 R", box: bytes = b"[0 0 612 792]", parent: bytes = b"2 0 R"
) -> bytes:
    return b"<< /Type /Page /Parent %s /MediaBox %s /Resources %s %s >>" % (
        parent,
        box,
        _FONT,
        more,
    )


def _stream(content: bytes, length: int | None = None, more: bytes = b"") -> bytes:
    said = len(content) if length is None else length
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (said, more, content)


_WORDS = b"BT /F1 11 Tf 72 720 Td (The ferry leaves at seven.) Tj ET"
_PAGES = b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"


def pdf_forms() -> dict[str, bytes]:
    good = files.pdf([[files.PROSE]])
    table = good.rindex(b"xref\n0")
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
        "flate-bomb": raw_pdf(_CATALOG, _PAGES, _page(), _bomb_stream()),
        "arrays-deep": raw_pdf(_CATALOG, _PAGES, _page(b"/X %s" % (b"[" * LEVELS)), b"null"),
        "encrypted": files.pdf([[files.PROSE]], encrypt_flag=True),
        "no-pages": raw_pdf(_CATALOG, b"<< /Type /Pages /Count 0 /Kids [] >>"),
        "pages-60000": many_pages_pdf(60_000),
    }


def _bomb_stream() -> bytes:
    """A page whose drawing instructions grow to 200 MB of blanks."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(200)) + packer.flush()
    return _stream(packed, more=b"/Filter /FlateDecode")
