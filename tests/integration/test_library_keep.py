"""Forgetting, saving, restoring and rebuilding a library."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from typing import TYPE_CHECKING

import pytest
import zstandard

from secondlook.errors import (
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryFormat,
    LibraryMissing,
    UsageError,
)
from secondlook.library import stores as opening
from secondlook.library.library import Library
from secondlook.library.manifest import writing
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from pathlib import Path

RARE = "xylophonequartz"


def bytes_on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_purge_leaves_no_byte(library: Library, folder: Path) -> None:
    # Stored uncompressed somewhere, a rare word repeated would be found by grep.
    (folder / f"{RARE}.txt").write_text(f"The {RARE} is buried here. " * 30, encoding="utf-8")
    library.add([folder])
    assert library.search(RARE)[0].passage.title == RARE
    assert RARE.encode() in bytes_on_disk(library.path)
    removed = library.remove([f"{RARE}.txt"], purge=True)
    assert [change.change for change in removed] == ["removed"]
    assert RARE.encode() not in bytes_on_disk(library.path)
    assert not any(RARE in hit.passage.text for hit in library.search(RARE))
    assert len(library.documents()) == 2


def test_remove_by_folder_title_and_failed_path(library: Library, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 no")
    library.add([folder])
    assert len(library.remove([str(folder / "recipes")])) == 1
    assert len(library.remove(["Harbour survey"])) == 1
    assert len(library.remove([str(folder / "broken.pdf")])) == 1
    assert library.documents() == []
    assert library.status().failed == ()
    with pytest.raises(UsageError, match="no document"):
        library.remove(["nothing"])


def test_backup_and_restore(library: Library, folder: Path, tmp_path: Path) -> None:
    library.add([folder])
    file = library.backup(tmp_path / "saved.tar.zst")
    with Library.restore(file, tmp_path / "again") as again:
        assert again.documents() == library.documents()
        assert again.search("deepest berth") == library.search("deepest berth")
        with pytest.raises(UsageError, match="not empty"):
            Library.restore(file, again.path)
        library.remove(["harbour.md"])
    smaller = library.backup(tmp_path / "smaller.tar.zst")
    with Library.restore(smaller, tmp_path / "again", force=True) as again:
        assert len(again.documents()) == 1


def test_rebuild_makes_the_same_library_with_other_passages(library: Library, folder: Path) -> None:
    library.add([folder], meta={"project": "port"})
    before = library.documents()
    settings = Settings.model_validate({"chunking": {"tokens": 20, "overlap": 4}})
    with Library.rebuild(library.path, settings=settings) as rebuilt:
        after = rebuilt.documents()
        assert [item.id for item in after] == [item.id for item in before]
        assert sum(i.passages for i in after) > sum(i.passages for i in before)
        assert rebuilt.search("berth", filters={"project": "port"})
    # The object opened before follows the switch by itself.
    assert library.documents() == after
    assert library.search("deepest berth")[0].passage.title == "Harbour survey"
    # Who was reading the old generation could go on; the next writer clears it away.
    assert (library.path / "g1").exists()
    library.compact()
    assert sorted(folder.name for folder in library.path.glob("g*")) == ["g2"]


def test_another_embedder_is_refused(library: Library, folder: Path) -> None:
    library.add([folder])
    manifest = json.loads((library.path / "library.json").read_text(encoding="utf-8"))
    (library.path / "library.json").write_text(
        json.dumps(manifest | {"embedder": "other@000000000000"}), encoding="utf-8"
    )
    with Library.open(library.path) as opened:
        with pytest.raises(LibraryFormat, match="do not mix") as caught:
            opened.search("berth")
        assert "rebuild" in str(caught.value.hint)
        with pytest.raises(LibraryFormat):
            opened.add([folder], force=True)
    chosen = Settings.model_validate({"embedding": {"model": "ollama:some"}})
    with pytest.raises(LibraryFormat, match="ollama:some"):
        Library.open(library.path, settings=chosen)


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"format": 0}, "rebuild"), ({"format": 99}, "upgrade"), ({"analyser": "other"}, "rebuild")],
)
def test_other_formats_are_refused_with_the_way_out(
    library: Library, folder: Path, change: dict[str, object], expected: str
) -> None:
    library.add([folder])
    file = library.path / "library.json"
    file.write_text(
        json.dumps(json.loads(file.read_text(encoding="utf-8")) | change), encoding="utf-8"
    )
    with pytest.raises(LibraryFormat) as caught:
        Library.open(library.path)
    assert expected in str(caught.value.hint)
    if expected == "rebuild":
        with Library.rebuild(library.path) as rebuilt:
            assert rebuilt.search("deepest berth")[0].passage.title == "Harbour survey"


def test_places_that_are_no_library(tmp_path: Path) -> None:
    with pytest.raises(LibraryMissing):
        Library.open(tmp_path / "none", create=False)
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "thesis.doc").touch()
    with pytest.raises(LibraryError, match="not empty"):
        Library.open(tmp_path / "strange")
    (tmp_path / "file").touch()
    with pytest.raises(LibraryError, match="no library can be made"):
        Library.open(tmp_path / "file")
    (tmp_path / "garbled").mkdir()
    (tmp_path / "garbled" / "library.json").write_text("{", encoding="utf-8")
    with pytest.raises(LibraryDamaged):
        Library.open(tmp_path / "garbled")


def test_a_second_writer_is_told_who_holds_the_lock(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "WAIT_FOR_WRITER", 0.2)
    stages = []
    with writing(library.path, wait=0):
        assert "pid" in str(library.status().writer)
        with pytest.raises(LibraryBusy, match="pid"):
            library.add([folder], progress=lambda progress: stages.append(progress.stage))
        assert library.search("anything") == []
    assert stages == ["waiting"]
    assert library.status().writer is None
    assert library.add([folder]).count("added") == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [("library/../../outside.txt", "does not belong in a backup"), ("a.py", "not a backup of a")],
)
def test_what_is_no_backup_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, said: str
) -> None:
    archive = tmp_path / "bad.backup"
    with (
        archive.open("wb") as file,
        zstandard.ZstdCompressor().stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|") as members,
    ):
        member = tarfile.TarInfo(name)
        member.size = 3
        members.addfile(member, io.BytesIO(b"bad"))
    with pytest.raises(UsageError, match=said):
        Library.restore(archive, tmp_path / "library")
    assert not (tmp_path / "library").exists()
    assert not list(tmp_path.rglob("outside.txt"))


def test_restore_never_replaces_what_is_no_library(
    library: Library, folder: Path, tmp_path: Path
) -> None:
    library.add([folder])
    archive = library.backup(tmp_path / "saved")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="not a library"):
        Library.restore(archive, precious, force=True)
    assert (precious / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    with pytest.raises(UsageError, match="not a folder"):
        Library.restore(archive, precious / "thesis.txt")


def test_searches_go_on_through_rebuilds(library: Library, folder: Path) -> None:
    library.add([folder])
    wrong: list[object] = []
    stop = threading.Event()

    def search(shared: Library) -> None:
        while not stop.is_set():
            try:
                if not shared.search("deepest berth", rerank=False):
                    wrong.append("found nothing")
                with Library.open(library.path) as fresh:
                    fresh.search("deepest berth", rerank=False)
            except (LibraryError, UsageError, ValueError) as error:
                wrong.append(error)

    readers = [threading.Thread(target=search, args=(library,)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(4):
        Library.rebuild(library.path).close()
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
