"""Every kind of file becomes tables with typed columns."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter  # type: ignore[import-untyped]

from tests.support.tables import read_all, read_one, read_text

if TYPE_CHECKING:
    from pathlib import Path


at = datetime.fromisoformat


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for line, row in enumerate(rows):
            for column, cell in enumerate(row):
                if isinstance(cell, date):
                    sheet.write_datetime(line, column, cell, day)
                elif cell is not None:
                    sheet.write(line, column, cell)
    book.close()
    return path


def test_missing_values_are_those_of_pandas(tmp_path: Path) -> None:
    table = read_text(tmp_path, 'a,b,c\nNA,x,1\n1,n/a,-\n"",-,3\n')
    assert table.types == {"a": "integer", "b": "text", "c": "integer"}
    assert table.rows == [(None, "x", 1), (1, None, None), (None, "-", 3)]
    assert any("taken for missing" in warning for warning in table.warnings)


def test_later_rows_have_their_say(tmp_path: Path) -> None:
    """The sample is the first 20,000 rows; what comes after changes three of the columns."""
    lines = ["1,2,2020-01-05,,5"] * 30_000 + ["x,2.5,2020-01-05,7,5", "1,3,-,8,5"]
    table = read_text(tmp_path, "a,b,c,d,e\n" + "\n".join(lines) + "\n")
    assert table.types == {
        "a": "text", "b": "number", "c": "date", "d": "integer", "e": "integer"
    }  # fmt: skip
    assert table.rows[-2] == ("x", 2.5, date(2020, 1, 5), 7, 5)
    assert table.rows[-1] == ("1", 3.0, None, 8, 5)
    assert table.rows[0] == ("1", 2.0, date(2020, 1, 5), None, 5)


def test_rows_keep_their_order(tmp_path: Path) -> None:
    """Threads read a large file in parts; dashes for what is missing once made DuckDB mix them."""
    rows = (f"{at},{'-' if at % 7 == 0 else at % 5},{'true' if at % 2 else 'False'}"
            for at in range(150_000))  # fmt: skip
    table = read_text(tmp_path, "at,some,odd\n" + "\n".join(rows) + "\n")
    assert table.types == {"at": "integer", "some": "integer", "odd": "boolean"}
    assert table.column("at") == list(range(150_000))


def test_every_sheet_of_a_workbook(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "book.xlsx",
        {
            "Q1": [
                ["Our report"],
                [],
                [None, "name", "n", "when", "ok"],
                [None, "x", 1.5, date(2020, 1, 5), True],
                [],
                [None, "y", 2, date(2020, 1, 6), False],
            ],
            "empty": [],
            "plain": [["a", "b"], [1, "007"], [2, "12"]],
            "numbers": [[1, 2.5], [3, 4.5]],
        },
    )
    first, plain, numbers = read_all(path)
    assert [first.sheet, plain.sheet, numbers.sheet] == ["Q1", "plain", "numbers"]
    assert first.types == {"name": "text", "n": "number", "when": "date", "ok": "boolean"}
    assert first.rows == [("x", 1.5, date(2020, 1, 5), True), ("y", 2.0, date(2020, 1, 6), False)]
    assert any("above the header" in warning for warning in first.warnings)
    assert plain.rows == [(1, "007"), (2, "12")]
    assert numbers.names == ["column_1", "column_2"]
    assert len(numbers.rows) == 2


def test_headers_over_merged_cells_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "merged.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("s")
    sheet.merge_range(0, 1, 0, 2, "Sales")
    sheet.write_row(1, 0, ["region", "Q1", "Q2"])
    sheet.write_row(2, 0, ["N", 1, 2])
    sheet.write_row(3, 0, ["S", 3, 4])
    book.close()
    table = read_one(path)
    assert table.names == ["region", "Sales Q1", "Sales Q2"]
    assert table.rows == [("N", 1, 2), ("S", 3, 4)]


ODS_CONTENT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">
<office:body><office:spreadsheet><table:table table:name="Blatt">{rows}</table:table>
</office:spreadsheet></office:body></office:document-content>"""
ODS_CELL = (
    '<table:table-cell office:value-type="{kind}" {value}>'
    "<text:p>{text}</text:p></table:table-cell>"
)


