"""A library with the real parsers, embedder and index: what `add` changes, and what must not."""

import io
import json
import os
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import pytest
import zstandard

from secondlook.engine.secondlook import Secondlook
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
from secondlook.library.report import AddReport, Progress, Text
from secondlook.settings import load
from secondlook.settings.sections import Settings
from tests.support.pdf_form import form


def changes(report: AddReport) -> dict[str, str]:
    return {Path(change.path).name: change.change for change in report.changes}


def contents(library: Library) -> dict[str, tuple[str, ...]]:
    """Everything a search can return, by document."""
    index = library._stores.index
    held = {}
    for document in library.documents():
        entries = index.fetch([f"{document.id}.{n}" for n in range(document.passages)])
        held[document.sha256] = tuple(entry.text for entry in entries)
        assert len(entries) == document.passages
    assert index.stats().passages == sum(map(len, held.values()))
    return held


def test_a_stop_is_heard_while_a_long_text_is_cut(library: Library, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("The quay is long. " * 500_000, encoding="utf-8")
    began = asked = time.monotonic()

    def stop(told: Progress) -> None:
        nonlocal asked
        if told.stage == "reading" and asked == began and time.monotonic() > began + 2:
            asked = time.monotonic()
            raise KeyboardInterrupt

    assert library.add([tmp_path / "long.txt"], progress=stop).interrupted
    assert asked > began
    assert time.monotonic() - asked < 20  # a few seconds where nothing else goes on
    assert library.documents() == []


def test_adds_a_folder_and_finds_what_is_in_it(library: Library, folder: Path) -> None:
    seen: list[Progress] = []
    report = library.add([folder], progress=seen.append)
    assert changes(report) == {"harbour.md": "added", "bakery.md": "added"}
    assert seen[0].stage == "looking"
    assert seen[-1].files_done == seen[-1].files_total == 2
    best = library.search("How deep is the deepest berth?")[0]
    assert best.passage.title == "Harbour survey"
    assert "14.2 metres" in best.passage.text
    text = library.text(best.passage.document).text
    assert text[best.passage.start : best.passage.end] == best.passage.text
    assert {best.dense_rank, best.lexical_rank} == {1}
    before = contents(library)
    assert set(changes(library.add([folder])).values()) == {"unchanged"}
    assert contents(library) == before


def test_a_changed_file_replaces_its_passages(library: Library, folder: Path) -> None:
    library.add([folder])
    (folder / "harbour.md").write_text("The survey was withdrawn entirely.", encoding="utf-8")
    assert changes(library.add([folder])) == {"harbour.md": "updated", "bakery.md": "unchanged"}
    assert not any("14.2" in hit.passage.text for hit in library.search("deepest berth metres"))
    assert len(contents(library)) == 2


def test_a_moved_file_keeps_its_document(library: Library, folder: Path) -> None:
    library.add([folder])
    document = library.document("harbour.md")
    (folder / "old").mkdir()
    (folder / "harbour.md").rename(folder / "old" / "survey.md")
    assert changes(library.add([folder]))["survey.md"] == "moved"
    moved = library.document("survey.md")
    assert moved.id == document.id
    assert moved.paths == (str(folder / "old" / "survey.md"),)
    assert library.search("berth", filters={"folder": "old"})
    assert not library.search("sourdough", filters={"folder": "old"}, dense=0, lexical=1)[1:]


def test_copies_are_one_document(library: Library, folder: Path) -> None:
    library.add([folder])
    (folder / "copy.md").write_bytes((folder / "harbour.md").read_bytes())
    (folder / "third.md").write_bytes((folder / "harbour.md").read_bytes())
    assert changes(library.add([folder]))["copy.md"] == "duplicate"
    assert len(library.document("harbour.md").paths) == 3
    (folder / "harbour.md").unlink()
    library.add([folder], prune=True)
    assert len(library.documents()) == 2
    assert library.search("deepest berth")[0].passage.title == "Harbour survey"


def test_prune_takes_away_what_is_gone_and_only_below_the_roots(
    library: Library, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.txt").write_text("A note about the lighthouse keeper.", encoding="utf-8")
    library.add([folder, other])
    (folder / "harbour.md").unlink()
    (other / "note.txt").unlink()
    assert len(library.documents()) == 3
    assert "removed" not in changes(library.add([folder])).values()
    assert changes(library.add([folder], prune=True))["harbour.md"] == "removed"
    assert {item.title for item in library.documents()} == {"Bakery handbook", "note"}
    folder.rename(folder.with_name("unmounted"))  # all of it is missing: it may come back
    library.add([folder], prune=True)
    assert len(library.documents()) == 2


def test_metadata_can_be_filtered_by_and_changed_without_reading_again(
    library: Library, folder: Path
) -> None:
    library.add([folder / "harbour.md"], meta={"project": "Port"})
    library.add([folder / "recipes"])
    hits = library.search("rests", filters={"project": "port"})
    assert {hit.passage.title for hit in hits} == {"Harbour survey"}
    report = library.add([folder / "recipes"], meta={"project": "Kitchen"})
    assert changes(report) == {"bakery.md": "updated"}
    hits = library.search("rests", filters={"PROJECT": "kitchen "})
    assert {hit.passage.title for hit in hits} == {"Bakery handbook"}
    assert library.document("bakery.md").metadata == {"project": "Kitchen"}
    assert library.documents(filters={"project": "port"})[0].title == "Harbour survey"


def test_archive_members_are_documents(library: Library, tmp_path: Path) -> None:
    archive = tmp_path / "both.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("a/one.txt", "The lamp room is painted green every seventh year.")
        out.writestr("two.txt", "The fog horn was taken out of service in 1987.")
        out.writestr("same.txt", "The fog horn was taken out of service in 1987.")
    library.add([archive])
    assert len(library.documents()) == 2
    assert library.document("one.txt").paths == (f"{archive}!/a/one.txt",)
    assert changes(library.add([archive])) == {"both.zip": "unchanged"}
    os.utime(archive, (1, 1))
    assert changes(library.add([archive])) == {"both.zip": "unchanged"}
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("two.txt", "The fog horn was taken out of service in 1987.")
    library.add([archive])
    assert [item.title for item in library.documents()] == ["two"]


def test_a_file_that_fails_is_named_and_tried_again(library: Library, folder: Path) -> None:
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 this is not really one")
    assert changes(library.add([folder]))["broken.pdf"] == "failed"
    (failed,) = library.status().failed
    assert failed.path == str(broken)
    assert failed.reason
    assert changes(library.add([folder]))["broken.pdf"] == "failed"
    broken.write_text("A file of plain words after all.", encoding="utf-8")
    assert changes(library.add([folder]))["broken.pdf"] == "added"
    assert library.status().failed == ()


def test_bytes_and_texts_need_no_file(library: Library) -> None:
    library.add_bytes(b"The bell is rung at noon.", "bell.txt", meta={"source": "pipe"})
    library.add_bytes(b"The bell is rung at midnight.", "bell.txt")
    texts = [Text(f"t{n}", f"Entry number {n} of the log.", title=f"Log {n}") for n in range(3)]
    library.add_texts(texts)
    assert library.add_texts(texts).count("unchanged") == 3
    assert len(library.documents()) == 4
    hits = library.search("When is the bell rung?")
    assert hits[0].passage.text == "The bell is rung at midnight."


def test_a_question_finds_what_was_typed_into_a_form(library: Library, tmp_path: Path) -> None:
    (tmp_path / "hire.pdf").write_bytes(form())
    library.add([tmp_path / "hire.pdf"])
    settings = load({"library.path": library.path, "runs.path": tmp_path / "runs.db"}).settings
    with Secondlook.open(settings=settings) as engine:
        (citation,) = engine.ask("What is the name of the hirer?", workflow="linear").citations
        text = engine.library.text(citation.document).text
    assert text[citation.start : citation.end] == citation.quote
    assert "Name of hirer: Ines Haldorsen" in citation.quote


# Forgetting, saving, restoring and rebuilding.

RARE = "xylophonequartz"


def bytes_on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_purge_leaves_no_byte(library: Library, folder: Path) -> None:
    # Stored uncompressed somewhere, a rare word repeated would be found by grep.
    (folder / f"{RARE}.txt").write_text(f"The {RARE} is buried here. " * 30, encoding="utf-8")
    library.add([folder])
    assert library.search(RARE)[0].passage.title == RARE
    assert RARE.encode() in bytes_on_disk(library.path)
    assert [change.change for change in library.remove([f"{RARE}.txt"], purge=True)] == ["removed"]
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
