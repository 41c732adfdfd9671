"""kill -9 while tables are added and replaced, and two processes that add at once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from secondlook.library.library import Library
from secondlook.tables.query import Measure, Query, Term

if TYPE_CHECKING:
    from pathlib import Path

TABLES = 3
KILLS = 30 if os.environ.get("SECONDLOOK_SOAK") else 2
ADD = """
import sys
from secondlook.library.library import Library
with Library.open(sys.argv[2]) as library:
    library.add([sys.argv[1]], done=lambda c: print(c.change, c.path, flush=True))
"""
Held = dict[str, tuple[int, object]]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")


def write_tables(folder: Path, *, seed: int, rows: int) -> None:
    folder.mkdir(exist_ok=True)
    rng = random.Random(seed)
    for number in range(TABLES):
        lines = "".join(f"{n},{rng.randint(0, 999)}\n" for n in range(rows))
        (folder / f"table{number}.csv").write_text("n,value\n" + lines, encoding="utf-8")


def start(folder: Path, library: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ADD, folder, library], stdout=subprocess.PIPE, text=True
    )


def held(library: Library) -> Held:
    """What each table comes to, by path; every one of them can be computed with."""
    desk = library.desk()
    measure = Measure(name="sum", statistic="sum", of=Term(column="value"))
    found: Held = {}
    for table in desk.tables():
        computed = desk.compute(Query(table=table.id, measures=(measure,)))
        assert table.path is not None
        found[table.path] = (table.rows, computed.rows[0][0])
    return found


def strays(library: Library) -> set[str]:
    """What lies among the tables and belongs to none."""
    known = {table.id for table in library.tables()}
    names = {path.name for path in (library.path / "tables").iterdir() if path.name != "records"}
    return {name for name in names if name.partition(".")[0] not in known}


def test_kill_while_tables_are_replaced(tmp_path: Path) -> None:
    folder, first, calm = tmp_path / "data", tmp_path / "first", tmp_path / "calm"
    write_tables(folder, seed=1, rows=20)
    start(folder, first).communicate()
    with Library.open(first) as library:
        before = held(library)
    write_tables(folder, seed=2, rows=3000)
    shutil.copytree(first, calm)
    began = time.monotonic()
    start(folder, calm).communicate()
    duration = time.monotonic() - began
    with Library.open(calm) as library:
        wanted = held(library)
        assert strays(library) == set()
    assert len(wanted) == len(before) == TABLES
    rng = random.Random(5)
    for number in range(KILLS):
        path = tmp_path / f"killed{number}"
        shutil.copytree(first, path)
        disturb(folder, path, rng.uniform(0.4, 1.0) * duration, before, wanted)


def disturb(folder: Path, path: Path, moment: float, before: Held, wanted: Held) -> None:
    child = start(folder, path)
    try:
        child.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    reported, _ = child.communicate()
    with Library.open(path, create=False) as library:
        state = held(library)
    for line in reported.splitlines():
        _, file = line.split(" ", 1)
        assert state[file] == wanted[file], f"{file} was reported"
    for file, found in state.items():
        assert found in {before[file], wanted[file]}, f"{file} is held in part"
    start(folder, path).communicate()
    with Library.open(path, create=False) as library:
        assert held(library) == wanted
        assert strays(library) == set()


def test_two_processes_add_at_once(tmp_path: Path) -> None:
    library = tmp_path / "library"
    for name in ("one", "two"):
        write_tables(tmp_path / name, seed=len(name), rows=50)
    children = [start(tmp_path / name, library) for name in ("one", "two")]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    with Library.open(library, create=False) as opened:
        # Both folders hold the same contents: each is one document, and one table.
        assert len(opened.tables()) == TABLES
        assert strays(opened) == set()
        assert {rows for rows, _ in held(opened).values()} == {50}


def test_a_reader_follows_what_a_writer_replaces(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write_tables(folder, seed=1, rows=20)
    with Library.open(tmp_path / "library") as reader:
        reader.add(folder)
        before = held(reader)
        write_tables(folder, seed=2, rows=30)
        start(folder, reader.path).communicate()
        after = held(reader)
    assert set(before) == set(after)
    assert {rows for rows, _ in after.values()} == {30}
