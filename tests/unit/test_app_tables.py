"""Tables that are handed over with a question."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from secondlook.engine.request import check_tables, workflow_for
from secondlook.errors import SecondlookError, UsageError
from secondlook.settings.sections import RunSettings
from secondlook.store.tables import handed_to, tables_folder, take_over
from secondlook.tables.worker import Worker
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = [{"region": "north", "price": 10}, {"region": "south", "price": 20}]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.fixture
def runs(tmp_path: Path) -> RunSettings:
    return RunSettings(path=tmp_path / "record" / "runs.db", keep=5)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    file = tmp_path / "sales.csv"
    file.write_text("region,price\nnorth,10\nsouth,20\n", encoding="utf-8")
    return file


def test_every_form_of_table(runs: RunSettings, worker: Worker, sales: Path) -> None:
    import pandas as pd

    handed = take_over(
        {
            "frame": pd.DataFrame(ROWS),
            "arrow": pa.table({"a": [1]}),
            "My rows": ROWS,
            "columns": {"a": [1, 2, 3]},
            "file": sales,
            "text": str(sales),
        },
        run="r1",
        runs=runs,
        worker=worker,
    )
    found = {table.name: (table.rows, table.path) for table, _ in handed.entries}
    assert found == {
        "frame": (2, None),
        "arrow": (1, None),
        "my_rows": (2, None),
        "columns": (3, None),
        "file": (2, str(sales)),
        "text": (2, str(sales)),
    }
    assert all(file.is_file() for _, file in handed.entries)
    again = handed_to("r1", runs)
    assert again is not None
    assert again.entries == handed.entries
    handed.close()
    assert handed_to("r1", runs) is not None


def test_the_same_file_is_read_once(
    runs: RunSettings, worker: Worker, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from secondlook.tables.desk import cached_profile

    first = take_over({"sales": sales}, run="r1", runs=runs, worker=worker)
    [(table, file)] = first.entries
    profile = cached_profile(first.folder, worker, table, file)
    monkeypatch.setattr("secondlook.tables.read.read_tables", None)
    moved = sales.rename(sales.with_name("other name.csv"))
    second = take_over({"turnover": moved}, run="r2", runs=runs, worker=worker)
    shutil.rmtree(first.folder)
    [(again, shared)] = second.entries
    assert (again.id, again.name, again.title) == (table.id, "turnover", "other name.csv")
    assert again.path == str(moved)
    assert shared.is_file()
    monkeypatch.setattr("secondlook.tables.desk.profile_table", None)
    assert cached_profile(second.folder, worker, again, shared) == profile


def test_where_nothing_is_recorded_nothing_stays(worker: Worker, runs: RunSettings) -> None:
    none = runs.model_copy(update={"keep": 0})
    handed = take_over({"rows": ROWS}, run="r1", runs=none, worker=worker)
    assert handed.passing
    assert handed.folder.is_dir()
    handed.close()
    assert not handed.folder.exists()
    assert not tables_folder(runs.path).exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": None}, "'x' is of type 'NoneType'"),
        ({"x": 3}, "'x' is of type 'int'"),
        ({"x": b"a,b"}, "'x' is of type 'bytes'"),
        ({"x": "no such file.csv"}, "No such file"),
        ({"x": "."}, "Is a directory"),
        ({"x": []}, ""),
        ({"x": object()}, ""),
    ],
)
def test_what_is_no_table_is_told_and_leaves_nothing(
    worker: Worker, runs: RunSettings, given: dict[str, object], words: str
) -> None:
    with pytest.raises(SecondlookError) as caught:
        take_over(given, run="r1", runs=runs, worker=worker)
    assert words in str(caught.value)
    assert not (tables_folder(runs.path) / "r1").exists()


@pytest.mark.parametrize("given", [ROWS, "sales.csv", {}, {"": ROWS}, {3: ROWS}])
def test_what_are_no_tables_by_name(given: object) -> None:
    with pytest.raises(UsageError):
        check_tables(given)


def test_which_workflow_is_meant() -> None:
    usual, plain = settings_of(), settings_of(answer={"workflow": "linear"})
    assert workflow_for({"a": ROWS}, None, usual) == "auto"
    assert workflow_for({"a": ROWS}, None, plain) == "analyst"
    assert workflow_for({"a": ROWS}, "auto", plain) == "auto"
    with pytest.raises(UsageError, match="'linear' does not compute"):
        workflow_for({"a": ROWS}, "linear", usual)
