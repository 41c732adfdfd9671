"""kill -9 at random moments of `add`: nothing reported is lost, nothing is held in part, and the
same command completes to the state of an undisturbed run."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("tide", "quay", "basin", "crane", "pilot", "berth", "lock", "buoy", "rope", "mast", "fog")
KILLS = 50 if os.environ.get("SECONDLOOK_SOAK") else 1
ADD = """
import sys
from secondlook.library import ingest
from secondlook.library.library import Library
ingest._COMMIT_PASSAGES, ingest._COMMIT_SECONDS = 12, 1.0
with Library.open(sys.argv[2]) as library:
    library.add([sys.argv[1]], prune=True, done=lambda c: print(c.change, c.path, flush=True))
"""
Held = dict[str, tuple[tuple[str, tuple[str, ...], bytes], ...]]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")


def sentences(seed: int, count: int) -> str:
    rng = random.Random(seed)
    made = (" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(count))
    return "\n\n".join(made)


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
    for number in range(60 if KILLS > 1 else 20):
        (folder / f"new{number:02}.txt").write_text(sentences(200 + number, 12), encoding="utf-8")


def start(folder: Path, library: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADD, str(folder), str(library)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def held(library: Library) -> Held:
    """Every document by path, with its entries whole; asserts that nothing else is held."""
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
        for path in document.paths:
            found[path] = tuple(
                (
                    entry.text,
                    tuple(label for label in entry.labels if not label.startswith("@")),
                    np.asarray(vectors[entry.id]).tobytes(),
                )
                for entry in entries
            )
    assert index.stats().passages == passages
    return found


def test_kill_at_random_moments(tmp_path: Path) -> None:
    folder, calm, first = tmp_path / "notes", tmp_path / "calm", tmp_path / "first"
    write_first_state(folder)
    start(folder, first).communicate()
    with Library.open(first) as library:
        before = held(library)
    write_second_state(folder)
    shutil.copytree(first, calm)
    began = time.monotonic()
    start(folder, calm).communicate()
    duration = time.monotonic() - began
    with Library.open(calm) as library:
        wanted = held(library)
    assert set(wanted) == {str(path) for path in folder.rglob("*.txt")}

    rng = random.Random(7)
    for number in range(KILLS):
        library_path = tmp_path / f"killed{number}"
        shutil.copytree(first, library_path)
        disturb(folder, library_path, rng.uniform(0.3, 1.0) * duration, before, wanted)
        shutil.rmtree(library_path)


def disturb(folder: Path, library_path: Path, moment: float, before: Held, wanted: Held) -> None:
    child = start(folder, library_path)
    try:
        child.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    reported, _ = child.communicate()
    with Library.open(library_path, create=False) as library:
        state = held(library)
    for change, path in (line.split(" ", 1) for line in reported.splitlines()):
        if change in {"added", "updated", "moved", "unchanged"}:
            assert state[path] == wanted[path], f"{path} was reported {change}"
    for path, entries in state.items():
        assert entries in {wanted.get(path), before.get(path)}, f"{path} is held in part"
    start(folder, library_path).communicate()
    with Library.open(library_path, create=False) as library:
        assert held(library) == wanted


def test_kill_while_the_library_is_made(tmp_path: Path) -> None:
    """The first second of a library's life: imports, folders, manifest, first commit."""
    folder = tmp_path / "notes"
    write_first_state(folder)
    rng = random.Random(11)
    for number in range(max(1, KILLS // 5)):
        library_path = tmp_path / f"library{number}"
        child = start(folder, library_path)
        try:
            child.wait(timeout=rng.uniform(0.2, 2.0))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.communicate()
        try:
            with Library.open(library_path, create=False) as library:
                held(library)
        except LibraryMissing:
            pass
        start(folder, library_path).communicate()
        with Library.open(library_path, create=False) as library:
            assert len(held(library)) == 30
