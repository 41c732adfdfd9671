"""The bytes of a response as they arrive: unpacked, and cut where they become too many."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import TYPE_CHECKING

from secondlook.errors import WebSearchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

# Other codecs of Python are slow on hostile input (idna, punycode) or no charsets at all.
_CHARSET = re.compile(
    r"(utf|iso|windows|cp|koi8|gb|big5|euc|shift|latin|mac|us-ascii|ascii|tis|x-sjis)[\w.-]{0,24}",
    re.IGNORECASE,
)
_AS_BROWSERS_DO = dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii"), "cp1252")
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unpacker:
    """Undoes gzip or deflate and never makes more than `limit` bytes of what it is given."""

    def __init__(self, encoding: str, *, limit: int) -> None:
        self._limit = limit
        self._out = bytearray()
        self._encoding = encoding.strip().lower()
        self._inflate = None if self._encoding in {"", "identity"} else _inflater(self._encoding)
        self.is_cut = False

    def feed(self, data: bytes) -> None:
        room = self._limit - len(self._out)
        # One byte more than fits tells a body that ends at the limit from one that goes on.
        plain = data[: room + 1] if self._inflate is None else self._inflated(data, room + 1)
        self.is_cut = len(plain) > room
        self._out += plain[:room]

    def _inflated(self, data: bytes, most: int) -> bytes:
        inflate = self._inflate
        if inflate is None or inflate.eof:
            return b""
        try:
            return inflate.decompress(data, most)
        except zlib.error:
            if self._encoding != "deflate" or self._out:
                raise
        # Some servers send deflate without its header.
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._inflate.decompress(data, most)

    @property
    def body(self) -> bytes:
        return bytes(self._out)


def _inflater(encoding: str) -> zlib._Decompress:
    if encoding in {"gzip", "x-gzip"}:
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return zlib.decompressobj()
    raise WebSearchError(f"the page is packed as {encoding!r}, which was not asked for")


async def read_body(
    chunks: AsyncIterable[bytes], encoding: str, *, limit: int
) -> tuple[bytes, bool]:
    """The first `limit` bytes, and whether there was more. Stops reading there."""
    unpacker = Unpacker(encoding, limit=limit)
    received = 0
    try:
        async for chunk in chunks:
            received += len(chunk)
            unpacker.feed(chunk)
            if unpacker.is_cut or received > 2 * limit:
                return unpacker.body, True
    except zlib.error as error:
        raise WebSearchError(f"the page is packed and damaged: {error}") from error
    return unpacker.body, False


def as_utf8(body: bytes, charset: str) -> bytes:
    """The text in UTF-8 with its mark, where that is certain; else as it came.

    What is valid UTF-8 with letters beyond ASCII is UTF-8, whatever the server says. Otherwise
    the server's charset holds if the bytes agree; if not, the parser looks at the page itself.
    """
    if body.startswith(_BOMS) or body.isascii():
        return body
    for name in ("utf-8", _AS_BROWSERS_DO.get(charset.lower(), charset)):
        if (text := _decoded(body, name)) is not None:
            return codecs.BOM_UTF8 + text.encode("utf-8", "replace")
    return body


def _decoded(body: bytes, charset: str) -> str | None:
    if not _CHARSET.fullmatch(charset):
        return None
    try:
        # Incremental: a page that was cut may end within a letter.
        return codecs.getincrementaldecoder(charset)().decode(body)
    except (LookupError, UnicodeError):
        return None
