"""Tables kept with the run that they were handed to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.store import tables as handed
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from pathlib import Path


def put(runs: Path, run: str, *identities: str, sha256: str = "a" * 64, age: int = 0) -> Path:
    folder = handed.run_folder(runs, run)
    folder.mkdir(parents=True)
    tables = []
    for name in identities:
        (folder / f"{name}.parquet").write_bytes(b"x" * 1000)
        tables.append(Table(id=name, name=name, title=name, sha256=sha256, rows=1, columns=()))
    handed.write_names(folder, tables)
    os.utime(folder, (1_700_000_000 - age, 1_700_000_000 - age))
    return folder


def ids(folder: Path) -> list[str]:
    return [table.id for table, _ in handed.handed_tables(folder)]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_the_tables_of_a_run_are_found_again(runs: Path) -> None:
    folder = put(runs, "r1", "t1", "t2")
    assert ids(folder) == ["t1", "t2"]
    (folder / "t1.parquet").unlink()
    assert ids(folder) == ["t2"]


def test_a_shared_file_outlives_the_run_it_came_from(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(runs, "r1", "t1")
    for number, link in enumerate([os.link, None]):
        if link is None:
            monkeypatch.setattr(os, "link", _refuses)
        folder = handed.run_folder(runs, f"later{number}")
        folder.mkdir()
        shared = handed.share(first / "t1.parquet", folder)
        assert shared.read_bytes() == b"x" * 1000
        assert handed.share(first / "t1.parquet", folder) == shared
    handed.forget_tables(runs, "r1")
    assert shared.exists()


def _refuses(*_: object) -> None:
    raise OSError("no links here")


def test_the_oldest_go_first(runs: Path) -> None:
    for age in range(4):
        put(runs, f"r{age}", f"t{age}", age=age)
    handed.keep_within(runs, keep=3)
    assert sorted(path.name for path in handed.tables_folder(runs).iterdir()) == ["r0", "r1", "r2"]
    handed.keep_within(runs, keep=3, most_bytes=1500)
    assert [path.name for path in handed.tables_folder(runs).iterdir()] == ["r0"]
    handed.keep_within(runs, keep=0, most_bytes=0)
    assert [path.name for path in handed.tables_folder(runs).iterdir()] == ["r0"]


def test_tables_go_with_their_run(runs: Path) -> None:
    with RunStore.open(runs) as store:
        for run in ("r1", "r2", "r3"):
            created = f"2024-01-0{run[1]}"
            store.start(run, question="how much", workflow="analyst", created=created)
            store.leave(run)
            put(runs, run, "t1")
        store.prune(2)
        store.remove("r2")
    assert [path.name for path in handed.tables_folder(runs).iterdir()] == ["r3"]
