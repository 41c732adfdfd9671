"""Files that a library keeps itself: their names, their way in, and what a kill leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.library.library import Library
from secondlook.library.uploads import (
    FOLDER,
    MOST_BYTES,
    Staging,
    new_staging,
    originals,
    safe_name,
    sweep,
    unlike,
)
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = [
    ("report.pdf", "report.pdf"),
    ("../../etc/passwd", "passwd"),
    ("..\\..\\windows\\win.ini", "win.ini"),
    ("/abs/olute.txt", "olute.txt"),
    ("C:\\Users\\me\\notes.md", "notes.md"),
    ("..", "upload"),
    ("", "upload"),
    ("   ", "upload"),
    ("....", "upload"),
    (".bashrc", "bashrc"),
    ("a\x00b\nc.txt", "abc.txt"),
    ("con.txt", "_con.txt"),
    ("NUL", "_NUL"),
    ("com1.tar.gz", "_com1.tar.gz"),
    ("console.txt", "console.txt"),
    ('a<b>:"|?*.txt', "a_b______.txt"),
    ("report.pdf. . ", "report.pdf"),
    ("Cafe\u0301.txt", "Caf\u00e9.txt"),
    ("\u202efdp.exe", "fdp.exe"),
    ("two   blanks.txt", "two blanks.txt"),
    ("dir/", "upload"),
]


@pytest.mark.parametrize(("given", "stored"), NAMES)
def test_names_are_never_trusted(given: str, stored: str) -> None:
    assert safe_name(given) == stored


def test_long_names_keep_their_ending() -> None:
    name = safe_name("\N{SNOWMAN}" * 200 + ".pdf")
    assert name.endswith(".pdf")
    assert len(name.encode()) <= MOST_BYTES
    assert "\ufffd" not in name
    assert len(safe_name("x." + "y" * 400).encode()) <= MOST_BYTES


def test_a_taken_name_gets_a_number() -> None:
    assert unlike("a.pdf", set()) == "a.pdf"
    assert unlike("A.pdf", {"a.pdf"}) == "A (2).pdf"
    assert unlike("a.pdf", {"a.pdf", "a (2).pdf"}) == "a (3).pdf"
    longest = "x" * (MOST_BYTES - 4) + ".pdf"
    assert len(unlike(longest, {longest}).encode()) <= MOST_BYTES


def _arrived(library: Path, *files: tuple[str, bytes]) -> Staging:
    staging = new_staging(library)
    for name, data in files:
        staging.begin(name).write(data)
    staging.seal()
    return staging


def _listed(library: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (library / FOLDER).iterdir()}


def test_of_one_name_both_are_kept_unless_they_are_the_same(tmp_path: Path) -> None:
    staging = _arrived(tmp_path, ("a.txt", b"1"), ("A.txt", b"2"), ("a.txt", b"1"))
    kept = staging.put_in_place()
    assert staging.settle(kept) == []
    assert _listed(tmp_path) == {"a.txt": b"1", "A (2).txt": b"2"}


def test_the_same_name_again_is_a_new_version_also_in_other_letters(tmp_path: Path) -> None:
    first = _arrived(tmp_path, ("Report.txt", b"old"))
    first.settle(first.put_in_place())
    second = _arrived(tmp_path, ("report.txt", b"new"))
    second.settle(second.put_in_place())
    assert _listed(tmp_path) == {"Report.txt": b"new"}


def test_what_is_not_kept_leaves_the_version_before_it(tmp_path: Path) -> None:
    first = _arrived(tmp_path, ("a.txt", b"old"))
    first.settle(first.put_in_place())
    second = _arrived(tmp_path, ("a.txt", b"broken"), ("b.txt", b"broken too"))
    second.put_in_place()
    assert second.settle([]) == [tmp_path / FOLDER / "a.txt"]
    assert _listed(tmp_path) == {"a.txt": b"old"}


_KILLED = """
import os, sys
from pathlib import Path
from secondlook.library.uploads import new_staging
staging = new_staging(Path(sys.argv[1]))
one = staging.begin("a.txt")
one.write(b"half of it")
one.stream.flush()
if sys.argv[2] != "arriving":
    staging.seal()
if sys.argv[2] == "placed":
    staging.put_in_place()
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("at", ["arriving", "sealed", "placed"])
def test_a_kill_leaves_nothing_or_an_upload_that_is_taken_up(tmp_path: Path, at: str) -> None:
    died = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), at], check=False)
    assert died.returncode == -9
    found = sweep(tmp_path)
    if at == "arriving":
        assert found == []
    else:
        assert [entry.name for entry in found[0].entries()] == ["a.txt"]
        found[0].settle(found[0].put_in_place())
    assert _listed(tmp_path) == ({} if at == "arriving" else {"a.txt": b"half of it"})


def test_what_another_process_is_at_work_on_is_left_alone(tmp_path: Path) -> None:
    staging = new_staging(tmp_path)
    staging.begin("a.txt").write(b"x")
    assert sweep(tmp_path) == []
    (tmp_path / FOLDER / ".incoming-just-made").mkdir()
    assert sweep(tmp_path) == []
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
    staging.discard()
    assert [file.name for file in (tmp_path / FOLDER).iterdir()] == [".incoming-just-made"]
    assert list(originals(tmp_path / "nowhere")) == []


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    settings = Settings.model_validate({"library": {"path": str(tmp_path / "all" / "library")}})
    with Library.open(tmp_path / "all" / "library", settings=settings) as opened:
        (tmp_path / "all" / "note.txt").write_text("The harbour gate opens at nine.", "utf-8")
        yield opened


def _upload(library: Library, name: str, text: str) -> Path:
    staging = _arrived(library.path, (name, text.encode()))
    (place,) = staging.put_in_place()
    library.add([place])
    staging.settle([place])
    return place


def test_adding_the_folder_around_it_does_not_take_in_the_library(library: Library) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    report = library.add(library.path.parent, prune=True)
    assert [Path(change.path).name for change in report.changes] == ["note.txt"]
    assert {path for item in library.documents() for path in item.paths} == {
        str(place),
        str(library.path.parent / "note.txt"),
    }
    place.unlink()
    library.add(library.path.parent, prune=True)
    assert len(library.documents()) == 1


def test_adding_a_part_of_the_library_takes_in_nothing(library: Library) -> None:
    _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    assert library.add(library.path / "g1").changes == []
    assert library.add(library.path).changes == []
    assert [item.change for item in library.add(library.path / FOLDER).changes] == ["unchanged"]


def test_a_removed_upload_is_deleted_and_no_other_file(library: Library) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    outside = library.path.parent / "note.txt"
    library.add(outside)
    for item in library.documents():
        library.remove(item.id)
    assert not place.exists()
    assert outside.exists()


def test_dismissing_a_failed_file_touches_nothing_else(library: Library, tmp_path: Path) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-")
    library.add(broken)
    assert [item.path for item in library.failed_files()] == [str(broken)]
    assert library.dismiss(str(broken))
    assert not library.dismiss(str(broken))
    assert not library.dismiss(str(place))
    assert (library.failed_files(), len(library.documents())) == ([], 1)
    assert place.exists()
    assert broken.exists()


def test_a_backup_holds_the_uploads(library: Library, tmp_path: Path) -> None:
    _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    on_its_way = new_staging(library.path)
    archive = library.backup(tmp_path / "backup.tar.zst")
    with Library.restore(archive, tmp_path / "again", settings=library.settings) as again:
        assert [file.name for file in originals(again.path)] == ["tides.txt"]
        assert [file.name for file in (again.path / FOLDER).iterdir()] == ["tides.txt"]
    on_its_way.discard()
