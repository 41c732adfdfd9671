"""Tables as documents: short ones are text, long ones are described by a card."""

from __future__ import annotations

import io
import json
import sqlite3
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.errors import Damaged, ExtractionError, NoText
from secondlook.retrieval.parse.extract import extract, extract_bytes
from secondlook.retrieval.parse.text import MOST_ROWS, SHOWN_ROWS
from tests.support.workbooks import write_workbook

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.document import Extracted

SENTENCE = "The weir was opened twice that night and the pilot wrote down each time he heard it."


def read(data: bytes | str, name: str) -> Extracted:
    [parsed] = extract_bytes(data.encode() if isinstance(data, str) else data, name)
    assert parsed.extracted is not None, parsed.error
    return parsed.extracted


def error_of(data: bytes, name: str) -> ExtractionError:
    [parsed] = extract_bytes(data, name)
    assert parsed.error is not None
    return parsed.error


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


def test_rows_without_names_are_counted_too() -> None:
    rows = "".join(f"{n},{n + 1}\n" for n in range(MOST_ROWS + 5))
    found = read(rows, "numbers.csv")
    assert f"A table of {MOST_ROWS + 5:,} rows" in found.text
    assert "Columns" not in found.text


def test_rows_of_sentences_stay_searchable() -> None:
    found = read(csv_of(MOST_ROWS + 1, SENTENCE), "reports.csv")
    assert not found.card
    assert found.text.count("\n") == MOST_ROWS + 1


def test_even_sentences_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from secondlook.retrieval.parse import text as rows

    monkeypatch.setattr(rows, "MOST_PROSE_ROWS", MOST_ROWS + 10)
    found = read(csv_of(MOST_ROWS + 50, SENTENCE), "reports.csv")
    assert found.card
    assert f"A table of {MOST_ROWS + 50:,} rows" in found.text


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


def test_a_workbook_describes_its_long_sheets_only(tmp_path: Path) -> None:
    sheets = {
        name: [["name", "value"], *([f"n{n}", n] for n in range(count))]
        for name, count in (("Short", 3), ("Long", MOST_ROWS + 1))
    }
    book = write_workbook(tmp_path / "book.xlsx", sheets)
    found = read(book.read_bytes(), "book.xlsx")
    assert found.card
    assert "name: n2; value: 2\n\nLong\n\nA table of 2,001 rows" in found.text


def test_parquet() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"ship": ["Anna", None], "tons": [1.0, 2.5], "raw": [b"x", b""]}), out)
    found = read(out.getvalue(), "ships.parquet")
    assert found.kind == "parquet"
    assert found.text == ("ship | tons | raw\nship: Anna; tons: 1; raw: 1 bytes\ntons: 2.5")


def test_a_long_parquet_file_is_described() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"n": list(range(MOST_ROWS + 1))}), out)
    found = read(out.getvalue(), "numbers.parquet")
    assert found.card
    assert "A table of 2,001 rows and 1 columns" in found.text


def test_a_truncated_parquet_file_is_damaged() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"n": [1, 2]}), out)
    assert isinstance(error_of(out.getvalue()[:-9], "n.parquet"), Damaged)


def test_a_text_that_begins_like_parquet_is_text() -> None:
    assert read("PAR1 is how this letter begins.", "a.txt").kind == "text"


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


def test_a_large_database_is_read_where_it_lies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from secondlook.retrieval.parse import source

    monkeypatch.setattr(source, "IN_MEMORY_BYTES", 100)
    database(tmp_path / "a.db", "CREATE TABLE t (x)", "INSERT INTO t VALUES (7)")
    [parsed] = extract(tmp_path / "a.db")
    assert parsed.extracted is not None
    assert parsed.extracted.text.endswith("x: 7")


def test_a_database_without_tables_holds_no_text(tmp_path: Path) -> None:
    data = database(tmp_path / "a.db", "CREATE VIEW v AS SELECT 1 AS one")
    assert isinstance(error_of(data, "a.db"), NoText)


def test_short_json_lines_are_text() -> None:
    assert read('{"a": 1}\n{"a": 2}\n', "a.jsonl").text == '{"a": 1}\n{"a": 2}'


def test_long_json_lines_are_described() -> None:
    lines = "\n".join(json.dumps({"a": n, "b": None, "c": ["x"]}) for n in range(MOST_ROWS + 1))
    found = read(lines, "a.jsonl")
    assert found.card
    assert "Columns: a, b, c." in found.text
    assert 'a: 19; c: ["x"]' in found.text


def test_long_lines_that_are_no_objects_stay_text() -> None:
    found = read("\n".join(["[1]"] * (MOST_ROWS + 1)), "a.jsonl")
    assert not found.card
    assert read("\n".join(["{"] * (MOST_ROWS + 1)), "a.jsonl").text.startswith("{")


def test_large_json_lines_are_described_by_their_beginning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from secondlook.retrieval.parse import source

    monkeypatch.setattr(source, "IN_MEMORY_BYTES", 100)
    (tmp_path / "a.jsonl").write_text("\n".join(['{"a": 1}'] * 50), encoding="utf-8")
    [parsed] = extract(tmp_path / "a.jsonl")
    assert parsed.extracted is not None
    assert "about 49 rows" in parsed.extracted.text


def test_a_long_array_of_objects_is_described() -> None:
    values = [{"a": n} for n in range(MOST_ROWS + 1)]
    assert "A table of 2,001 rows" in read(json.dumps(values), "a.json").text
    for other in ([*values, 3], values[:100], [*values, {"a": SENTENCE}]):
        found = read(json.dumps(other), "a.json")
        assert found.card == (other[-1] == {"a": SENTENCE})
    assert not read("[" + "{" * (MOST_ROWS + 1), "a.json").card
    prose = [{"a": SENTENCE}] * (MOST_ROWS + 1)
    assert not read(json.dumps(prose), "a.json").card