def test_an_open_document_sheet(tmp_path: Path) -> None:
    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return ODS_CELL.format(kind="string", value="", text=value)
        return ODS_CELL.format(kind="float", value=f'office:value="{value}"', text=value)

    table_rows: list[list[str | float]] = [["name", "n"], ["x", 1.5], ["y", 2]]
    rows = "".join(
        f"<table:table-row>{''.join(cell(one) for one in row)}</table:table-row>"
        for row in table_rows
    )
    path = tmp_path / "t.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", ODS_CONTENT.format(rows=rows))
        archive.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest xmlns:manifest='
            '"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    table = read_one(path)
    assert (table.sheet, table.rows) == ("Blatt", [("x", 1.5), ("y", 2.0)])


def test_json_lines_with_nested_objects(tmp_path: Path) -> None:
    rows = [
        {"a": 1, "b": {"c": 2, "d d": [1, 2]}, "when": "2020-01-05", "price": "$1,200"},
        {"a": 2.5, "b": {"c": 3, "d d": []}, "when": None, "price": "$5", "late": "NA"},
    ]
    table = read_text(tmp_path, "\n".join(map(json.dumps, rows)), "t.jsonl")
    assert table.types == {
        "a": "number", "b.c": "integer", "b.d d": "text", "when": "date",
        "price": "integer", "late": "text",
    }  # fmt: skip
    assert table.rows == [
        (1.0, 2, "[1,2]", date(2020, 1, 5), 1200, None),
        (2.5, 3, "[]", None, 5, "NA"),
    ]


def test_json_whose_first_rows_mislead(tmp_path: Path) -> None:
    text = '{"a": 1}\n' * 30_000 + '{"a": "x", "z": 5}\n'
    table = read_text(tmp_path, text, "t.ndjson")
    assert table.types == {"a": "text", "z": "integer"}
    assert table.rows[-1] == ("x", 5)
    assert table.rows[0] == ("1", None)


def test_every_table_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (id INTEGER, code TEXT, photo BLOB, born TEXT, w)")
        database.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?, ?)",
            [(1, "007", b"\x00", "2020-01-05", 1.5), (2, "NA", b"\x01", None, 2)],
        )
        database.execute('CREATE TABLE "odd name" ("a b" REAL)')
        database.execute('INSERT INTO "odd name" VALUES (0.1)')
        database.execute("CREATE VIEW v AS SELECT 1")
    database.close()
    before = sorted(tmp_path.iterdir())
    people, odd = read_all(path)
    assert people.types == {"id": "integer", "code": "text", "born": "date", "w": "number"}
    assert people.rows == [(1, "007", date(2020, 1, 5), 1.5), (2, "NA", None, 2.0)]
    assert any("'photo'" in warning for warning in people.warnings)
    assert (odd.sheet, odd.rows) == ("odd name", [(0.1,)])
    assert sorted(tmp_path.iterdir()) == before


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pa.table(
        {
            "small": pa.array([1, 2], pa.int8()),
            "huge": pa.array([2**63, 1], pa.uint64()),
            "money": pa.array([Decimal("1.25"), None]),
            "text": ["12", "NA"],
            "day": [date(2020, 1, 5), None],
            "zoned": pa.array([datetime(2020, 1, 5, 10, tzinfo=UTC), None]),
            "ns": pa.array([at("2020-01-05 10:00:00"), None], pa.timestamp("ns")),
            "clock": pa.array([time(10, 30), None]),
            "list": [[1, 2], None],
            "inner": [{"x": 1, "y z": {"q": "r"}}, None],
            "bytes": [b"\x00", b"\x01"],
            "yes": [True, None],
            "kind": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(frame, path)
    table = read_one(path)
    assert table.types == {
        "small": "integer", "huge": "number", "money": "number", "text": "text", "day": "date",
        "zoned": "datetime", "ns": "datetime", "clock": "time", "list": "text",
        "inner.x": "integer", "inner.y z.q": "text", "yes": "boolean", "kind": "text",
    }  # fmt: skip
    assert table.rows[0] == (
        1, 2.0**63, 1.25, "12", date(2020, 1, 5), at("2020-01-05 10:00:00"),
        at("2020-01-05 10:00:00"), time(10, 30), "[1,2]", 1, "r", True, "a",
    )  # fmt: skip
    assert table.column("text") == ["12", "NA"]
    assert any("'bytes'" in warning for warning in table.warnings)
