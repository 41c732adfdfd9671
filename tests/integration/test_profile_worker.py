"""Profiles, joins and closer looks, computed in the worker that the product uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.tables.desk import PROFILE_VERSION, cached_profile, profile_file, profile_table
from secondlook.tables.examine import examine
from secondlook.tables.joins import find_joins
from secondlook.tables.worker import Worker, WorkerLimits
from tests.support.profiled import Here, Made, make_table

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.tables.table import Table, TableProfile


@pytest.fixture(scope="module")
def worker() -> Worker:
    """Tasks within this process; one test asks the process that the product uses."""
    return Here(WorkerLimits(threads=1))


class NoWorker(Worker):
    """Nothing may be computed."""

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("computed again")


def profiled(worker: Worker, made: Made) -> tuple[Table, TableProfile, Path]:
    return made.table, profile_table(worker, made.table, made.file), made.file


def said_of(worker: Worker, folder: Path, values: Any) -> str:
    table, profile, file = profiled(worker, make_table(folder, {"c": values}))
    found = examine(worker, table, profile, file, ["c"])
    return "\n".join(sentence for one in found for sentence in one.said)


def test_the_worker_computes_what_the_task_does(tmp_path: Path) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3], "b": ["x", "y", None]})
    with Worker(WorkerLimits(threads=1)) as worker:
        found = profile_table(worker, made.table, made.file)
        (looked,) = examine(worker, made.table, found, made.file, ["b"])
        two = (made.table, found, made.file)
        assert find_joins(worker, [two, two]) != ()
    assert found == made.profile()
    assert "some of its values: 'x', 'y'" in looked.said or "'y', 'x'" in looked.said[-1]


def test_a_profile_is_computed_once(worker: Worker, tmp_path: Path) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3], "größe": ["x", "y", None]})
    first = cached_profile(tmp_path, worker, made.table, made.file)
    renamed = made.table.model_copy(update={"name": "other", "path": "/elsewhere.csv"})
    assert cached_profile(tmp_path, NoWorker(), renamed, made.file) == first
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {made.file.name, profile_file(tmp_path, made.table).name}
    nowhere = tmp_path / "gone"  # cannot be written to
    assert cached_profile(nowhere, worker, made.table, made.file).rows == 3


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "null",
        "[" * 100_000,
        json.dumps({"version": PROFILE_VERSION}),
        json.dumps({"version": PROFILE_VERSION - 1, "profile": {}}),
        json.dumps(
            {"version": PROFILE_VERSION, "profile": {"table": "another", "rows": 0, "columns": []}}
        ),
    ],
)
def test_a_damaged_cache_is_computed_anew(worker: Worker, tmp_path: Path, damage: str) -> None:
    made = make_table(tmp_path, {"a": [1, 2, 3]})
    profile_file(tmp_path, made.table).write_text(damage, encoding="utf-8")
    assert cached_profile(tmp_path, worker, made.table, made.file).columns[0].maximum == 3
    assert cached_profile(tmp_path, NoWorker(), made.table, made.file).columns[0].maximum == 3


def test_joins_are_found_by_name_and_counted(worker: Worker, tmp_path: Path) -> None:
    numbers = list(range(1, 201))
    codes = [f"P-{at:03}" for at in range(42)]
    made: dict[str, dict[str, Any]] = {
        "orders": {"id": numbers, "customer_id": [at % 90 + 1 for at in numbers]},
        "customers": {"id": numbers[:100], "status": ["open", "paid"] * 50},
        "catalogue": {"product_code": codes[2:], "stock": list(range(40))},
    }
    made["orders"]["product"] = [codes[at % 40] for at in numbers]
    tables = [
        profiled(worker, make_table(tmp_path, columns, name=name)) for name, columns in made.items()
    ]
    found = {
        (join.left, join.left_column, join.right, join.right_column): join.overlap
        for join in find_joins(worker, tables)
    }
    assert found == {
        ("id-of-orders", "customer_id", "id-of-customers", "id"): 1.0,
        ("id-of-orders", "product", "id-of-catalogue", "product_code"): 0.95,
    }
    assert find_joins(worker, tables[:1]) == ()


def test_what_meets_by_chance_is_no_join(worker: Worker, tmp_path: Path) -> None:
    both = {
        "Unnamed: 0": list(range(50)),
        "id": list(range(50)),
        "rating": [at % 5 for at in range(50)],
    }
    one = make_table(tmp_path, {**both, "name": [f"a{at}" for at in range(50)]}, name="one")
    two = make_table(tmp_path, {**both, "name": [f"b{at}" for at in range(50)]}, name="two")
    assert find_joins(worker, [profiled(worker, one), profiled(worker, two)]) == ()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["AB-31", "CD-12"], "'AA-99' in 100 %"),
        ([*"aaabbcc"], "3 groups of 2 to 3 rows, 2 in the middle; 3 have fewer than 5 rows"),
    ],
)
def test_forms_and_groups_are_told(
    worker: Worker, tmp_path: Path, values: list[str], said: str
) -> None:
    assert said in said_of(worker, tmp_path, values)
