"""In which encoding a text file is written; whether it is text at all."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from secondlook.errors import Unsupported
from secondlook.retrieval.parse.charset import is_text

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE_BYTES = 256 << 10
_BLOCK = 4 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's mark, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LEGACY = (
    "cp1252", "cp932", "gb18030", "big5", "euc_jp", "cp949", "koi8_r",
    "cp1251", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256",
)  # fmt: skip
_HIGH_LINE = re.compile(rb"[^\n\r]{0,200}[\x80-\xff][^\n\r]{0,200}")


def encoding_of(path: Path) -> str:
    """By its mark, by what its bytes allow, else by likelihood. Raises Unsupported for binaries."""
    with path.open("rb") as stream:
        sample = stream.read(SAMPLE_BYTES)
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    if not is_text(sample):
        raise Unsupported("it holds binary data, not a table", hint="save it as CSV or Parquet")
    return _wide(sample) or _narrow(path)


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    if b"\x00" not in sample:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 5 < len(sample):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _narrow(path: Path) -> str:
    odd_ones = _not_utf8(path)
    if not odd_ones:
        return "utf-8"
    if not re.search(rb"[\x80-\xff]{3,}", odd_ones):
        return "cp1252"  # single accents in Latin words: detectors confuse these
    import charset_normalizer

    best = charset_normalizer.from_bytes(odd_ones, cp_isolation=list(_LEGACY)).best()
    return best.encoding if best is not None else "cp1252"


def _not_utf8(path: Path) -> bytes:
    """Some of what is no ASCII, where the file is no UTF-8; nothing where it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    gathered: list[bytes] = []
    with path.open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                # Told many times faster than it is decoded, and most tables hold little else.
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            stream.seek(0)
            while (block := stream.read(_BLOCK)) and sum(map(len, gathered)) < SAMPLE_BYTES:
                gathered.extend(_HIGH_LINE.findall(block))
    return b"\n".join(gathered)[:SAMPLE_BYTES]
