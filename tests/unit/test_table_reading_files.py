"""Every kind of file becomes tables with typed columns; what is no table is refused."""

import gzip
import io
import json
import math
import os
import random
import sqlite3
import zipfile
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter  # type: ignore[import-untyped]

from secondlook.errors import (
    Damaged,
    Encrypted,
    LimitExceeded,
    NoText,
    SecondlookError,
    TableError,
    Unsupported,
    UsageError,
)
from secondlook.processes import receive, send
from secondlook.tables import csv_files, formats
from secondlook.tables import read as reading
from secondlook.tables.cells import (
    BOOLEAN,
    INTEGER,
    ISO_DATE,
    ISO_DATETIME,
    MISSING,
    NUMBER,
    OTHERWISE_MISSING,
    Form,
)
from secondlook.tables.column_types import infer
from secondlook.tables.read import Read, table_from_frame
from tests.support.tables import database, read_all, read_one, read_text

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
    table = read_text(tmp_path, '{"a": 1}\n' * 30_000 + '{"a": "x", "z": 5}\n', "t.ndjson")
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


# What is no table.

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
    monkeypatch.setattr(reading, "_ALWAYS_ALLOWED", 1_000_000)
    with pytest.raises(LimitExceeded, match="expands"):
        read_all(path)


def test_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    unpacked = reading.unpacked

    def slow(source: Path, stage: Path, *, most_bytes: int) -> Path:
        os.utime(source, (1, 1))
        return unpacked(source, stage, most_bytes=most_bytes)

    monkeypatch.setattr(formats, "unpacked", slow)
    with pytest.raises(TableError, match="changed while"):
        read_all(path)


