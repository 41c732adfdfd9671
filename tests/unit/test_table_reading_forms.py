"""Cells of every form: what Python takes them for, and what DuckDB makes of them."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from typing import Any

import duckdb
import pytest

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

at = datetime.fromisoformat
CASES: list[tuple[list[str], str, list[Any]]] = [
    (["1", "-2", "+3", "0"], "integer", [1, -2, 3, 0]),
    ([" 5", "6 ", "\u00a07"], "integer", [5, 6, 7]),
    (["1.5", "2", ".5", "3.", "-0.25"], "number", [1.5, 2.0, 0.5, 3.0, -0.25]),
    (["1e3", "2.5E-2"], "number", [1000.0, 0.025]),
    (["inf", "-Inf", "1"], "number", [math.inf, -math.inf, 1.0]),
    (["True", "false", "TRUE"], "boolean", [True, False, True]),
    (["1,234", "5,678,901", "12"], "integer", [1234, 5678901, 12]),
    (["1,234.5", "0.25"], "number", [1234.5, 0.25]),
    (["1.234,56", "7,5", "1.000"], "number", [1234.56, 7.5, 1000.0]),
    (["1\u202f234,5", "12,5"], "number", [1234.5, 12.5]),
    (["$1,200", "$5"], "integer", [1200, 5]),
    (["€ 5", "7,50 €"], "number", [5.0, 7.5]),
    (["1,000 USD", "2 USD"], "integer", [1000, 2]),
    (["45 %", "3.5%"], "number", [45.0, 3.5]),
    (["(1,200)", "300"], "integer", [-1200, 300]),
    (["\u22125", "3"], "integer", [-5, 3]),
    (["1", "-", "?", "n.a.", "3"], "integer", [1, None, None, None, 3]),
    (["2020-01-05", "1999-12-31"], "date", [date(2020, 1, 5), date(1999, 12, 31)]),
    (["31.12.2020", "1.2.2021"], "date", [date(2020, 12, 31), date(2021, 2, 1)]),
    (["12/31/2020", "1/2/2021"], "date", [date(2020, 12, 31), date(2021, 1, 2)]),
    (["31/12/2020", "1/2/2021"], "date", [date(2020, 12, 31), date(2021, 2, 1)]),
    (["1/2/2021"], "date", [date(2021, 1, 2)]),
    (["1.2.2021"], "date", [date(2021, 2, 1)]),
    (["01.02.21", "13.02.99"], "date", [date(2021, 2, 1), date(1999, 2, 13)]),
    (["3 May 2021", "14 sept 2020"], "date", [date(2021, 5, 3), date(2020, 9, 14)]),
    (["May 3, 2021", "Sept. 4, 2020"], "date", [date(2021, 5, 3), date(2020, 9, 4)]),
    (["3-May-21", "04-JUN-99"], "date", [date(2021, 5, 3), date(1999, 6, 4)]),
    (["2020-01-05 10:30", "2020-01-05"], "datetime",
     [at("2020-01-05 10:30:00"), at("2020-01-05 00:00:00")]),
    (["2020-01-05T10:00:00Z", "2020-01-05 10:00:00+02:00"], "datetime",
     [at("2020-01-05 10:00:00"), at("2020-01-05 08:00:00")]),
    (["31/12/2020 10:30", "1/1/2020 11:20:05"], "datetime",
     [at("2020-12-31 10:30:00"), at("2020-01-01 11:20:05")]),
    (["1/13/2020, 10:30:01 PM"], "datetime", [at("2020-01-13 22:30:01")]),
    (["10:30", "23:59:59"], "time", [time(10, 30), time(23, 59, 59)]),
    (["3:05 PM", "12:00 am"], "time", [time(15, 5), time(0, 0)]),
]  # fmt: skip
TEXTS = [
    ["007", "12"],
    ["1", "x"],
    ["99999999999999999999", "1"],
    ["1_000", "2"],
    ["$5", "€6"],
    ["5%", "6"],
    ["1.2.10", "1.2.11"],
    ["31/12/2020", "12/31/2020"],
    ["2020-13-05"],
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


def test_assumptions_are_said() -> None:
    date_form, code = infer([{"1/2/2021"}, {"007"}])
    assert "month, day, year" in date_form.note
    assert "no date in it tells" in date_form.note
    assert "leading zeros" in code.note


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
