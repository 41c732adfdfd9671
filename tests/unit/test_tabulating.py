"""Reading the tables of a document: what is on record afterwards, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from secondlook.document import Extracted
from secondlook.errors import TableError
from secondlook.library.ingest import Tabulator, holds_tables
from secondlook.library.tables import TableStore
from secondlook.retrieval.parse.source import Parsed
from secondlook.tables.read import READER_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return TableStore(tmp_path / "tables")


@pytest.fixture
def tabulator(store: TableStore) -> Iterator[Tabulator]:
    made = Tabulator(store)
    yield made
    made.close()


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    file = tmp_path / "sales.csv"
    file.write_text("region,price\nnorth,10\n", encoding="utf-8")
    return file


def test_a_table_is_read_and_profiled(store: TableStore, tabulator: Tabulator, sales: Path) -> None:
    tabulator.take_in("d1", sales)
    [table] = store.held("d1")[0]
    assert (table.name, table.rows) == ("sales", 1)
    assert (store.folder / f"{table.id}.profile.json").is_file()


def test_a_file_that_is_no_table_is_on_record(
    store: TableStore, tabulator: Tabulator, tmp_path: Path
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    tabulator.take_in("d1", tmp_path / "a.parquet")
    assert store.known(READER_VERSION, "d1")
    assert store.held("d1")[1]


def test_what_was_stopped_is_not_on_record(
    store: TableStore, tabulator: Tabulator, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> NoReturn:
        tabulator.close()
        raise TableError("work on a table was stopped")

    monkeypatch.setattr("secondlook.tables.desk.cached_profile", stopped)
    for _ in range(2):  # while it works, and before it begins
        with pytest.raises(TableError, match="stopped"):
            tabulator.take_in("d1", sales)
    assert not store.known(READER_VERSION, "d1")


def test_which_files_hold_tables() -> None:
    csv, array = Extracted("a", kind="csv"), Extracted("[1]", kind="json")
    for place, member, extracted, holds in (
        ("a.csv", "", csv, True), ("a.csv", "", None, False), ("a.json", "", array, True),
        ("a.json", "", Extracted("{}", kind="json"), False), ("a.csv.gz", "a.csv", csv, True),
        ("a.zip", "a.csv", csv, False),
    ):  # fmt: skip
        assert holds_tables(Path(place), Parsed(member, "f" * 64, 1, extracted)) is holds
