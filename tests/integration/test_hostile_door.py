"""Bad conditions at the library's door: each is one clear error, and nothing stored is lost."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from secondlook.cli.main import main
from secondlook.errors import LibraryDamaged
from secondlook.library.library import Library
from secondlook.library.report import Progress, Text
from tests.support.unprivileged import SECONDLOOK, environment, with_small_files

TEXTS = [
    Text(f"note{number}", f"Ferry number {number} leaves the north quay at seven.")
    for number in range(5)
]
COUNT = 30
"""Files for Ctrl-C: several rounds of embedding, for a round that has begun is completed."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("door") / "library"
    with Library.open(path) as library:
        library.add_texts(TEXTS)
    return path


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "library")


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def cut_in_half(*files: Path) -> None:
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def catalog(library: Path) -> Path:
    return library / "g1" / "catalog.db"


def index(library: Path) -> Path:
    return library / "g1" / "index"


def rewrite_manifest(library: Path, **changes: object) -> None:
    file = library / "library.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes), encoding="utf-8")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "catalog cut": lambda path: cut_in_half(catalog(path)),
    "catalog gone": lambda path: catalog(path).unlink(),
    "index gone": lambda path: shutil.rmtree(index(path)),
    "index cut": lambda path: cut_in_half(*files_below(index(path) / "data")),
    "manifest of noise": lambda path: (path / "library.json").write_bytes(b"\xff\xfe{]"),
    "manifest from the future": lambda path: rewrite_manifest(path, format=99),
    "other dimensions": lambda path: rewrite_manifest(path, dimensions=7),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_and_nothing_is_touched(
    copy: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    DAMAGES[damage](copy)
    before = {path: path.read_bytes() for path in files_below(copy / "texts")}
    document = copy.parent / "new.txt"
    document.write_text("New words.")
    for command in (["search", "ferry", "--no-rerank"], ["add", str(document)]):
        code = main([*command, "--library", str(copy)])
        said = capsys.readouterr().err
        assert code == 1, said
        assert "error: " in said
        assert "hint: " in said
        assert "Unexpected" not in said
        assert "--debug" not in said
    assert {path: path.read_bytes() for path in before} == before


def test_a_lost_text_costs_that_text_alone(copy: Path) -> None:
    cut_in_half(files_below(copy / "texts")[0])
    with Library.open(copy) as library:
        outcomes = []
        for document in library.documents():
            try:
                outcomes.append(library.text(document.id).text)
            except LibraryDamaged as error:
                outcomes.append(error.hint or "")
        assert sum(text.startswith("Ferry") for text in outcomes) == len(TEXTS) - 1
        assert any("secondlook add --force" in text for text in outcomes)
    with pytest.raises(LibraryDamaged):
        Library.rebuild(copy)
    assert not (copy / "g2").exists()
    with Library.open(copy) as library:
        # What cannot be compared with its text is not shown.
        with pytest.raises(LibraryDamaged, match="stored text"):
            library.search("ferry", rerank=False)
        whole = [one.id for one in library.documents() if _is_whole(library, one.id)]
        found = library.search("ferry", rerank=False, documents=whole)
        assert len(found) == len(whole) == len(TEXTS) - 1


def _is_whole(library: Library, document: str) -> bool:
    try:
        return bool(library.text(document))
    except LibraryDamaged:
        return False


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[bool]:
    """A file system of its own that is soon full, where the system lets us make one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    able = sys.platform == "linux" and os.geteuid() == 0
    mounted = able and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.skipif(os.name == "nt", reason="needs a file system of limited size")
def test_a_full_disk_loses_nothing(made: Path, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for number in range(6):
        words = " ".join(f"word{number}x{place}" for place in range(150))
        (papers / f"long{number}.txt").write_text(words)
    with small_disk(tmp_path / "disk", 1) as mounted:
        library = shutil.copytree(made, tmp_path / "disk" / "library")
        if mounted:
            free = shutil.disk_usage(library).free
            (tmp_path / "disk" / "ballast").write_bytes(bytes(free - 80_000))
        command = [*SECONDLOOK, "add", str(papers), "--library", str(library)]
        done = subprocess.run(
            command if mounted else with_small_files(command, 20_000),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "error: " in done.stderr
        assert "hint: check that the disk has room" in done.stderr
        room = shutil.copytree(library, tmp_path / "room")
    with Library.open(room) as opened:
        names = {path for document in opened.documents() for path in document.paths}
        assert {f"text:{text.name}" for text in TEXTS} <= names
        assert len(opened.search("ferry", rerank=False)) >= len(TEXTS)
        assert not opened.add([papers]).failed
        assert len(opened.documents()) == len(TEXTS) + 6


def test_a_file_that_vanishes_after_it_was_seen(folder: Path, library: Library) -> None:
    gone = folder / "a-note.txt"
    gone.write_text("Here now, gone soon.")
    # Act once, at the moment when `add` turns to the file of that name.
    acted: list[bool] = []

    def progress(now: Progress) -> None:
        if now.stage == "looking" and now.current.endswith("bakery.md") and not acted:
            acted.append(True)
            gone.unlink()

    report = library.add([folder], progress=progress)
    assert [item.path for item in report.failed] == [str(gone)]
    assert report.count("added") == 2
