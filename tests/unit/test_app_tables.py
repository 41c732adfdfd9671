"""Tables that are handed over with a question."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from secondlook.engine import tables as app_tables
from secondlook.engine.tables import check_tables, handed_to, take_over, workflow_for
from secondlook.errors import ExtractionError, SecondlookError, UsageError
from secondlook.settings.sections import RunSettings
from secondlook.store.tables import tables_folder
from secondlook.tables.worker import Worker
from tests.support.engine import settings_of
from tests.support.workbooks import write_workbook

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


def test_a_run_without_tables(runs: RunSettings) -> None:
    assert handed_to("r1", runs) is None


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


def test_sheets_of_the_same_book_keep_their_names(
    runs: RunSettings, worker: Worker, tmp_path: Path
) -> None:
    sheets = dict.fromkeys(("Q1", "Q2, late"), (("pieces",), (3,), (4,)))
    book = write_workbook(tmp_path / "book.xlsx", sheets)
    found = [
        [table.name for table, _ in handed.entries]
        for run in ("r1", "r2")
        if (handed := take_over({"b": book}, run=run, runs=runs, worker=worker))
    ]
    assert found == [["b_q1", "b_q2_late"]] * 2


def test_where_nothing_is_recorded_nothing_stays(worker: Worker, runs: RunSettings) -> None:
    none = runs.model_copy(update={"keep": 0})
    handed = take_over({"rows": ROWS}, run="r1", runs=none, worker=worker)
    assert handed.passing
    assert handed.folder.is_dir()
    handed.close()
    assert not handed.folder.exists()
    assert not tables_folder(runs.path).exists()


def test_a_record_that_cannot_be_written_costs_no_answer(worker: Worker, runs: RunSettings) -> None:
    runs.path.parent.mkdir()
    tables_folder(runs.path).write_text("in the way", encoding="utf-8")
    handed = take_over({"rows": ROWS}, run="r1", runs=runs, worker=worker)
    assert handed.passing
    handed.close()


def test_old_tables_make_room(worker: Worker, runs: RunSettings) -> None:
    few = runs.model_copy(update={"keep": 2})
    for number in range(4):
        handed = take_over({"rows": [{"n": number}]}, run=f"r{number}", runs=few, worker=worker)
        os.utime(handed.folder, (1000 + number, 1000 + number))
    assert sorted(path.name for path in tables_folder(runs.path).iterdir()) == ["r2", "r3"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": None}, "'x' is of type 'NoneType'"),
        ({"x": 3}, "'x' is of type 'int'"),
        ({"x": b"a,b"}, "'x' is of type 'bytes'"),
        ({"x": "no such file.csv"}, "does not exist"),
        ({"x": "."}, "is a folder"),
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


def test_a_broken_file_is_told(worker: Worker, runs: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ExtractionError):
        take_over({"a": tmp_path / "a.parquet"}, run="r1", runs=runs, worker=worker)


@pytest.mark.parametrize(
    ("contents", "why"), [(b"", "the file is empty"), (b"a,b\n", "a header and no rows")]
)
def test_which_of_several_tables_cannot_be_read(
    worker: Worker, runs: RunSettings, sales: Path, contents: bytes, why: str
) -> None:
    file = sales.with_name("2023.csv")
    file.write_bytes(contents)
    with pytest.raises(SecondlookError, match=why) as raised:
        take_over({"sales": sales, "old": file}, run="r", runs=runs, worker=worker)
    assert "the table 'old' cannot be read from '2023.csv'" in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("given", [ROWS, "sales.csv", {}, {"": ROWS}, {3: ROWS}])
def test_what_are_no_tables_by_name(given: object) -> None:
    with pytest.raises(UsageError):
        check_tables(given)


def test_too_many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_tables, "_MOST_TABLES", 1)
    with pytest.raises(UsageError, match="2 tables are given"):
        check_tables({"a": ROWS, "b": ROWS})


def test_which_workflow_is_meant() -> None:
    usual, plain = settings_of(), settings_of(answer={"workflow": "linear"})
    assert workflow_for(None, None, usual) is None
    assert workflow_for(None, "linear", usual) == "linear"
    assert workflow_for({"a": ROWS}, None, usual) == "auto"
    assert workflow_for({"a": ROWS}, None, plain) == "analyst"
    assert workflow_for({"a": ROWS}, "auto", plain) == "auto"
    with pytest.raises(UsageError, match="'linear' does not compute"):
        workflow_for({"a": ROWS}, "linear", usual)
