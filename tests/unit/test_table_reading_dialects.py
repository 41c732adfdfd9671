"""How a text is parted into cells, and what its columns are called."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from secondlook.tables.column_types import is_header
from secondlook.tables.csv_files import detect
from tests.support.tables import read_text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "delimiter", "width"),
    [
        ("a,b\n1,2\n", ",", 2),
        ("name;price\nA;1,5\nB;2,75\n", ";", 2),
        ("a\tb\n1,5\t2\n2,5\t3\n", "\t", 2),
        ("a  b   c\n1 2 3\n4  5 6\n", " ", 3),
        ("city\nNew York\nLos Angeles\n", ",", 1),
        ("name\tx\nDoe, J\t1\nRoe, R\t2\n", "\t", 2),
    ],
)
def test_the_delimiter_is_the_one_that_makes_columns(text: str, delimiter: str, width: int) -> None:
    dialect = detect(text, is_whole=True)
    assert (dialect.delimiter, dialect.width) == (delimiter, width)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("'a','b'\n'x, y','1'\n'z','2'\n", [("x, y", 1), ("z", 2)]),
        ('a,b\n"he said \\"hi, you\\"",2\n"x",3\n', [('he said "hi, you"', 2), ("x", 3)]),
        ('a,b\nx "y" z,2\n5" pipe,3\n', [('x "y" z', 2), ('5" pipe', 3)]),
        ('"a\nx",b\n"p\nq",2\n', [("p\nq", 2)]),
        ('a,b\n"x,2\ny,4\nz,6\n', [('"x', 2), ("y", 4), ("z", 6)]),
        ("a,b\n1,2\r\n3,4\n5,6\r\n", [(1, 2), (3, 4), (5, 6)]),
        ("a,b\n1,2\n   \n\n3,4", [(1, 2), (3, 4)]),
        ("sep=;\na;b\n1;2\n3;4\n", [(1, 2), (3, 4)]),
        ("Sales of 2020\nby region\n\na,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("# made by x\n# y, z\na,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("# remark\nn\n1\n2\n", [(1,), (2,)]),
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
        "a,b,\n1,2,\n3,4,\n",
        " a ,b\n1,2\n",
        "Country,2010,2011\nFrance,1,2\n",
        ",x\n0,5\n1,6\n",
        "a.1,a,a\n1,2,3\n",
    ],
)
def test_columns_are_called_as_pandas_calls_them(tmp_path: Path, text: str) -> None:
    expected = pd.read_csv(io.StringIO(text))
    if list(expected.index) != list(range(len(expected))):
        expected = expected.reset_index(names="Unnamed: 0")
    assert read_text(tmp_path, text).names == list(expected.columns)


def test_a_file_without_header_has_numbered_columns(tmp_path: Path) -> None:
    table = read_text(tmp_path, "1,2.5,x\n2,3.5,y\n3,4.5,z\n")
    assert table.names == ["column_1", "column_2", "column_3"]
    assert len(table.rows) == 3
    assert any("no header" in warning for warning in table.warnings)


@pytest.mark.parametrize(
    ("first", "body", "expected"),
    [
        (["a", "b"], [["1", "2"]], True),
        (["1", "2"], [["3", "4"]], False),
        (["2019", "2020"], [["3", "4"]], True),
        (["0", "1", "2"], [["3.5", "4", "x"]], True),
        (["x", "2020-01-05"], [["y", "2020-01-06"]], False),
        (["", "5"], [["1", "6"]], True),
        (["a"], [], True),
    ],
)
def test_a_header_is_told_from_a_row(
    first: list[str], body: list[list[str]], *, expected: bool
) -> None:
    assert is_header(first, body) is expected


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("name,x\ncafé,2\n", "cp1252"),
        ("näme,x\ncafé,2\n", "utf-16"),
        ("name,x\ncafe,2\n", "utf-16-le"),
        ("名前,値\n東京都,2\n大阪府,4\n京都府の町,5\n", "cp932"),
        ("имя,x\nМосква столица,2\nПетербург город,4\n", "cp1251"),  # noqa: RUF001
        ("name,x\ncafé,2\n", "utf-8"),
        ("name,x\ncafé,2\n", "utf-8-sig"),
    ],
)
def test_any_encoding_is_read(tmp_path: Path, text: str, encoding: str) -> None:
    table = read_text(tmp_path, text.encode(encoding))
    lines = text.splitlines()
    assert table.names == lines[0].split(",")
    assert [row[0] for row in table.rows] == [line.split(",")[0] for line in lines[1:]]
    assert bool(table.warnings) is not encoding.startswith("utf-8")
