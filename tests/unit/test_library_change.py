"""The commit protocol, interrupted at every one of its steps."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.document import Extracted
from secondlook.library.catalog import Catalog, DocumentRow, FileRow, TextStore
from secondlook.library.commit import Change, NewDocument, Stores, commit, recover
from secondlook.library.tables import TableStore
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARSER = "1"


class Killed(BaseException):
    """Stands for kill -9: nothing in the product catches it."""


def document(name: str, text: str) -> NewDocument:
    identifier = name.ljust(16, "0")
    row = DocumentRow(
        id=identifier, sha256=name.ljust(64, "0"), bytes=len(text), parser=PARSER, title=name,
        author=None, date=None, language=None, kind="text", pages=0, passages=2,
        characters=len(text), notes=[], labels=["kind=text"], added="2024-01-01T00:00:00+00:00",
    )  # fmt: skip
    entries = [
        Entry(f"{identifier}.{n}", identifier, f"{text} {n}", (text, str(n)), 0, len(text))
        for n in range(2)
    ]
    return NewDocument(row, Extracted(text), entries, np.eye(2, 4, dtype=np.float32))


def file(path: str, held: NewDocument | None) -> FileRow:
    if held is None:
        return FileRow(path, "f" * 64, 1, 1, PARSER, error="Damaged", reason="it is broken")
    return FileRow(path, held.row.sha256, 1, 1, PARSER, document=held.row.id, folders=["papers"])


def open_stores(folder: Path) -> Stores:
    folder.mkdir(exist_ok=True)
    index = LanceIndex.open(folder / "index", dimensions=4, create=True)
    tables = TableStore(folder / "tables")
    return Stores(Catalog(folder / "catalog.db"), TextStore(folder / "texts"), index, tables)


def write_table(stores: Stores, held: NewDocument) -> None:
    """A table of the document, as reading it leaves one before the commit."""
    identity = held.row.id
    table = Table(id=identity, name="t", title="t", sha256=held.row.sha256, rows=1, columns=())
    stores.tables.folder.mkdir(exist_ok=True)
    stores.tables.file(identity).write_bytes(b"rows")
    stores.tables.write(identity, "1", [table])


OLD, KEPT, NEW = document("aa", "old"), document("bb", "kept"), document("cc", "new")
BEFORE = Change(documents=[OLD, KEPT], files=[file("/a", OLD), file("/b", KEPT)])
REPLACING = Change(documents=[NEW], files=[file("/a", NEW)])
REMOVING = Change(gone_files=["/a"])
FAILING = Change(files=[file("/a", None)])
STEPS: dict[str, tuple[str, str]] = {
    "before the texts": ("texts", "write"),
    "before the journal": ("catalog", "write_journal"),
    "before the index": ("index", "add"),
    "before a removal from the index": ("index", "delete"),
    "before the rows": ("catalog", "transaction"),
    "before old texts go": ("texts", "delete"),
    "before old tables go": ("tables", "delete"),
    "before the journal is cleared": ("catalog", "clear_journal"),
}


def killing_before(store: object, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(type(store), method, kill)


def killing_after(store: object, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(type(store), method)

    def kill(self: object, *values: object, **named: object) -> None:
        original(self, *values, **named)
        raise Killed

    monkeypatch.setattr(type(store), method, kill)


def state(stores: Stores) -> dict[str, str | None]:
    """What each file holds; checks that catalog, texts and index tell the same story."""
    rows = {row.id: row for row in stores.catalog.documents()}
    assert stores.index.documents() == {row.id: row.passages for row in rows.values()}
    for row in rows.values():
        assert stores.texts.read(row).text
    assert stores.catalog.journal() == {}
    files = stores.catalog.files()
    assert {item.document for item in files if item.document} == set(rows)
    return {item.path: item.document for item in files}


@pytest.mark.parametrize("kill", [killing_before, killing_after])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "change", [REPLACING, REMOVING, FAILING], ids=["replace", "remove", "fail"]
)
def test_killed_at_any_step_it_is_done_or_not_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill: Callable[[object, str, pytest.MonkeyPatch], None],
    step: str,
    change: Change,
) -> None:
    stores = open_stores(tmp_path)
    for held in (OLD, KEPT):
        write_table(stores, held)
    commit(stores, BEFORE)
    before = state(stores)
    with monkeypatch.context() as patched:
        part, method = STEPS[step]
        kill(getattr(stores, part), method, patched)
        with contextlib.suppress(Killed):
            commit(stores, change)
    stores.catalog.close()

    stores = open_stores(tmp_path)
    recover(stores)
    after = state(stores)
    target = {item.path: item.document for item in change.files}
    wanted = {
        path: name for path, name in (before | target).items() if path not in change.gone_files
    }
    assert after in (before, wanted)
    commit(stores, change)
    assert state(stores) == wanted
    assert {f.name[:2] for f in (tmp_path / "texts").glob("*/*")} == {
        row.sha256[:2] for row in stores.catalog.documents()
    }
    assert stores.tables.holders() == [KEPT.row.id]
    assert [f.name for f in (tmp_path / "tables").glob("*.parquet")] == [f"{KEPT.row.id}.parquet"]
    stores.catalog.close()


def test_labels_of_all_files_reach_the_index(tmp_path: Path) -> None:
    stores = open_stores(tmp_path)
    commit(stores, BEFORE)
    (entry,) = stores.index.fetch([KEPT.entries[0].id])
    assert {"kind=text", "folder=papers"} < set(entry.labels)
    assert stores.catalog.documents_by_id([KEPT.row.id])[0].labels == ["folder=papers", "kind=text"]
    stores.catalog.close()
