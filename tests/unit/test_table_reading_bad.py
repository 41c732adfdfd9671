"""What is no table is refused in words that help; nothing half-written remains."""

from __future__ import annotations

import gzip
import os
import random
import zipfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.errors import (
    Damaged,
    Encrypted,
    LimitExceeded,
    NoText,
    SecondlookError,
    TableError,
    Unsupported,
)
from secondlook.tables import csv_files as dialects
from secondlook.tables import formats as task
from secondlook.tables import read as kinds
from tests.support.tables import read_all, read_text

if TYPE_CHECKING:
    from pathlib import Path

NOISE = random.Random(5).randbytes(5000)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LOCKED = OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le")


@pytest.mark.parametrize(
    ("name", "data", "kind", "said"),
    [
        ("t.csv", b"", NoText, "empty"),
        ("t.csv", b"a,b,c\n", NoText, "a header and no rows"),
        ("t.csv", NOISE, Unsupported, "binary"),
        ("t.csv", b"%PDF-1.7", Unsupported, "PDF"),
        ("t.xlsx", b"a,b\n1,2\n", Damaged, "something else"),
        ("t.xlsx", b"PK\x03\x04 and nothing more", Damaged, "zip"),
        ("t.xlsx", LOCKED, Encrypted, "password"),
        ("t.xls", OLE + b"\0" * 600, Damaged, "spreadsheet"),
        ("t.parquet", b"PAR1 nonsense PAR1", Damaged, "Parquet"),
        ("t.sqlite", b"SQLite format 3\x00 and no more", Damaged, "SQLite"),
        ("t.csv.gz", gzip.compress(b"a,b\n" * 10_000)[:-30], Damaged, "cut off"),
        ("t.jsonl", b'{"a": 1}\n{"a":\n', Damaged, "JSON"),
        ("t.jsonl", b"hello\n", TableError, "no list of objects"),
        ("t.json", b"[1, 2, 3]", TableError, "no list of objects"),
        ("t.csv", b"x" * (17 << 20), LimitExceeded, "a line of more than"),
    ],
)  # fmt: skip
def test_no_table(
    tmp_path: Path, name: str, data: bytes, kind: type[SecondlookError], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        read_text(tmp_path, data, name)
    assert str(tmp_path) not in caught.value.message


def test_parquet_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(one) * 9 for one in range(5000)]}), path)
    data = bytearray(path.read_bytes())
    data[100:1500] = NOISE[:1400]
    path.write_bytes(data)
    with pytest.raises(Damaged, match="damaged"):
        read_all(path)


def test_a_zip_that_claims_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 2_000_000)
    monkeypatch.setattr("secondlook.tables.formats._MOST_EXPANDED", 1_000_000)
    with pytest.raises(LimitExceeded, match="expands"):
        read_all(path)


def test_a_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"0" * 20_000_000))
    monkeypatch.setattr(kinds, "_ALWAYS_ALLOWED", 1_000_000)
    with pytest.raises(LimitExceeded, match="expands"):
        read_all(path)


def test_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    unpacked = kinds.unpacked

    def slow(source: Path, stage: Path, *, most_bytes: int) -> Path:
        os.utime(source, (1, 1))
        return unpacked(source, stage, most_bytes=most_bytes)

    monkeypatch.setattr(task, "unpacked", slow)
    with pytest.raises(TableError, match="changed while"):
        read_all(path)


def test_a_quote_that_swallows_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell would grow beyond every bound; so quotes are taken for ordinary characters."""
    monkeypatch.setattr(dialects, "LONGEST_LINE", 1000)
    table = read_text(tmp_path, 'a,b\n1,2\n"3,4\n' + "5,6\n" * 1000)
    assert len(table.rows) == 1002
    assert table.rows[1] == ('"3', 4)
    assert any("quotes do not pair up" in warning for warning in table.warnings)


def test_characters_that_cannot_be_decoded_are_counted(tmp_path: Path) -> None:
    broken = "name,x\ncafé au lait,1\n".encode("utf-16") + b"\x00\xd8\n\x00"
    table = read_text(tmp_path, broken)
    assert table.rows[0] == ("café au lait", 1)
    assert any("could not be decoded" in warning for warning in table.warnings)