def test_a_quote_that_swallows_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell would grow beyond every bound; so quotes are taken for ordinary characters."""
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 1000)
    table = read_text(tmp_path, 'a,b\n1,2\n"3,4\n' + "5,6\n" * 1000)
    assert len(table.rows) == 1002
    assert table.rows[1] == ('"3', 4)
    assert any("quotes do not pair up" in warning for warning in table.warnings)


def test_characters_that_cannot_be_decoded_are_counted(tmp_path: Path) -> None:
    table = read_text(tmp_path, "name,x\ncafé au lait,1\n".encode("utf-16") + b"\x00\xd8\n\x00")
    assert table.rows[0] == ("café au lait", 1)
    assert any("could not be decoded" in warning for warning in table.warnings)


# How a text is parted into cells, and what its columns are called.


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("'a','b'\n'x, y','1'\n'z','2'\n", [("x, y", 1), ("z", 2)]),
        ('a,b\nx "y" z,2\n5" pipe,3\n', [('x "y" z', 2), ('5" pipe', 3)]),
        ('"a\nx",b\n"p\nq",2\n', [("p\nq", 2)]),
        ('a,b\n"x,2\ny,4\nz,6\n', [('"x', 2), ("y", 4), ("z", 6)]),
        ("a,b\n1,2\r\n3,4\n5,6\r\n", [(1, 2), (3, 4), (5, 6)]),
        ("name;price\nA;1,5\nB;2,75\n", [("A", 1.5), ("B", 2.75)]),
        ("city\nNew York\nLos Angeles\n", [("New York",), ("Los Angeles",)]),
        ("sep=;\na;b\n1;2\n3;4\n", [(1, 2), (3, 4)]),
        ("Sales of 2020\nby region\n\na,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("# made by x\n# y, z\na,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("a,b,c\n1\n3,4,5\n", [(1, None, None), (3, 4, 5)]),
        ("a,b\n1,2,3\n3,4\n5,6\n", [(1, 2), (3, 4), (5, 6)]),
    ],
)
def test_rows_come_out_whatever_the_writing(
    tmp_path: Path, text: str, rows: list[tuple[object, ...]]
) -> None:
    assert read_text(tmp_path, text.encode()).rows == rows


@pytest.mark.parametrize(
    "text",
    [
        "a,a,,a\n1,2,3,4\n",
        "a,b\nx,1,2\ny,3,4\n",
        "Country,2010,2011\nFrance,1,2\n",
        ",x\n0,5\n1,6\n",
    ],
)
def test_columns_are_called_as_pandas_calls_them(tmp_path: Path, text: str) -> None:
    expected = pd.read_csv(io.StringIO(text))
    if list(expected.index) != list(range(len(expected))):
        expected = expected.reset_index(names="Unnamed: 0")
    assert read_text(tmp_path, text).names == list(expected.columns)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("name,x\ncafé,2\n", "cp1252"),
        ("näme,x\ncafé,2\n", "utf-16"),
        ("name,x\ncafe,2\n", "utf-16-le"),
        ("名前,値\n東京都,2\n大阪府,4\n京都府の町,5\n", "cp932"),
        ("имя,x\nМосква столица,2\nПетербург город,4\n", "cp1251"),  # noqa: RUF001
        ("name,x\ncafé,2\n", "utf-8-sig"),
    ],
)
def test_any_encoding_is_read(tmp_path: Path, text: str, encoding: str) -> None:
    table = read_text(tmp_path, text.encode(encoding))
    lines = text.splitlines()
    assert table.names == lines[0].split(",")
    assert [row[0] for row in table.rows] == [line.split(",")[0] for line in lines[1:]]
    assert bool(table.warnings) is not encoding.startswith("utf-8")


# Cells of every form.

CASES: list[tuple[list[str], str, list[Any]]] = [
    (["1", "-2", "+3", "0"], "integer", [1, -2, 3, 0]),
    (["1.5", "2", ".5", "3.", "-0.25"], "number", [1.5, 2.0, 0.5, 3.0, -0.25]),
    (["inf", "-Inf", "1"], "number", [math.inf, -math.inf, 1.0]),
    (["True", "false", "TRUE"], "boolean", [True, False, True]),
    (["1,234", "5,678,901", "12"], "integer", [1234, 5678901, 12]),
    (["1.234,56", "7,5", "1.000"], "number", [1234.56, 7.5, 1000.0]),
    (["$1,200", "$5"], "integer", [1200, 5]),
    (["45 %", "3.5%"], "number", [45.0, 3.5]),
    (["(1,200)", "300"], "integer", [-1200, 300]),
    (["1", "-", "?", "n.a.", "3"], "integer", [1, None, None, None, 3]),
    (["2020-01-05", "1999-12-31"], "date", [date(2020, 1, 5), date(1999, 12, 31)]),
    (["31.12.2020", "1.2.2021"], "date", [date(2020, 12, 31), date(2021, 2, 1)]),
    (["1/2/2021"], "date", [date(2021, 1, 2)]),
    (["3 May 2021", "14 sept 2020"], "date", [date(2021, 5, 3), date(2020, 9, 14)]),
    (["2020-01-05 10:30", "2020-01-05"], "datetime",
     [at("2020-01-05 10:30:00"), at("2020-01-05 00:00:00")]),
    (["2020-01-05T10:00:00Z", "2020-01-05 10:00:00+02:00"], "datetime",
     [at("2020-01-05 10:00:00"), at("2020-01-05 08:00:00")]),
    (["1/13/2020, 10:30:01 PM"], "datetime", [at("2020-01-13 22:30:01")]),
    (["10:30", "23:59:59"], "time", [time(10, 30), time(23, 59, 59)]),
]  # fmt: skip
TEXTS = [
    ["007", "12"],
    ["1", "x"],
    ["99999999999999999999", "1"],
    ["5%", "6"],
    ["1.2.10", "1.2.11"],
    ["31/12/2020", "12/31/2020"],
    ["yes", "no"],
    ["-", "?"],
]


def in_duckdb(cells: list[str]) -> tuple[str, list[Any], list[bool]]:
    (form,) = infer([set(cells)])
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        asked = f"SELECT {form.converted('x')}, {form.misfit('x')} FROM (SELECT ? AS x)"  # noqa: S608
        found = [connection.execute(asked, [cell]).fetchone() for cell in cells]
    assert all(found)
    return form.type, [row[0] for row in found if row], [row[1] for row in found if row]


@pytest.mark.parametrize(("cells", "kind", "values"), CASES, ids=lambda one: str(one)[:40])
def test_what_people_write_becomes_a_value(cells: list[str], kind: str, values: list[Any]) -> None:
    found, converted, misfits = in_duckdb(cells)
    assert found == kind
    assert converted == values
    assert not any(misfits)


@pytest.mark.parametrize("cells", TEXTS, ids=str)
def test_what_is_not_surely_a_value_stays_text(cells: list[str]) -> None:
    kind, converted, _ = in_duckdb(cells)
    assert kind == "text"
    assert converted == cells


def test_missing_markers_are_those_of_pandas() -> None:
    from pandas._libs.parsers import STR_NA_VALUES  # type: ignore[import-untyped,unused-ignore]

    assert set(MISSING) == set(STR_NA_VALUES)
    assert {marker.lower() for marker in MISSING} <= OTHERWISE_MISSING


def test_a_decimal_comma_in_one_column_decides_for_the_others() -> None:
    sure, unsure, grouped = infer([{"1,5", "2,75"}, {"1,234", "5,678"}, {"1.234", "12.345"}])
    assert [sure.type, unsure.type, grouped.type] == ["number", "number", "integer"]
    assert "comma marks decimals" in unsure.note
    assert "'.' groups digits" in grouped.note


ODD_CELLS = [
    "007", "-007", "00", "1_000", "1e3", "1e2", "1.5", ".5", "5.", "0x1F", "0b1", "+5", "-0", "0",
    "5", "-5", "9223372036854775808", "1e400", "inf", "-inf", "infinity", "nan", "0.5", "00.5",
    "-0.5", "1abc", "2020-01-05", "2020-1-5", "2020/01/05", "99999-01-01", "epoch", "2020-02-30",
    "2020-01-05T10:30:00", "20200105", "true", "True", "t", "yes", "1", "f",
    " 5", "5 ", "2020-01-05 10:30:00", "2020-01-05 10:30:00.5", "2020-01-05 10:30:00+02", "",
    "2020-01-05 (BC)", "2020-01-05 (BC) 10:30:00", "2020-01-05 10:30", " 2020-01-05", "-infinity",
    "2020-01-05 24:00:00", "2020-01-05 23:59:60", "\u0665", "\u06f2\u06f0\u06f2\u06f0-01-05",
]  # fmt: skip


@pytest.mark.parametrize("form", [BOOLEAN, INTEGER, NUMBER, ISO_DATE, ISO_DATETIME])
def test_the_quick_look_takes_nothing_that_the_pattern_refuses(form: Form) -> None:
    """DuckDB reads more than we do: 1.5 as the integer 2, a date with its time cut off."""
    given = f"(SELECT x, {form.tried('x')} AS v FROM cells)"  # noqa: S608
    asked = f"SELECT x FROM {given} WHERE {form.is_plain('x', 'v')}"  # noqa: S608
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE cells AS SELECT unnest(?) AS x", [ODD_CELLS])
        plain = [cell for (cell,) in connection.execute(asked).fetchall()]
    assert plain
    assert [cell for cell in plain if not form.fits(cell.strip())] == []


# Frames that are handed over in Python.


def rows_of(read: Read) -> list[tuple[Any, ...]]:
    frame = pq.read_table(read.file)
    return list(zip(*(column.to_pylist() for column in frame.columns), strict=True))


def types_of(read: Read) -> dict[str, str]:
    return {column.name: column.type for column in read.table.columns}


def test_a_frame_of_pandas_keeps_its_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": [1.5, np.nan],
            "text": ["007", None],
            "when": pd.to_datetime(["2020-01-05 10:00", None]),
            "zoned": pd.to_datetime(["2020-01-05 10:00", None]).tz_localize("Europe/Berlin"),
            "day": [date(2020, 1, 5), None],
            "clock": [time(10, 30), None],
            "ok": [True, False],
            "kind": pd.Categorical(["a", "b"]),
            "mixed": [1, "x"],
            "nothing": [None, None],
            "lists": [[1, 2], [3]],
        }
    )
    read = table_from_frame("my frame", frame, tmp_path)
    assert types_of(read) == {
        "n": "integer", "x": "number", "text": "text", "when": "datetime", "zoned": "datetime",
        "day": "date", "clock": "time", "ok": "boolean", "kind": "text", "mixed": "text",
        "nothing": "text", "lists": "text",
    }  # fmt: skip
    first, second = rows_of(read)
    assert first == (
        1, 1.5, "007", at("2020-01-05 10:00"), at("2020-01-05 09:00"), date(2020, 1, 5),
        time(10, 30), True, "a", "1", None, "[1,2]",
    )  # fmt: skip
    assert second == (2, None, None, None, None, None, None, False, "b", "x", None, "[3]")
    assert (read.table.name, read.table.title, read.table.path) == ("my_frame", "my frame", None)
    assert list(tmp_path.iterdir()) == [read.file]


def test_an_index_that_says_something_becomes_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert list(types_of(table_from_frame("t", frame, tmp_path))) == ["key", "n"]
    plain = pd.DataFrame({"n": [1, 2]})
    assert list(types_of(table_from_frame("t", plain, tmp_path))) == ["n"]


def test_other_kinds_of_frames(tmp_path: Path) -> None:
    arrow = pa.table({"n": pa.array([1, 2], pa.uint8()), "b": [b"x", b"y"]})
    read = table_from_frame("t", arrow, tmp_path)
    assert types_of(read) == {"n": "integer"}
    assert any("'b'" in warning for warning in read.table.warnings)
    records: list[dict[str, Any]] = [{"a": 1}, {"a": 2.5, "b": "x"}]
    assert rows_of(table_from_frame("t", records, tmp_path)) == [(1.0, None), (2.5, "x")]
    columns = {"a": [1, "x"], "b": [date(2020, 1, 5), None]}
    assert rows_of(table_from_frame("t", columns, tmp_path)) == [
        ("1", date(2020, 1, 5)), ("x", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "frame",
    [5, "x", [1, 2], pd.Series([1, 2]), {}, pd.DataFrame(), pd.DataFrame({"a": []}),
     {"a": [1, 2], "b": [1]}],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_what_is_no_frame(tmp_path: Path, frame: object) -> None:
    with pytest.raises(UsageError, match="table 't'"):
        table_from_frame("t", frame, tmp_path)
    assert list(tmp_path.iterdir()) == []


# Progress, and messages of the worker.


def test_copying_row_by_row_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_REPORTED_ROWS", 1)
    source = tmp_path / "uneven.csv"
    source.write_text("a,b\n1\n" + "3,4\n" * 50_000)
    told: list[float] = []
    formats.read(
        database(), source=str(source), stage=str(tmp_path), most_bytes=1 << 30, report=told.append
    )
    assert told[0] == 0
    assert told == sorted(told)
    assert len(set(told)) > 10
    assert max(told) <= 1


def test_a_message_survives_the_way() -> None:
    message: dict[str, Any] = {"value": [float("inf"), None, "ü\ud800", 2**70]}
    stream = io.BytesIO()
    send(stream, message)
    stream.seek(0)
    assert receive(stream) == message


def test_parquet_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(one) * 9 for one in range(5000)]}), path)
    data = bytearray(path.read_bytes())
    data[100:1500] = NOISE[:1400]
    path.write_bytes(data)
    with pytest.raises(Damaged, match="damaged"):
        read_all(path)


def test_assumptions_are_said() -> None:
    date_form, code = infer([{"1/2/2021"}, {"007"}])
    assert "month, day, year" in date_form.note
    assert "no date in it tells" in date_form.note
    assert "leading zeros" in code.note
