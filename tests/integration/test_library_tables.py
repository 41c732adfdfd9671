"""Tables in the library: added, updated and removed with their documents, and asked."""

from __future__ import annotations

import gzip
import sqlite3
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.errors import TableError
from secondlook.library.library import Library
from secondlook.tables.query import Measure, Query, Term
from tests.support.workbooks import write_workbook

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.report import Progress
    from secondlook.tables.table import Table

SALES = "region,price\nnorth,10\nsouth,20.5\nnorth,30\n"


def names(library: Library) -> list[str]:
    return [table.name for table in library.tables()]


def mean_of(library: Library, table: Table, column: str) -> float:
    measure = Measure(name="mean", statistic="mean", of=Term(column=column))
    computed = library.desk().compute(Query(table=table.id, measures=(measure,)))
    return float(str(computed.rows[0][0]))


def files(library: Library) -> list[str]:
    """What lies on disk for tables, without what is on record of it."""
    return sorted(path.name for path in (library.path / "tables").glob("*") if path.is_file())


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    file = tmp_path / "data" / "sales.csv"
    file.parent.mkdir()
    file.write_text(SALES, encoding="utf-8")
    return file


def test_a_csv_file_is_a_document_and_a_table(library: Library, sales: Path) -> None:
    assert library.add(sales).count("added") == 1
    [table] = library.tables()
    assert (table.name, table.rows, table.path) == ("sales", 3, str(sales))
    assert [(column.name, column.type) for column in table.columns] == [
        ("region", "text"),
        ("price", "number"),
    ]
    assert mean_of(library, table, "price") == pytest.approx(60.5 / 3)
    assert library.desk().profile(table.id).rows == 3
    assert "south" in library.search("price in the south")[0].passage.text
    assert library.documents()[0].tables == ("sales",)
    assert library.status().tables == 1


def test_a_changed_file_replaces_its_table(library: Library, sales: Path) -> None:
    library.add(sales)
    old = library.tables()[0]
    sales.write_text("region,price\nnorth,1\n", encoding="utf-8")
    assert library.add(sales).count("updated") == 1
    [new] = library.tables()
    assert (new.name, new.rows) == ("sales", 1)
    assert new.id != old.id
    assert not [name for name in files(library) if name.startswith(old.id)]
    with pytest.raises(TableError, match="no table"):
        library.desk().profile(old.id)


def test_a_removed_document_takes_its_tables_along(library: Library, sales: Path) -> None:
    library.add(sales)
    library.remove("sales.csv")
    assert library.tables() == ()
    assert files(library) == []
    assert library.add(sales).count("added") == 1
    assert names(library) == ["sales"]


def test_every_kind_of_table(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "kinds"
    folder.mkdir()
    rows = {"city": ["Ulm", "Trier"], "people": [126, 112]}
    pq.write_table(pa.table(rows), folder / "towns.parquet")
    with sqlite3.connect(folder / "stock.db") as database:
        database.execute("CREATE TABLE parts (name TEXT, pieces INTEGER)")
        database.execute("INSERT INTO parts VALUES ('bolt', 7)")
        database.execute("CREATE TABLE makers (name TEXT)")
        database.execute("INSERT INTO makers VALUES ('Ada')")
    database.close()
    (folder / "lines.jsonl").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    (folder / "array.json").write_text('[{"a": 1}, {"a": 5}]', encoding="utf-8")
    (folder / "object.json").write_text('{"a": {"b": 1}}', encoding="utf-8")
    (folder / "tabs.tsv").write_text("a\tb\n1\t2\n", encoding="utf-8")
    (folder / "zipped.csv.gz").write_bytes(gzip.compress(SALES.encode()))
    write_workbook(folder / "book.xlsx", dict.fromkeys(("Q1", "Q2"), (("pieces",), (3,), (4,))))
    report = library.add(folder)
    assert not report.failed, report.failed
    found = {table.name: table for table in library.tables()}
    assert {name: table.rows for name, table in found.items()} == {
        "array": 2,
        "book_q1": 2,
        "book_q2": 2,
        "lines": 2,
        "stock_makers": 1,
        "stock_parts": 1,
        "tabs": 1,
        "towns": 2,
        "zipped": 3,
    }
    assert mean_of(library, found["book_q2"], "pieces") == 3.5
    assert mean_of(library, found["array"], "a") == 3
    assert library.unusable_tables() == []
    assert library.add(folder).count("unchanged") == len(list(folder.iterdir()))


def test_a_long_table_is_searched_by_its_card(library: Library, tmp_path: Path) -> None:
    lines = "".join(f"berth {n},{n / 10}\n" for n in range(30_000))
    (tmp_path / "soundings.csv").write_text("berth,depth\n" + lines, encoding="utf-8")
    seen: list[Progress] = []
    assert library.add(tmp_path / "soundings.csv", progress=seen.append).passages < 5
    assert any(progress.stage == "tables" for progress in seen)
    [table] = library.tables()
    assert mean_of(library, table, "depth") == pytest.approx(29_999 / 20)
    assert "30,000 rows" in library.text(library.documents()[0].id).text
    assert library.add(tmp_path / "soundings.csv").count("unchanged") == 1
    library.add(tmp_path / "soundings.csv", force=True)
    assert len(library.tables()) == 1


def test_backup_and_restore_carry_tables(library: Library, sales: Path, tmp_path: Path) -> None:
    library.add(sales)
    file = library.backup(tmp_path / "all.backup")
    with Library.restore(file, tmp_path / "copy") as copy:
        [table] = copy.tables()
        assert mean_of(copy, table, "price") == pytest.approx(60.5 / 3)


def test_leftovers_are_swept(library: Library, sales: Path) -> None:
    library.add(sales)
    stray = library.path / "tables" / "0123.parquet"
    stray.write_bytes(b"of an add that was killed")
    library.compact(purge=True)
    assert not stray.exists()
    assert names(library) == ["sales"]
    stray.write_bytes(b"of another")
    sales.with_name("new.csv").write_text("a\n1\n", encoding="utf-8")
    library.add(sales.parent)
    assert not stray.exists()
    assert names(library) == ["new", "sales"]


def test_ctrl_c_ends_the_reading_of_a_table(
    library: Library, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from secondlook.tables import read as reading

    real = reading.read_tables
    pressed: list[Progress] = []

    def slow(*arguments: object, **options: object) -> object:
        """Asks for something that never ends, as a huge file would seem to."""
        worker = options["worker"]
        sql = "SELECT count(*) FROM range(100000000000) a, range(100000000000) b"
        worker.call("worker_process:select", seconds=None, sql=sql)  # type: ignore[attr-defined]
        return real(*arguments, **options)  # type: ignore[arg-type]

    def press(progress: Progress) -> None:
        if progress.stage == "tables" and not pressed:
            pressed.append(progress)
            raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_tables", slow)
    assert library.add(sales, progress=press).interrupted
    assert library.tables() == ()
    monkeypatch.setattr(reading, "read_tables", real)
    assert library.add(sales).count("added") == 1
    assert names(library) == ["sales"]


def test_another_reader_reads_again(
    library: Library, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(sales)
    monkeypatch.setattr("secondlook.library.ingest.READER_VERSION", "next")
    assert library.add(sales).count("updated") == 1
    assert names(library) == ["sales"]
