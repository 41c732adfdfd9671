from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import WebSearchError
from secondlook.retrieval.parse.source import decode
from secondlook.retrieval.web.fetch import Unpacker, as_utf8, read_body

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WORDS = b"The lighthouse keeper wrote every evening. " * 50


def read(
    data: bytes, encoding: str = "", *, limit: int = 1 << 20, size: int = 7
) -> tuple[bytes, bool]:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    return asyncio.run(read_body(chunks(), encoding, limit=limit))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", WORDS),
        ("identity", WORDS),
        ("gzip", gzip.compress(WORDS)),
        (" X-GZIP ", gzip.compress(WORDS)),
        ("deflate", zlib.compress(WORDS)),
        ("deflate", raw_deflate(WORDS)),
    ],
)
def test_what_servers_pack_is_unpacked(encoding: str, packed: bytes) -> None:
    assert read(packed, encoding, size=1000) == (WORDS, False)


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_body_is_cut_at_the_limit_and_says_so(encoding: str, more: int) -> None:
    packed = {"": WORDS, "gzip": gzip.compress(WORDS), "deflate": zlib.compress(WORDS)}[encoding]
    limit = len(WORDS) + more
    body, is_cut = read(packed, encoding, limit=limit, size=100_000)
    assert body == WORDS[:limit]
    assert is_cut == (more < 0)


def test_a_bomb_never_unfolds() -> None:
    packed = gzip.compress(bytes(50_000_000))
    unpacker = Unpacker("gzip", limit=1000)
    tracemalloc.start()
    try:
        unpacker.feed(packed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert unpacker.is_cut
    assert len(unpacker.body) == 1000


def test_what_never_ends_and_yields_nothing_is_left() -> None:
    empty_blocks = b"\x00\x00\x00\xff\xff" * 10_000  # stored blocks of deflate, all of them empty
    assert read(empty_blocks, "deflate", limit=1000, size=500) == (b"", True)


def test_what_follows_the_end_of_the_packing_is_ignored() -> None:
    assert read(gzip.compress(WORDS) + b"junk after the end", "gzip") == (WORDS, False)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_damaged_packing_is_a_failure(encoding: str) -> None:
    with pytest.raises(WebSearchError, match="damaged"):
        read(b"\xff\xfenothing of the kind", encoding)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_packing_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(WebSearchError, match="not asked for"):
        read(b"x", encoding)


@pytest.mark.parametrize(
    ("text", "written", "declared"),
    [
        ("Möwe", "utf-8", "utf-8"),
        ("Möwe", "utf-8", "iso-8859-1"),
        ("Möwe", "utf-8", ""),
        ("Möwe – “so”", "cp1252", "ISO-8859-1"),  # noqa: RUF001
        ("Маяк стоит", "cp1251", "windows-1251"),
        ("灯台の光", "shift_jis", "Shift_JIS"),
        ("灯塔的光", "gb18030", "gb18030"),
        ("plain", "ascii", "utf-16"),
    ],
)
def test_the_text_survives_its_charset(text: str, written: str, declared: str) -> None:
    assert decode(as_utf8(text.encode(written), declared))[0] == text


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "zip", "rot13", "", "no"]
)
def test_odd_charsets_are_left_to_the_parser(charset: str) -> None:
    body = "Möwen über Öl".encode("cp1252")
    assert as_utf8(body, charset) == body


def test_bytes_that_contradict_their_charset_are_left_to_the_parser() -> None:
    body = b"\x81\x8d caf\xe9"
    assert as_utf8(body, "iso-8859-1") == body


def test_a_page_cut_within_a_letter_is_still_utf8() -> None:
    body = "Leuchttürme und Mö".encode()[:-1]
    text, notes = decode(as_utf8(body, "iso-8859-1"))
    assert text.startswith("Leuchttürme")
    assert not notes


def test_a_mark_at_the_start_decides() -> None:
    body = "Möwe".encode("utf-16")
    assert as_utf8(body, "iso-8859-1") == body
