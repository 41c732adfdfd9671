"""`secondlook watch`, as a process beside the test: the library follows its folder, and nothing is
lost by a kill, by a disk that goes away or by another writer."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import UsageError
from secondlook.library import about, watch
from secondlook.library.library import Library
from secondlook.library.manifest import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
FILES = 200 if SOAK else 16
PATIENCE = 120.0

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")


@contextmanager
def watched(library: Path, *folders: Path, sign: int = signal.SIGINT) -> Iterator[Path]:
    """Watched by a process until the block ends; gives the file that holds what it says."""
    told = library.parent / f"told-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "secondlook", "watch", *map(str, folders)]
    with told.open("wb") as out:
        child = subprocess.Popen([*command, "--library", str(library)], stdout=out, stderr=out)
        try:
            yield told
        finally:
            child.send_signal(sign)
            began = time.monotonic()
            child.wait(PATIENCE)
            if sign == signal.SIGINT:
                assert child.returncode == 130, told.read_text("utf-8")
                assert time.monotonic() - began < 10


def wait_until(holds: Callable[[], Any], *, within: float = PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def held(library: Path) -> dict[str, str]:
    """Each file's document. A moved one keeps the title that its old name gave it."""
    if not (library / "library.json").exists():
        return {}
    with Library.open(library, create=False) as opened:
        return {
            path: f"{one.id}, {one.passages} passages"
            for one in opened.documents()
            for path in one.paths
        }


def fresh(folder: Path, library: Path) -> tuple[dict[str, str], float]:
    began = time.monotonic()
    with Library.open(library) as opened:
        opened.add([folder])
    return held(library), time.monotonic() - began


def write(folder: Path, number: int, what: str = "first") -> None:
    place = folder / f"part {number % 4}" / f"note {number}.txt"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"The {what} note has the number {number}.\n" * 8, "utf-8")


def shuffle(folder: Path) -> None:
    """Adds, changes, renames and deletes, a fourth of the files each."""
    files = sorted(path for path in folder.rglob("*.txt"))
    random.Random(3).shuffle(files)
    fourth = len(files) // 4
    for number in range(FILES, FILES + fourth):
        write(folder, number, "late")
    for path in files[:fourth]:
        path.write_text(f"Changed: {path.name}\n", "utf-8")
    for path in files[fourth : 2 * fourth]:
        path.rename(path.with_name(f"renamed {path.name}"))
    for path in files[2 * fourth : 3 * fourth]:
        path.unlink()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    for number in range(FILES):
        write(made, number)
    return made


@pytest.mark.unmeasured
def test_a_folder_is_followed_through_a_kill(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    with watched(library, folder, sign=signal.SIGKILL):
        wait_until(lambda: len(held(library)) == FILES)
        shuffle(folder)
        time.sleep(random.Random(FILES).uniform(0.5, 2))  # in the middle of it
    with watched(library) as told:  # it knows which folder
        for number in range(0, FILES, 2):
            write(folder, number, "second")
        wanted, duration = fresh(folder, tmp_path / "fresh")
        within = 1.5 * duration + 10 if SOAK else PATIENCE  # a busy machine is no fault
        wait_until(lambda: held(library) == wanted, within=within)
        if not SOAK:  # what moves is not read again
            wait_until(lambda: "Watching" in told.read_text("utf-8"))
            (folder / "part 0").rename(folder / "part 9")
            wait_until(lambda: " moved" in told.read_text("utf-8"))
    with Library.open(library) as opened:
        assert opened.status().watched == (str(folder),)
        assert not opened.check()


@pytest.mark.unmeasured
def test_a_folder_that_goes_away_or_is_emptied_loses_nothing(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    away = tmp_path / "away"
    with watched(library, folder) as told:
        wait_until(lambda: len(held(library)) == FILES)
        folder.rename(away)
        wait_until(lambda: "it is not there; nothing is removed" in told.read_text("utf-8"))
        folder.mkdir()  # as the place of a disk is left behind
        wait_until(lambda: "it is empty; nothing is removed" in told.read_text("utf-8"))
        assert len(held(library)) == FILES
        folder.rmdir()
        (away / "part 1" / "note 1.txt").unlink()
        away.rename(folder)
        wait_until(lambda: len(held(library)) == FILES - 1)
        shutil.rmtree(folder / "part 2")
        wait_until(lambda: len(held(library)) < FILES - 1)
        with writing(library, wait=60):
            write(folder, 77)
            wait_until(lambda: "waiting for pid" in told.read_text("utf-8"))
        wait_until(lambda: str(folder / "part 1" / "note 77.txt") in held(library))


def test_the_list_of_folders_is_kept_with_the_library(folder: Path, tmp_path: Path) -> None:
    with Library.open(tmp_path / "library") as library:
        place = library.path
        for wrong in (folder / "no such", place, place / "uploads"):
            with pytest.raises(UsageError):
                about.keep_in_step(place, [wrong])
        both = [folder, folder / "part 1", folder]
        assert about.keep_in_step(place, both).watched == tuple(map(str, both[:2]))
        about.entitle(place, " Tax\npapers\x1b 2024 ")
        assert about.about(place).title == "Tax papers 2024"
        about.keep_in_step(place, [folder], on=False)
        assert library.status().watched == (str(folder / "part 1"),)
        (place / about.FILE_NAME).write_text("[1]", "utf-8")
        with pytest.raises(Exception, match="cannot be read"):
            library.status()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="watchfiles") as caught:
        watch.require_watchfiles()
    assert caught.value.hint == "pip install watchfiles"
