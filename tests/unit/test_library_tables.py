"""The tables of documents on disk: what is on record, what goes, what is swept; and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.library.tables import TableStore
from secondlook.tables.table import Column, Table, named_apart, unlike

if TYPE_CHECKING:
    from pathlib import Path

READER = "1"


def table(identity: str, name: str = "sales") -> Table:
    columns = (Column(name="x", type="integer"),)
    return Table(id=identity, name=name, title=name, sha256="f" * 64, rows=1, columns=columns)


def put(store: TableStore, document: str, *identities: str, reader: str = READER) -> None:
    store.folder.mkdir(exist_ok=True)
    for identity in identities:
        store.file(identity).write_bytes(b"rows")
        (store.folder / f"{identity}.profile.json").write_text("{}", encoding="utf-8")
    store.write(document, reader, [table(identity) for identity in identities])


def names(store: TableStore) -> list[str]:
    return sorted(path.name for path in store.folder.rglob("*") if path.is_file())


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return TableStore(tmp_path / "tables")


def test_what_an_older_reader_found_serves_until_it_is_read_again(store: TableStore) -> None:
    put(store, "a", "old", reader="0")
    assert store.held("a")[0] == (table("old"),)
    assert store.known(READER) == set()
    put(store, "a", "new")
    assert store.held("a")[0] == (table("new"),)


def test_a_document_goes_with_all_that_is_its_own(store: TableStore) -> None:
    put(store, "a", "t1")
    put(store, "b", "t2")
    store.delete("a")
    store.delete("a")
    assert names(store) == ["b.1.json", "t2.parquet", "t2.profile.json"]


def test_a_sweep_leaves_what_documents_hold(store: TableStore) -> None:
    put(store, "a", "t1")
    put(store, "gone", "t2")
    (store.folder / "t3.parquet.partial").write_bytes(b"half")
    store.sweep({"a"})
    assert names(store) == ["a.1.json", "t1.parquet", "t1.profile.json"]


@pytest.mark.parametrize("damage", ["", "{", '{"tables": [{}], "problem": null}', "[]"])
def test_a_damaged_record_names_no_table(store: TableStore, damage: str) -> None:
    put(store, "a", "t1")
    (store.folder / "records" / "a.1.json").write_text(damage, encoding="utf-8")
    assert store.held("a")[0] == ()
    assert store.held("a")[1] == "its record is damaged"
    assert not store.known(READER, "a")


def test_names_differ() -> None:
    found = named_apart([table("1"), table("2"), table("3", "sales_2")], taken={"x"})
    assert [one.name for one in found] == ["sales", "sales_2", "sales_2_2"]
    assert unlike("sales", {"sales", "sales_2"}) == "sales_3"
