"""Random tables through random dialects: what goes in comes out, and pandas agrees."""

import contextlib
import csv
import io
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secondlook.errors import SecondlookError
from tests.support.tables import Seen, read_all, read_one

_PLAIN = settings(
    max_examples=200 if os.environ.get("SECONDLOOK_SOAK") else 8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_TEXT = st.text(
    st.sampled_from("abcdefgXYZ é漢\",;|\t\n'\\%$-.0159"), min_size=1, max_size=12
).filter(lambda text: text.strip() == text)
_NUMBER = st.one_of(
    st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False, width=64)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """A name column that no dialect is in doubt about, and columns of one kind each."""
    rows = draw(st.integers(4, 12))
    columns: list[list[str]] = [[f"row {number}" for number in range(rows)]]
    for _ in range(draw(st.integers(1, 4))):
        cell = draw(
            st.sampled_from(
                [
                    _TEXT,
                    st.integers(-(10**9), 10**9).map(str),
                    st.floats(-1e9, 1e9).map(repr),
                    st.one_of(st.just(""), st.just("NA"), st.integers(0, 99).map(str)),
                    st.dates().map(str),
                    st.booleans().map(str),
                ]
            )
        )
        columns.append(draw(st.lists(cell, min_size=rows, max_size=rows)))
    header = ["name", *(f"col {number}" for number in range(1, len(columns)))]
    return header, [list(row) for row in zip(*columns, strict=True)]


dialects = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from([",", ";", "\t", "|"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": st.sampled_from(["\n", "\r\n"]),
    }
)


def written(header: list[str], rows: list[list[str]], dialect: dict[str, Any]) -> str:
    sink = io.StringIO()
    csv.writer(sink, **dialect).writerows([header, *rows])
    return sink.getvalue()


def read(text: str, encoding: str) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.encode(encoding))
        return read_one(path)


@_PLAIN
@given(tables(), dialects, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_pandas_agrees(
    table: tuple[list[str], list[list[str]]], dialect: dict[str, Any], encoding: str
) -> None:
    text = written(*table, dialect)
    ours = read(text, encoding)
    theirs = pd.read_csv(io.StringIO(text), sep=dialect["delimiter"])
    assert ours.names == list(theirs.columns)
    assert len(ours.rows) == len(theirs)
    as_texts = pd.read_csv(io.StringIO(text), sep=dialect["delimiter"], dtype=str)
    for name in ours.names:
        kind = ours.types[name]
        if kind in {"integer", "number"} and pd.api.types.is_numeric_dtype(theirs[name]):
            for mine, its in zip(ours.column(name), theirs[name], strict=True):
                assert (mine is None and math.isnan(its)) or math.isclose(mine, its, rel_tol=1e-12)
        if kind == "text":
            assert ours.column(name) == [None if pd.isna(cell) else cell for cell in as_texts[name]]


@_PLAIN
@given(st.lists(_NUMBER, min_size=1, max_size=20))
def test_numbers_come_back_exactly(numbers: list[float]) -> None:
    table = read("\n".join(["x,y", *(f"{number!r},a" for number in numbers)]), "utf-8")
    assert table.types["x"] in {"integer", "number"}
    as_float = table.types["x"] == "number"
    assert table.column("x") == [float(one) if as_float else one for one in numbers]


@_PLAIN
@given(st.binary(min_size=1, max_size=400), st.sampled_from([".csv", ".jsonl", ".xlsx", ".gz", ""]))
def test_any_bytes_give_a_table_or_a_reason(data: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(data)
        with contextlib.suppress(SecondlookError):
            assert all(table.rows for table in read_all(path))
