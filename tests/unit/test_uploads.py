"""Files that a library keeps itself: their names, their way in, and what a kill leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.library.library import Library
from secondlook.library.uploads import FOLDER, Staging, new_staging, originals, safe_name, sweep
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {
    "report.pdf": "report.pdf", "../../etc/passwd": "passwd", "..\\win\\win.ini": "win.ini",
    "..": "upload", "": "upload", "....": "upload", ".bashrc": "bashrc", "dir/": "upload",
    "a\x00b\nc.txt": "abc.txt", "con.txt": "_con.txt", "com1.tar.gz": "_com1.tar.gz",
    'a<b>:"|?*.txt': "a_b______.txt", "report.pdf. . ": "report.pdf",
    "Cafe\u0301.txt": "Caf\u00e9.txt", "\u202efdp.exe": "fdp.exe",
}  # fmt: skip


def test_names_are_never_trusted() -> None:
    assert {given: safe_name(given) for given in NAMES} == NAMES


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
    assert staging.settle(staging.put_in_place()) == []
    assert _listed(tmp_path) == {"a.txt": b"1", "A (2).txt": b"2"}
    again = _arrived(tmp_path, ("A.TXT", b"new"))
    again.settle(again.put_in_place())
    assert _listed(tmp_path) == {"a.txt": b"new", "A (2).txt": b"2"}


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


def test_removing_and_dismissing_delete_uploads_and_no_other_file(
    library: Library, tmp_path: Path
) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    outside, broken = library.path.parent / "note.txt", tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-")
    library.add([outside, broken])
    assert [item.path for item in library.failed_files()] == [str(broken)]
    assert library.dismiss(str(broken))
    assert not library.dismiss(str(broken))
    assert not library.dismiss(str(place))
    assert (library.failed_files(), len(library.documents())) == ([], 2)
    for item in library.documents():
        library.remove(item.id)
    assert not place.exists()
    assert outside.exists()
    assert broken.exists()
