"""`add` against the real parsers, embedder and index: what changes, and what must not."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.engine.secondlook import Secondlook
from secondlook.library.report import Text
from secondlook.settings import load
from tests.support.pdf_form import form

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.library.report import AddReport, Progress


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
    report = library.add([folder])
    assert changes(report) == {"harbour.md": "updated", "bakery.md": "unchanged"}
    assert not any("14.2" in hit.passage.text for hit in library.search("deepest berth metres"))
    assert len(contents(library)) == 2


def test_a_moved_file_keeps_its_document(library: Library, folder: Path) -> None:
    library.add([folder])
    document = library.document("harbour.md")
    (folder / "old").mkdir()
    (folder / "harbour.md").rename(folder / "old" / "survey.md")
    report = library.add([folder])
    assert changes(report)["survey.md"] == "moved"
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
    report = library.add([folder], prune=True)
    assert changes(report)["harbour.md"] == "removed"
    assert {item.title for item in library.documents()} == {"Bakery handbook", "note"}
    folder.rename(folder.with_name("unmounted"))  # all of it is missing: it may come back
    library.add([folder], prune=True)
    assert len(library.documents()) == 2


def test_dry_run_shows_the_difference_and_does_nothing(library: Library, folder: Path) -> None:
    library.add([folder])
    (folder / "harbour.md").write_text("Another survey altogether.", encoding="utf-8")
    (folder / "new.md").write_text("Something new.", encoding="utf-8")
    (folder / "recipes" / "bakery.md").unlink()
    before = contents(library)
    report = library.add([folder], dry_run=True, prune=True)
    assert report.dry_run
    assert changes(report) == {"harbour.md": "updated", "new.md": "added", "bakery.md": "removed"}
    assert contents(library) == before


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
    report = library.add([folder])
    assert changes(report)["broken.pdf"] == "failed"
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
        answer = engine.ask("What is the name of the hirer?", workflow="linear")
        (citation,) = answer.citations
        text = engine.library.text(citation.document).text
    assert text[citation.start : citation.end] == citation.quote
    assert "Name of hirer: Ines Haldorsen" in citation.quote
