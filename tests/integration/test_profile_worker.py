"""Profiles, joins and closer looks, computed in the worker that the product uses."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from secondlook.tables import examine as examining
from secondlook.tables.desk import PROFILE_VERSION, cached_profile, profile_file, profile_table
from secondlook.tables.examine import examine
from secondlook.tables.joins import find_joins
from secondlook.tables.worker import Worker, WorkerLimits
from tests.support.profiled import Here, Made, make_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.tables.table import Table, TableProfile


@pytest.fixture(scope="module", params=["in the worker", "here"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    limits = WorkerLimits(threads=1)
    with Worker(limits) if request.param == "in the worker" else Here(limits) as started:
        yield started


class NoWorker(Worker):
    """Nothing may be computed."""

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("computed again")


def profiled(worker: Worker, made: Made) -> tuple[Table, TableProfile, Path]:
    return made.table, profile_table(worker, made.table, made.file), made.file


def said_of(worker: Worker, folder: Path, values: Any, **more: Any) -> str:
    table, profile, file = profiled(worker, make_table(folder, {"c": values}))
    return "\n".join(
        sentence
        for found in examine(worker, table, profile, file, ["c"], **more)
        for sentence in found.said
    )


def test_the_worker_computes_what_the_task_does(worker: Worker, tmp_path: Path) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3], "b": ["x", "y", None]})
    shares: list[float] = []
    found = profile_table(worker, made.table, made.file, on_progress=shares.append)
    assert found == made.profile()
    assert shares == sorted(shares)
    assert shares


def test_a_profile_is_computed_once(worker: Worker, tmp_path: Path) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3], "größe": ["x", "y", None]})
    first = cached_profile(tmp_path, worker, made.table, made.file)
    renamed = made.table.model_copy(update={"name": "other", "path": "/elsewhere.csv"})
    assert cached_profile(tmp_path, NoWorker(), renamed, made.file) == first
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {made.file.name, profile_file(tmp_path, made.table).name}


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        json.dumps({"version": PROFILE_VERSION}),
        json.dumps({"version": PROFILE_VERSION, "profile": {"table": 3}}),
        json.dumps({"version": PROFILE_VERSION - 1, "profile": {}}),
        json.dumps(
            {"version": PROFILE_VERSION, "profile": {"table": "another", "rows": 0, "columns": []}}
        ),
    ],
)
def test_a_damaged_cache_is_computed_anew(worker: Worker, tmp_path: Path, damage: str) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3]})
    kept = profile_file(tmp_path, made.table)
    kept.write_text(damage, encoding="utf-8")
    assert cached_profile(tmp_path, worker, made.table, made.file).columns[0].maximum == 3
    assert cached_profile(tmp_path, NoWorker(), made.table, made.file).columns[0].maximum == 3


def test_a_folder_that_cannot_be_written_to(worker: Worker, tmp_path: Path) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3]})
    nowhere = tmp_path / "gone"
    assert cached_profile(nowhere, worker, made.table, made.file).rows == 3
    assert not nowhere.exists()


def shop(folder: Path) -> tuple[Made, Made, Made]:
    random = np.random.default_rng(5)
    orders = make_table(
        folder,
        {
            "id": np.arange(1, 2_001),
            "customer_id": random.integers(1, 300, 2_000),
            "product": random.choice([f"P-{at:03}" for at in range(40)], 2_000),
            "amount": random.normal(size=2_000),
            "status": random.choice(["open", "paid"], 2_000),
        },
        name="orders",
    )
    customers = make_table(
        folder,
        {
            "id": np.arange(1, 301),
            "country": random.choice(["DE", "FR"], 300),
            "status": random.choice(["open", "paid"], 300),
        },
        name="customers",
    )
    catalogue = make_table(
        folder,
        {"sku": [f"P-{at:03}" for at in range(2, 42)], "stock": random.integers(0, 9, 40)},
        name="catalogue",
    )
    return orders, customers, catalogue


def test_joins_are_found_by_name_and_by_values(worker: Worker, tmp_path: Path) -> None:
    tables = [profiled(worker, made) for made in shop(tmp_path)]
    found = {
        (join.left, join.left_column, join.right, join.right_column): join.overlap
        for join in find_joins(worker, tables)
    }
    assert found == {
        ("id-of-orders", "customer_id", "id-of-customers", "id"): 1.0,
        ("id-of-orders", "product", "id-of-catalogue", "sku"): 0.95,
    }
    assert find_joins(worker, tables[:1]) == ()


def test_joins_of_large_columns_are_counted_in_a_part(worker: Worker, tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    left = make_table(tmp_path, {"user_id": random.integers(0, 40_000, 60_000)}, name="visits")
    right = make_table(tmp_path, {"user_id": np.arange(24_000)}, name="users")
    (join,) = find_joins(worker, [profiled(worker, left), profiled(worker, right)])
    assert (join.left, join.right) == ("id-of-visits", "id-of-users")
    assert join.overlap == pytest.approx(0.6, abs=0.06)


def test_what_meets_by_chance_is_no_join(worker: Worker, tmp_path: Path) -> None:
    one = make_table(
        tmp_path,
        {
            "Unnamed: 0": list(range(50)),
            "id": list(range(50)),
            "rating": [at % 5 for at in range(50)],
            "when": [date(2020, 1, 1)] * 49 + [date(2020, 2, 1)],
            "name": [f"a{at}" for at in range(50)],
        },
        name="one",
    )
    two = make_table(
        tmp_path,
        {
            "Unnamed: 0": list(range(50)),
            "id": list(range(50)),
            "rating": [at % 5 for at in range(50)],
            "when": ["2020-01-01"] * 50,
            "name": [f"b{at}" for at in range(50)],
            "stars": list(range(50)),
        },
        name="two",
    )
    assert find_joins(worker, [profiled(worker, one), profiled(worker, two)]) == ()


def test_numbers_that_one_table_keeps_as_text_join(worker: Worker, tmp_path: Path) -> None:
    one = make_table(tmp_path, {"zip_code": ["100", "200", "300"]}, name="one")
    two = make_table(tmp_path, {"zip_code": [100, 200, 300, 400]}, name="two")
    (join,) = find_joins(worker, [profiled(worker, one), profiled(worker, two)])
    assert (join.left, join.overlap) == ("id-of-one", 1.0)


def test_a_text_is_looked_at(worker: Worker, tmp_path: Path) -> None:
    said = said_of(worker, tmp_path, [f"AB-{at:03}" for at in range(99)] + ["x"])
    assert "'AA-999' in 99 %, 'a' in 1 %" in said
    assert "none of its values is a number" in said
    assert "some of its values: 'AB-" in said
    prose = said_of(worker, tmp_path, [f"A{'b' * at} C{'d' * at}" for at in range(1, 20)])
    assert "Aa+ Aa+" in prose


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["31.12.2020", "01.02.2021"], "100 % of its values parse as dates with '%d.%m.%Y'"),
        (["May  3, 2021", "Jun 14, 2021"], "dates with '%b %d, %Y'"),
        (["01/02/2021", "03/04/2021"], "day and month cannot be told apart"),
        (["$1,200", "$30", "$7.50"], "0 % of its values are numbers as they stand, 100 % without"),
        (["1", "2", "x"], "67 % of its values are numbers as they stand"),
    ],
)
def test_texts_that_are_something_else(
    worker: Worker, tmp_path: Path, values: list[str], said: str
) -> None:
    assert said in said_of(worker, tmp_path, values)


def test_a_number_is_looked_at(worker: Worker, tmp_path: Path) -> None:
    said = said_of(worker, tmp_path, [0.0, 0.25, 1.0, 0.5])
    assert "25 % are zero, 0 % are negative" in said
    assert "50 % are whole numbers" in said
    assert "all are between 0 and 1, as shares are" in said
    years = said_of(worker, tmp_path, [1990, 1990, 1991, 1991, 1991, 2003, 2003])
    assert "all could be years" in years
    assert "3 groups of 2 to 3 rows, 2 in the middle; 3 have fewer than 5 rows" in years


def test_a_date_is_looked_at(worker: Worker, tmp_path: Path) -> None:
    days = [date(2020, 1, 15), date(2020, 1, 16), date(2020, 4, 1)]
    assert "values on 3 different days, in 2 of the 4 months they span" in said_of(
        worker, tmp_path, days
    )
    midnights = [datetime(2020, 1, 1) + timedelta(days=at) for at in range(3)]  # noqa: DTZ001
    assert "no value has a time of day" in said_of(worker, tmp_path, midnights)
    hours = [datetime(2020, 1, 1) + timedelta(hours=at) for at in range(3)]  # noqa: DTZ001
    assert "time of day" not in said_of(worker, tmp_path, hours)


def test_nothing_new_can_be_said(worker: Worker, tmp_path: Path) -> None:
    frame = pa.table({"none": pa.array([None, None], pa.string()), "same": ["x", "x"]})
    table, profile, file = profiled(worker, make_table(tmp_path, frame))
    assert examine(worker, table, profile, file, ["none", "unknown"]) == ()
    assert examine(worker, table, profile, file, ["same"]) == ()
    assert examine(NoWorker(), table, profile, file, []) == ()


def test_a_closer_look_at_a_large_table_is_bounded(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examining, "MOST_COLUMNS", 2)
    made = make_table(tmp_path, {name: [f"{name}{at}" for at in range(9)] for name in "abcd"})
    table, profile, file = profiled(worker, made)
    found = examine(worker, table, profile, file, ["d", "d", "b", "a"])
    assert [one.column for one in found] == ["d", "b"]
