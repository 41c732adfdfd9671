"""kill -9 at random moments of `add`: nothing reported is lost, nothing is held in part, and the
same command completes to the state of an undisturbed run. Tables are held to the same."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.errors import LibraryMissing
from secondlook.library.library import Library
from secondlook.tables.query import Measure, Query, Term

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Held = dict[str, object]

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
ADD = """
import sys
from secondlook.library import ingest
from secondlook.library.library import Library
ingest._COMMIT_PASSAGES, ingest._COMMIT_SECONDS = 12, 1.0
with Library.open(sys.argv[2]) as library:
    library.add([sys.argv[1]], prune=True, done=lambda c: print(c.change, c.path, flush=True))
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")


def start(folder: Path, library: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADD, str(folder), str(library)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed(folder: Path, library: Path, moment: float) -> list[list[str]]:
    """Changes and paths that it reported before it was killed, or ended."""
    child = start(folder, library)
    try:
        child.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    return [line.split(" ", 1) for line in child.communicate()[0].splitlines()]


def kill_at_random(
    place: Path,
    folder: Path,
    change: Callable[[], None],
    held: Callable[[Path], Held],
    *,
    complete: Callable[[Path], Held],
    kills: int,
    earliest: float,
) -> tuple[Held, Held]:
    """What the library holds of the folder before the change and after it, whatever was killed in
    between; `complete` looks at it where nothing was. `earliest` is a share of the time that the
    change takes."""
    first, calm = place / "first", place / "calm"
    start(folder, first).communicate()
    before = complete(first)
    change()
    shutil.copytree(first, calm)
    began = time.monotonic()
    start(folder, calm).communicate()
    duration = time.monotonic() - began
    wanted = complete(calm)
    rng = random.Random(7)
    for _ in range(kills):
        library = shutil.copytree(first, place / "killed")
        reported = killed(folder, library, rng.uniform(earliest, 1.0) * duration)
        state = held(library)
        for kind, path in reported:
            if kind in {"added", "updated", "moved", "unchanged"}:
                assert state[path] == wanted[path], f"{path} was reported {kind}"
        for path, entries in state.items():
            assert entries in {wanted.get(path), before.get(path)}, f"{path} is held in part"
        start(folder, library).communicate()
        assert complete(library) == wanted
        shutil.rmtree(library)
    return before, wanted


# Documents

WORDS = ("tide", "quay", "basin", "crane", "pilot", "berth", "lock", "buoy", "rope", "mast", "fog")


def sentences(seed: int, count: int) -> str:
    rng = random.Random(seed)
    return "\n\n".join(" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(count))


def write_first_state(folder: Path) -> None:
    folder.mkdir()
    for number in range(30):
        (folder / f"note{number:02}.txt").write_text(sentences(number, 12), encoding="utf-8")


def write_second_state(folder: Path) -> None:
    """Some files change, some go, some move, many come: every kind of commit is in the run."""
    for number in range(10):
        (folder / f"note{number:02}.txt").write_text(sentences(100 + number, 12), encoding="utf-8")
    for number in range(10, 14):
        (folder / f"note{number:02}.txt").unlink()
    (folder / "moved").mkdir()
    (folder / "note14.txt").rename(folder / "moved" / "note14.txt")
    for number in range(60 if SOAK else 20):
        (folder / f"new{number:02}.txt").write_text(sentences(200 + number, 12), encoding="utf-8")


def held_documents(path: Path) -> Held:
    """Every document by path, with its entries whole; asserts that nothing else is held."""
    with Library.open(path, create=False) as library:
        index = library._stores.index
        found: Held = {}
        passages = 0
        for document in library.documents():
            ids = [f"{document.id}.{n}" for n in range(document.passages)]
            entries, vectors = index.fetch(ids), index.vectors(ids)
            assert len(entries) == document.passages, document
            text = library.text(document.id).text
            assert all(text[entry.start : entry.end] == entry.text for entry in entries)
            passages += len(entries)
            whole = tuple(
                (
                    entry.text,
                    tuple(label for label in entry.labels if not label.startswith("@")),
                    np.asarray(vectors[entry.id]).tobytes(),
                )
                for entry in entries
            )
            found |= dict.fromkeys(document.paths, whole)
        assert index.stats().passages == passages
        return found


def test_kill_at_random_moments(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_first_state(folder)
    _, wanted = kill_at_random(
        tmp_path,
        folder,
        lambda: write_second_state(folder),
        held_documents,
        complete=held_documents,
        kills=50 if SOAK else 1,
        earliest=0.3,
    )
    assert set(wanted) == {str(path) for path in folder.rglob("*.txt")}


def test_kill_while_the_library_is_made(tmp_path: Path) -> None:
    """The first second of a library's life: imports, folders, manifest, first commit."""
    folder = tmp_path / "notes"
    write_first_state(folder)
    rng = random.Random(11)
    for number in range(10 if SOAK else 1):
        library = tmp_path / f"library{number}"
        killed(folder, library, rng.uniform(0.2, 2.0))
        with contextlib.suppress(LibraryMissing):
            held_documents(library)
        start(folder, library).communicate()
        assert len(held_documents(library)) == 30


# Tables

TABLES = 3


def write_tables(folder: Path, *, seed: int, rows: int) -> None:
    folder.mkdir(exist_ok=True)
    rng = random.Random(seed)
    for number in range(TABLES):
        lines = "".join(f"{n},{rng.randint(0, 999)}\n" for n in range(rows))
        (folder / f"table{number}.csv").write_text("n,value\n" + lines, encoding="utf-8")


def sums_of(library: Library) -> dict[str, tuple[int, object]]:
    """What each table comes to, by path; every one of them can be computed with."""
    desk = library.desk()
    measure = Measure(name="sum", statistic="sum", of=Term(column="value"))
    found: dict[str, tuple[int, object]] = {}
    for table in desk.tables():
        computed = desk.compute(Query(table=table.id, measures=(measure,)))
        assert table.path is not None
        found[table.path] = (table.rows, computed.rows[0][0])
    return found


def held_tables(path: Path) -> Held:
    with Library.open(path, create=False) as library:
        return {**sums_of(library)}


def strays(library: Library) -> set[str]:
    """What lies among the tables and belongs to none."""
    known = {table.id for table in library.tables()}
    names = {path.name for path in (library.path / "tables").iterdir() if path.name != "records"}
    return {name for name in names if name.partition(".")[0] not in known}


def test_kill_while_tables_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write_tables(folder, seed=1, rows=20)

    def complete(path: Path) -> Held:
        with Library.open(path, create=False) as library:
            assert strays(library) == set()
        return held_tables(path)

    before, wanted = kill_at_random(
        tmp_path,
        folder,
        lambda: write_tables(folder, seed=2, rows=3000),
        held_tables,
        complete=complete,
        kills=30 if SOAK else 2,
        earliest=0.4,
    )
    assert len(wanted) == len(before) == TABLES


def test_two_processes_add_at_once(tmp_path: Path) -> None:
    library = tmp_path / "library"
    for name in ("one", "two"):
        write_tables(tmp_path / name, seed=len(name), rows=50)
    for child in [start(tmp_path / name, library) for name in ("one", "two")]:
        child.communicate()
        assert child.returncode == 0
    with Library.open(library, create=False) as opened:
        # Both folders hold the same contents: each is one document, and one table.
        assert len(opened.tables()) == TABLES
        assert strays(opened) == set()
        assert {rows for rows, _ in sums_of(opened).values()} == {50}


def test_a_reader_follows_what_a_writer_replaces(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write_tables(folder, seed=1, rows=20)
    with Library.open(tmp_path / "library") as reader:
        reader.add(folder)
        before = sums_of(reader)
        write_tables(folder, seed=2, rows=30)
        start(folder, reader.path).communicate()
        after = sums_of(reader)
    assert set(before) == set(after)
    assert {rows for rows, _ in after.values()} == {30}
