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
