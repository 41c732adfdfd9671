"""Archives: members as documents, and everything that an archive can be made to do to us."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText
from secondlook.retrieval.parse.containers import harmless, is_hidden
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.source import Parsed, ParseLimits
from tests.support import files


def texts(parsed: list[Parsed]) -> dict[str, str]:
    return {item.member: item.extracted.text for item in parsed if item.extracted}


def test_zip_members_are_documents() -> None:
    inner = files.zipped({"deep.md": "# Deep"})
    data = files.zipped(
        {
            "a.txt": "one", "dir/b.html": "<html><body>two</body></html>", "dir/inner.zip": inner,
            "__MACOSX/a.txt": "x", ".hidden": "x", "dir/.git/config": "x", "movie.mp4": b"x",
            "../../up.txt": "harmless", "dir/": "", "C:\\win\\c.txt": "windows",
        }
    )  # fmt: skip
    assert texts(extract_bytes(data, "a.zip")) == {
        "a.txt": "one",
        "dir/b.html": "two",
        "dir/inner.zip/deep.md": "# Deep",
        "up.txt": "harmless",
        "win/c.txt": "windows",
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_members_are_documents(mode: str) -> None:
    data = files.tarred({"x/y.txt": b"words", "x/.hidden.txt": b"no", "x/y2.md": b"# M"}, mode=mode)
    assert texts(extract_bytes(data, "a.tar")) == {"x/y.txt": "words", "x/y2.md": "# M"}


def test_a_bad_member_costs_that_member() -> None:
    data = bytearray(
        files.zipped({"good.txt": "fine", "locked.txt": "secret", "bad.pdf": "%PDF-1.4 x"})
    )
    directory = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[directory + 8] |= 1  # the flag that says: encrypted
    local = data.index(b"PK\x03\x04", 10)
    data[local + 6] |= 1
    parsed = {item.member: item for item in extract_bytes(bytes(data), "a.zip")}
    assert parsed["good.txt"].extracted is not None
    assert isinstance(parsed["locked.txt"].error, Encrypted)
    assert isinstance(parsed["bad.pdf"].error, Damaged)


def test_bombs_are_refused_before_they_are_opened() -> None:
    limits = ParseLimits(expanded_bytes=10 << 20)
    bomb = files.zip_bomb(32 << 20)
    assert len(bomb) < 1 << 20
    parsed = extract_bytes(bomb, "bomb.zip", limits)
    assert isinstance(parsed[0].error, LimitExceeded)
    assert "expands" in str(parsed[0].error)
    office = files.docx("<w:p/>", extra={"word/media/big.bin": "0" * (11 << 20)})
    assert isinstance(extract_bytes(office, "a.docx", limits)[0].error, LimitExceeded)
    squeezed = gzip.compress(bytes(32 << 20))
    assert isinstance(extract_bytes(squeezed, "a.gz", limits)[0].error, LimitExceeded)
    tar = files.tarred({"a.txt": b"a", "z.txt": bytes(32 << 20)}, mode="w:gz")
    parsed = extract_bytes(tar, "a.tgz", limits)
    assert isinstance(parsed[0].error, LimitExceeded)
    assert texts(parsed) == {"a.txt": "a"}


def test_members_and_depth_are_limited() -> None:
    many = files.zipped({f"{number}.txt": f"n {number}" for number in range(30)})
    parsed = extract_bytes(many, "a.zip", ParseLimits(members=20))
    assert isinstance(parsed[0].error, LimitExceeded)
    assert len(parsed) == 21
    nested = b"core"
    for _ in range(12):
        nested = files.zipped({"inner.zip" if nested != b"core" else "core.txt": nested})
    parsed = extract_bytes(nested, "a.zip")
    assert len(parsed) == 1
    assert isinstance(parsed[0].error, LimitExceeded)
    assert "nested" in str(parsed[0].error)


def test_empty_and_truncated_archives() -> None:
    assert isinstance(extract_bytes(files.zipped({}), "a.zip")[0].error, NoText)
    whole = files.tarred({"a.txt": b"x" * 2000, "b.txt": b"y" * 30_000})
    parsed = {item.member: item for item in extract_bytes(whole[:9000], "a.tar")}
    assert parsed["a.txt"].extracted is not None
    assert any(isinstance(item.error, Damaged) for item in parsed.values())
    squeezed = gzip.compress(b"words " * 1000)
    assert isinstance(extract_bytes(squeezed[:-20], "a.gz")[0].error, Damaged)
    assert isinstance(extract_bytes(squeezed[:12], "a.gz")[0].error, Damaged)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/etc/passwd", "etc/passwd"),
        ("..\\..\\x", "x"),
        ("a/./b", "a/b"),
        ("../", "unnamed"),
        ("a\nb\x00c", "a_b_c"),
        ("\udcff.txt", "?.txt"),
    ],
)
def test_names_are_harmless(name: str, expected: Any) -> None:
    assert harmless(name) == expected


def test_hidden_members() -> None:
    assert is_hidden(".x")
    assert is_hidden("a/.x/b")
    assert is_hidden("__MACOSX/b")
    assert is_hidden("a.exe")
    assert not is_hidden("./a/b.txt")
    assert not is_hidden("../b.txt")
