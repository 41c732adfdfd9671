"""Tables as documents: short ones are text, long ones are described by a card."""

from __future__ import annotations

import io
import json
import sqlite3
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.retrieval.parse.extract import extract, extract_bytes
from secondlook.retrieval.parse.text import MOST_ROWS, SHOWN_ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.document import Extracted

SENTENCE = "The weir was opened twice that night and the pilot wrote down each time he heard it."


def read(data: bytes | str, name: str) -> Extracted:
    [parsed] = extract_bytes(data.encode() if isinstance(data, str) else data, name)
    assert parsed.extracted is not None, parsed.error
    return parsed.extracted


def csv_of(rows: int, cell: str = "quay") -> str:
    return "berth,depth\n" + "".join(f"{cell} {n},{n / 10}\n" for n in range(rows))


def database(path: Path, *statements: str, wal: bool = False) -> bytes:
    with sqlite3.connect(path) as connection:
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path.read_bytes()


def test_a_short_table_is_text_row_by_row() -> None:
    found = read(csv_of(MOST_ROWS), "depths.csv")
    assert found.text.endswith(f"berth: quay {MOST_ROWS - 1}; depth: {(MOST_ROWS - 1) / 10}")
    assert not found.card


def test_a_long_table_is_described() -> None:
    found = read(csv_of(MOST_ROWS + 1), "depths.csv")
    assert found.card
    assert found.text.startswith(f"A table of {MOST_ROWS + 1:,} rows and 2 columns")
    assert "Columns: berth, depth." in found.text
    assert f"berth: quay {SHOWN_ROWS - 1};" in found.text
    assert f"quay {SHOWN_ROWS};" not in found.text


def test_rows_of_sentences_stay_searchable() -> None:
    found = read(csv_of(MOST_ROWS + 1, SENTENCE), "reports.csv")
    assert not found.card
    assert found.text.count("\n") == MOST_ROWS + 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_large_file_is_described_by_its_beginning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoding: str
) -> None:
    from secondlook.retrieval.parse import source
    from secondlook.retrieval.parse import text as beginning

    monkeypatch.setattr(source, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(beginning, "_BEGINNING_BYTES", 1111)
    file = tmp_path / "depths.csv"
    file.write_text(csv_of(300, "Köln quay"), encoding=encoding)
    [parsed] = extract(file)
    assert parsed.extracted is not None, parsed.error
    assert parsed.extracted.card
    assert "A table of about 301 rows and 2 columns" in parsed.extracted.text
    assert "berth: Köln quay 3; depth: 0.3" in parsed.extracted.text
    assert not parsed.extracted.notes


def test_parquet() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"ship": ["Anna", None], "tons": [1.0, 2.5], "raw": [b"x", b""]}), out)
    found = read(out.getvalue(), "ships.parquet")
    assert found.kind == "parquet"
    assert found.text == ("ship | tons | raw\nship: Anna; tons: 1; raw: 1 bytes\ntons: 2.5")


@pytest.mark.parametrize("wal", [False, True])
def test_sqlite_shows_its_tables_and_nothing_else(tmp_path: Path, wal: bool) -> None:
    data = database(
        tmp_path / "a.db",
        "CREATE TABLE ships (name TEXT, tons REAL)",
        "INSERT INTO ships VALUES ('Anna', 1.5), ('Berta', NULL)",
        'CREATE TABLE "odd ""name" (x)',
        "CREATE VIEW all_ships AS SELECT * FROM ships",
        wal=wal,
    )
    found = read(data, "harbour.db")
    assert found.kind == "sqlite"
    assert found.text == (
        'ships\n\nname | tons\nname: Anna; tons: 1.5\nname: Berta\n\nodd "name\n\nx'
    )
    assert [found.text[h.start : h.end] for h in found.headings] == ["ships", 'odd "name']


def test_long_json_lines_are_described() -> None:
    lines = "\n".join(json.dumps({"a": n, "b": None, "c": ["x"]}) for n in range(MOST_ROWS + 1))
    found = read(lines, "a.jsonl")
    assert found.card
    assert "Columns: a, b, c." in found.text
    assert 'a: 19; c: ["x"]' in found.text
