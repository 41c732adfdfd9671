"""The process that works on tables: bounded, replaced when it dies, gone when it is closed."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped,unused-ignore]
import pytest

from secondlook.errors import Damaged, NoText, TableError
from secondlook.tables.read import read_tables
from secondlook.tables.worker import Worker, WorkerLimits

ENDLESS = (
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as shared:
        yield shared


def select(worker: Worker, sql: str, *, seconds: float | None = 30, **more: Any) -> Any:
    return worker.call("worker_process:select", seconds=seconds, sql=sql, **more)


def process_of(worker: Worker) -> psutil.Process:
    return psutil.Process(worker.pid)


def test_only_given_files_can_be_opened(worker: Worker, tmp_path: Path) -> None:
    given, other = tmp_path / "it's given.csv", tmp_path / "other.csv"
    given.write_text("a\n1\n")
    other.write_text("a\n2\n")
    sql = "SELECT * FROM read_csv(?)"
    with pytest.raises(TableError, match="disabled by configuration"):
        select(worker, sql, parameters=[str(other)])
    assert select(worker, sql, parameters=[given])["rows"] == [["1"]]
    with pytest.raises(TableError, match="disabled by configuration"):
        select(worker, "SELECT content FROM read_text('/etc/hostname')", parameters=[])


@pytest.mark.parametrize(
    "sql",
    [
        "SET memory_limit = '10GB'",
        "SET enable_external_access = true",
        "LOAD httpfs",
        "ATTACH 'x.db'",
        "COPY (SELECT 1) TO 'x.csv'",
        "SELECT * FROM 'https://example.org/x.parquet'",
    ],
)
def test_nothing_outside_can_be_reached(worker: Worker, sql: str) -> None:
    with pytest.raises(TableError):
        select(worker, sql)


def test_a_task_that_overruns_is_killed_and_the_next_one_runs() -> None:
    with Worker() as worker:
        select(worker, "SELECT 1")
        first = process_of(worker)
        with pytest.raises(TableError, match=r"longer than 0\.3 s"):
            select(worker, ENDLESS, seconds=0.3)
        assert not first.is_running()
        assert select(worker, "SELECT 2")["rows"] == [["2"]]


def test_a_death_at_work_is_told() -> None:
    with Worker() as worker:
        select(worker, "SELECT 1")
        killer = threading.Timer(0.2, process_of(worker).kill)
        killer.start()
        with pytest.raises(TableError, match="died"):
            select(worker, ENDLESS)
        killer.join()
        assert select(worker, "SELECT 2")["rows"] == [["2"]]


def test_memory_is_bounded() -> None:
    with Worker(WorkerLimits(memory=64 << 20, spill_bytes=1 << 20)) as worker:
        with pytest.raises(TableError, match="memory"):
            select(
                worker, "SELECT max(len(l)) FROM (SELECT list(i) AS l FROM range(50000000) t(i))"
            )
        assert select(worker, "SELECT 2")["rows"] == [["2"]]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
def test_the_whole_process_is_bounded() -> None:
    import resource

    with Worker(WorkerLimits(address_space=5 << 30)) as worker:
        select(worker, "SELECT 1")
        pid = process_of(worker).pid
        assert resource.prlimit(pid, resource.RLIMIT_AS)[0] == 5 << 30  # type: ignore[attr-defined,unused-ignore]
        assert resource.prlimit(pid, resource.RLIMIT_CORE)[0] == 0  # type: ignore[attr-defined,unused-ignore]


def test_closing_ends_a_busy_worker() -> None:
    worker = Worker()
    select(worker, "SELECT 1")
    process = process_of(worker)
    closer = threading.Timer(0.2, worker.close)
    closer.start()
    with pytest.raises(TableError):
        select(worker, ENDLESS)
    closer.join()
    assert not process.is_running()
    worker.close()
    assert worker.pid is None
    with pytest.raises(TableError, match="closed"):
        select(worker, "SELECT 1")


def test_closing_ends_a_worker_that_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in that moment left its task running until its time was over."""
    worker = Worker()
    start = subprocess.Popen

    def closed_meanwhile(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        closer.start()
        assert worker._closed.wait(30)
        return start(*arguments, **options)

    closer = threading.Thread(target=worker.close)
    monkeypatch.setattr(subprocess, "Popen", closed_meanwhile)
    with pytest.raises(TableError, match="closed"):
        select(worker, ENDLESS)
    closer.join(30)
    assert not closer.is_alive()
    assert worker.pid is None


SCRIPT = """
    import os, sys
    from pathlib import Path
    from secondlook.tables.worker import Worker
    with Worker() as worker:
        worker.call("worker_process:select", seconds=60, sql="SELECT 1")
        print(worker.pid, worker._process._spill, flush=True)
        worker.call("worker_process:select", seconds=None, sql={sql!r})
"""


def started(sql: str) -> tuple[subprocess.Popen[str], psutil.Process, str]:
    script = textwrap.dedent(SCRIPT.format(sql=sql))
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid, spill = parent.stdout.readline().split(maxsplit=1)
    return parent, psutil.Process(int(pid)), spill.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_no_process_outlives_its_parent(number: str) -> None:
    parent, child, spill = started(ENDLESS)
    with parent:
        parent.send_signal(getattr(signal, number))
        _, said = parent.communicate(timeout=30)
    if number == "SIGINT":
        assert "KeyboardInterrupt" in said
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(timeout=20)
    assert not os.path.exists(spill)  # noqa: PTH110 - printed as text


def test_a_table_lies_under_its_id_and_nothing_else_does(worker: Worker, tmp_path: Path) -> None:
    source, into = tmp_path / "Sales 2020.csv", tmp_path / "tables"
    source.write_text("a,b\n1,x\n2,y\n")
    (read,) = read_tables(source, into, worker=worker)
    assert read.file == into / f"{read.table.id}.parquet"
    assert list(into.iterdir()) == [read.file]
    assert (read.table.name, read.table.title) == ("sales_2020", "Sales 2020.csv")
    assert read.table.path == str(source)
    assert [(one.name, one.type) for one in read.table.columns] == [("a", "integer"), ("b", "text")]
    (again,) = read_tables(source, into, worker=worker, name="other")
    assert again.table.id == read.table.id
    assert again.table.name == "other"
    assert again.file.read_bytes()


def test_sheets_have_names_of_their_own(worker: Worker, tmp_path: Path) -> None:
    import xlsxwriter  # type: ignore[import-untyped]

    path = tmp_path / "book.xlsx"
    book = xlsxwriter.Workbook(str(path))
    for name in ("Q 1", "Q-1"):
        book.add_worksheet(name).write_column(0, 0, ["x", 1, 2])
    book.close()
    first, second = read_tables(path, tmp_path / "out", worker=worker)
    assert (first.table.name, second.table.name) == ("book_q_1", "book_q_1_2")
    assert (first.table.title, second.table.title) == ("book.xlsx, Q 1", "book.xlsx, Q-1")
    assert first.table.id != second.table.id
    assert first.table.sha256 == second.table.sha256


@pytest.mark.parametrize(
    ("name", "data", "kind"), [("empty.csv", b"", NoText), ("t.parquet", b"PAR1xxxxPAR1", Damaged)]
)
def test_nothing_half_written_remains(
    worker: Worker, tmp_path: Path, name: str, data: bytes, kind: type[Exception]
) -> None:
    source, into = tmp_path / name, tmp_path / "tables"
    source.write_bytes(data)
    with pytest.raises(kind):
        read_tables(source, into, worker=worker)
    assert list(into.iterdir()) == []


def test_unknown_tasks_are_refused(worker: Worker) -> None:
    with pytest.raises(TableError, match="no task"):
        worker.call("os:system", seconds=5)
