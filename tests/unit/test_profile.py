"""A computed profile says what pandas and numpy say of the same table."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from secondlook.tables import profile as facts
from tests.support.profiled import make_table

if TYPE_CHECKING:
    from secondlook.tables.table import ColumnProfile

numbers = some.floats(-1e9, 1e9) | some.integers(-1000, 1000).map(float)
texts = some.text(some.characters(exclude_categories=["Cs"]), max_size=12)
columns = some.one_of(
    some.tuples(some.just(pa.int64()), some.lists(some.none() | some.integers(-(2**60), 2**60))),
    some.tuples(some.just(pa.int64()), some.lists(some.none() | some.integers(0, 3))),
    some.tuples(some.just(pa.float64()), some.lists(some.none() | numbers)),
    some.tuples(some.just(pa.string()), some.lists(some.none() | texts)),
    some.tuples(some.just(pa.bool_()), some.lists(some.none() | some.booleans())),
    some.tuples(
        some.just(pa.date32()),
        some.lists(some.none() | some.dates(date(1600, 1, 1), date(2200, 1, 1))),
    ),
)


def one_column(folder: Path, values: Any, type_: pa.DataType | None = None) -> ColumnProfile:
    return make_table(folder, pa.table({"c": pa.array(values, type_)})).profile().columns[0]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(columns)
def test_counts_and_moments_are_those_of_pandas(drawn: tuple[pa.DataType, list[Any]]) -> None:
    type_, values = drawn
    with TemporaryDirectory() as folder:
        found = one_column(Path(folder), values, type_)
    present = pd.Series([value for value in values if value is not None], dtype=object)
    assert found.rows == len(values)
    assert found.missing == len(values) - len(present)
    assert found.distinct == present.nunique()
    assert found.exact
    if type_ in (pa.int64(), pa.float64()):
        assert_numbers(found, present.astype("float64"))
    if type_ == pa.date32() and len(present):
        ends = (min(present).isoformat(), max(present).isoformat())
        assert (found.minimum, found.maximum) == ends
    counts = {one.value: one.count for one in found.top}
    if type_ == pa.string() and counts:
        real = present.value_counts()
        assert list(counts.values()) == sorted(real.tolist(), reverse=True)[: len(counts)]
        assert all(real[value] == count for value, count in counts.items())


def assert_numbers(found: ColumnProfile, present: pd.Series[float]) -> None:
    if present.empty:
        assert found.mean is found.std is found.minimum is found.maximum is None
        assert found.quantiles == ()
        return
    scale = float(present.abs().max()) or 1.0
    assert found.mean == pytest.approx(present.mean(), rel=1e-9, abs=1e-9 * scale)
    assert found.minimum == pytest.approx(present.min())
    assert found.maximum == pytest.approx(present.max())
    wanted = np.quantile(present, [0.05, 0.25, 0.5, 0.75, 0.95])
    assert found.quantiles == pytest.approx(wanted.tolist(), rel=1e-9, abs=1e-9 * scale)
    if len(present) > 1:
        assert found.std == pytest.approx(present.std(), rel=1e-6, abs=1e-6 * scale)
    else:
        assert found.std is None


def test_a_large_table_is_estimated_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "EXACT_CELLS", 1_000)
    monkeypatch.setattr(facts, "QUANTILE_VALUES", 40_000)
    monkeypatch.setattr(facts, "COUNTED_VALUES", 30_000)
    random = np.random.default_rng(7)
    rows = 100_000
    made = make_table(
        tmp_path,
        {
            "id": np.arange(rows),
            "nearly": np.append(np.arange(rows - 4_000), np.arange(4_000)),
            "normal": random.normal(size=rows),
            "many": random.integers(0, 20_000, rows),
            "group": random.choice(["a", "b", "c"], rows),
            "rare": [float(at) if at % 5_000 == 0 else None for at in range(rows)],
        },
    )
    profile = made.profile()
    by_name = {column.name: column for column in profile.columns}
    assert by_name["id"].key
    assert (by_name["id"].distinct, by_name["id"].exact) == (rows, False)
    assert not by_name["nearly"].key
    assert by_name["nearly"].distinct == pytest.approx(rows - 4_000, rel=0.02)
    assert by_name["many"].distinct == pytest.approx(19_865, rel=0.1)
    assert not by_name["many"].exact
    assert (by_name["group"].distinct, by_name["group"].exact) == (3, True)
    assert sum(one.count for one in by_name["group"].top) == rows
    ranks = [0.05, 0.25, 0.5, 0.75, 0.95]
    real = np.quantile(
        pd.read_parquet(made.file)["normal"].to_numpy(), np.array(ranks)[:, None] + [-0.02, 0.02]
    )
    for got, (low, high) in zip(by_name["normal"].quantiles, real, strict=True):
        assert low <= got <= high
    # Twenty values among 100,000 rows: a sample would hold four of them.
    assert by_name["rare"].quantiles[2] == 47_500
    assert profile.warnings == ()


def test_rows_that_repeat_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = {"a": [1, 1, 2, None, None], "b": ["x", "x", "x", None, None]}
    assert "2 rows repeat an earlier one" in make_table(tmp_path, repeated).profile().warnings
    monkeypatch.setattr(facts, "COUNTED_VALUES", 5_000)
    (said,) = make_table(tmp_path, {"a": list(range(10_000)) * 2}).profile().warnings
    assert said.startswith("about ")
    assert int(said.split()[1].replace(",", "")) == pytest.approx(10_000, rel=0.1)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_table_without_values(tmp_path: Path, rows: int) -> None:
    frame = pa.table(
        {
            "number": pa.array([None] * rows, pa.float64()),
            "text": pa.array([None] * rows, pa.string()),
            "date": pa.array([None] * rows, pa.date32()),
            "nothing": pa.array([None] * rows, pa.null()),
        }
    )
    profile = make_table(tmp_path, frame).profile()
    assert [column.missing for column in profile.columns] == [rows] * 4
    assert all(column.distinct == 0 and not column.top for column in profile.columns)
    if rows:
        assert {column.warnings for column in profile.columns} == {("every value is missing",)}
        assert "4 of its columns have no value at all" in profile.warnings
    else:
        assert profile.warnings == ("it has no rows",)


def test_what_is_no_number_is_set_aside(tmp_path: Path) -> None:
    values = [1.0, 2.0, math.nan, math.inf, -math.inf, None]
    found = one_column(tmp_path, pa.array(values, pa.float64()))
    assert (found.mean, found.minimum, found.maximum) == (1.5, 1.0, 2.0)
    assert found.missing == 2
    assert found.warnings == ("2 values are infinite or too large to compute with",)
    endless = one_column(tmp_path, [math.inf, math.inf])
    assert (endless.mean, endless.missing) == (None, 0)
    assert one_column(tmp_path, [1e300, -1e300, 5.0]).mean == 5.0


def test_names_that_duckdb_would_confuse_and_many_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pa.table([[1, 2], [3, 4], [5, 6]], names=["a", "A", 'q"; DROP TABLE t; --'])
    found = make_table(tmp_path, frame).profile().columns
    assert [column.minimum for column in found] == [1, 3, 5]
    monkeypatch.setattr(facts, "COLUMNS_AT_ONCE", 3)
    made = make_table(tmp_path, {f"n{at}": [at, at + 1, at + 1] for at in range(10)})
    found = made.profile().columns
    assert [column.maximum for column in found] == list(range(1, 11))
    assert all(column.top[0].count == 2 and column.examples for column in found)


# What is doubtful about a table is said.


def warned(folder: Path, values: Any) -> tuple[str, ...]:
    return one_column(folder, values).warnings


PLAIN = [float(at % 100) for at in range(1_000)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (PLAIN, ()),
        (["red", "green", "blue", None], ()),
        ([1, None, None], ("67 % missing",)),
        (["a", "a"], ("always the same value",)),
        (["1", " 2.5", "x"], ("67 % of the texts are numbers, others are not: 'x'",)),
        (["01", "02"], ("numbers kept as text",)),
        (["Rome", "rome ", "Oslo"], ("spelled in several ways: 'Rome' = 'rome '",)),
    ],
)
def test_warnings(tmp_path: Path, values: list[Any], said: tuple[str, ...]) -> None:
    assert warned(tmp_path, values) == said


def test_other_types(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "time": pa.array([time(8, 30), time(22, 0)]),
            "when": pa.array([datetime(2024, 2, 29, 12, 30), datetime(2020, 1, 1)]),  # noqa: DTZ001
            "list": pa.array([[1, 2], [1, 2]]),
            "money": pa.array([Decimal("1.50"), Decimal("2.50")]),
            "large": pa.array([2**63, 2**63 + 2], pa.uint64()),
            "flag": pa.array([True, None]),
        }
    )
    profile = make_table(tmp_path, frame).profile()
    by_name = {column.name: column for column in profile.columns}
    assert by_name["time"].maximum == "22:00:00"
    assert by_name["when"].maximum == "2024-02-29T12:30:00"
    assert by_name["when"].examples == ("2024-02-29T12:30:00", "2020-01-01T00:00:00")
    assert (by_name["list"].distinct, by_name["list"].examples) == (1, ("[1, 2]",))
    assert (by_name["money"].mean, by_name["money"].minimum) == (2.0, 1.5)
    assert by_name["large"].maximum == 2**63 + 2
    assert (by_name["flag"].mean, by_name["flag"].missing) == (1.0, 1)
