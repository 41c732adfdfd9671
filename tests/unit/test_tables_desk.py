"""The tables at hand: profiles, joins, computations; those of documents, and those handed over."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from secondlook.engine.record import RunStore
from secondlook.engine.request import check_tables, workflow_for
from secondlook.errors import SecondlookError, TableError, UsageError
from secondlook.library.tables import TableStore
from secondlook.settings.sections import RunSettings
from secondlook.store import tables as handed
from secondlook.store.tables import handed_to, tables_folder, take_over
from secondlook.tables.desk import Desk
from secondlook.tables.query import Key, Measure, Query, Term
from secondlook.tables.read import table_from_frame
from secondlook.tables.table import Column, Table, named_apart, unlike
from secondlook.tables.worker import Worker
from tests.support.engine import settings_of

ORDERS = {"customer": [1, 2, 2, 3], "amount": [10.0, 20.0, 30.0, 40.0]}
CUSTOMERS = {"id": [1, 2, 3], "city": ["Ulm", "Trier", "Ulm"]}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.fixture
def desk(tmp_path: Path, worker: Worker) -> Desk:
    read = [
        table_from_frame("orders", ORDERS, tmp_path),
        table_from_frame("customers", CUSTOMERS, tmp_path),
    ]
    return Desk([(one.table, one.file) for one in read], folder=tmp_path, worker=worker)


def total(desk: Desk, table: str, column: str) -> object:
    measure = Measure(name="sum", statistic="sum", of=Term(column=column))
    return desk.compute(Query(table=table, measures=(measure,))).rows[0][0]


def test_tables_are_known_by_id_and_by_name(desk: Desk) -> None:
    orders, customers = desk.tables()
    assert (orders.name, customers.name) == ("orders", "customers")
    assert desk.table(orders.id) is desk.table("orders") is orders
    assert desk.file(orders.id).suffix == ".parquet"
    with pytest.raises(TableError, match="no table 'sales' at hand") as caught:
        desk.profile("sales")
    assert caught.value.hint == "There are: orders, customers."


def test_what_is_computed(desk: Desk) -> None:
    orders = desk.table("orders").id
    assert total(desk, orders, "amount") == 100.0
    edges = (float("-inf"), 25.0, float("inf"))  # come through the worker's messages
    by = (Key(column="amount", bins=edges),)
    count = Measure(name="n", statistic="count")
    found = desk.compute(Query(table=orders, measures=(count,), group_by=by))
    assert [row[1] for row in found.rows] == [2, 2]
    with pytest.raises(TableError, match="no column 'nothing'"):
        total(desk, orders, "nothing")


def test_values_of_a_column_are_read_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(desk.values("customers", "city")) == ["Trier", "Ulm"]
    monkeypatch.setattr(Desk, "compute", None)
    assert sorted(desk.with_tables([]).values("customers", "city")) == ["Trier", "Ulm"]


def test_joins_between_tables(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [table.id for table in desk.tables()]
    found = desk.joins(both)
    assert all({join.left, join.right} == set(both) for join in found)
    monkeypatch.setattr("secondlook.tables.joins.find_joins", None)
    assert desk.joins(both[::-1]) is found
    assert desk.joins(["orders"]) == ()


def test_a_second_look_at_a_column(desk: Desk) -> None:
    [found] = desk.examine("customers", ["city"])
    assert (found.table, found.column) == (desk.table("customers").id, "city")
    assert found.said


def test_tables_laid_beside_others_get_names_of_their_own(desk: Desk, tmp_path: Path) -> None:
    other = table_from_frame("orders", {"x": [1]}, tmp_path)
    same = desk.tables()[1]
    more = desk.with_tables([(other.table, other.file), (same, desk.file(same.id))])
    assert [table.name for table in more.tables()] == ["orders", "customers", "orders_2"]
    assert total(more, "orders_2", "x") == 1


# The tables of documents on disk: what is on record, what goes, what is swept; and their names.

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


# Tables kept with the run that they were handed to.


def keep_tables(
    record: Path, run: str, *identities: str, sha256: str = "a" * 64, age: int = 0
) -> Path:
    folder = handed.run_folder(record, run)
    folder.mkdir(parents=True)
    tables = []
    for name in identities:
        (folder / f"{name}.parquet").write_bytes(b"x" * 1000)
        tables.append(Table(id=name, name=name, title=name, sha256=sha256, rows=1, columns=()))
    handed.write_names(folder, tables)
    os.utime(folder, (1_700_000_000 - age, 1_700_000_000 - age))
    return folder


def ids(folder: Path) -> list[str]:
    return [table.id for table, _ in handed.handed_tables(folder)]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_the_tables_of_a_run_are_found_again(record: Path) -> None:
    folder = keep_tables(record, "r1", "t1", "t2")
    assert ids(folder) == ["t1", "t2"]
    (folder / "t1.parquet").unlink()
    assert ids(folder) == ["t2"]


def test_a_shared_file_outlives_the_run_it_came_from(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = keep_tables(record, "r1", "t1")
    for number, link in enumerate([os.link, None]):
        if link is None:
            monkeypatch.setattr(os, "link", _refuses)
        folder = handed.run_folder(record, f"later{number}")
        folder.mkdir()
        shared = handed.share(first / "t1.parquet", folder)
        assert shared.read_bytes() == b"x" * 1000
        assert handed.share(first / "t1.parquet", folder) == shared
    handed.forget_tables(record, "r1")
    assert shared.exists()


def _refuses(*_: object) -> None:
    raise OSError("no links here")


def test_the_oldest_go_first(record: Path) -> None:
    for age in range(4):
        keep_tables(record, f"r{age}", f"t{age}", age=age)
    handed.keep_within(record, keep=3)
    assert sorted(path.name for path in handed.tables_folder(record).iterdir()) == [
        "r0",
        "r1",
        "r2",
    ]
    handed.keep_within(record, keep=3, most_bytes=1500)
    assert [path.name for path in handed.tables_folder(record).iterdir()] == ["r0"]
    handed.keep_within(record, keep=0, most_bytes=0)
    assert [path.name for path in handed.tables_folder(record).iterdir()] == ["r0"]


def test_tables_go_with_their_run(record: Path) -> None:
    with RunStore.open(record) as store:
        for run in ("r1", "r2", "r3"):
            store.start(run, question="how much", workflow="analyst", created=f"2024-01-0{run[1]}")
            store.leave(run)
            keep_tables(record, run, "t1")
        store.prune(2)
        store.remove("r2")
    assert [path.name for path in handed.tables_folder(record).iterdir()] == ["r3"]


# Tables that are handed over with a question.

ROWS = [{"region": "north", "price": 10}, {"region": "south", "price": 20}]


@pytest.fixture
def runs(tmp_path: Path) -> RunSettings:
    return RunSettings(path=tmp_path / "record" / "runs.db", keep=5)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    file = tmp_path / "sales.csv"
    file.write_text("region,price\nnorth,10\nsouth,20\n", encoding="utf-8")
    return file


def test_every_form_of_table(runs: RunSettings, worker: Worker, sales: Path) -> None:
    import pandas as pd

    handed = take_over(
        {
            "frame": pd.DataFrame(ROWS),
            "arrow": pa.table({"a": [1]}),
            "My rows": ROWS,
            "columns": {"a": [1, 2, 3]},
            "file": sales,
            "text": str(sales),
        },
        run="r1",
        runs=runs,
        worker=worker,
    )
    assert {table.name: (table.rows, table.path) for table, _ in handed.entries} == {
        "frame": (2, None),
        "arrow": (1, None),
        "my_rows": (2, None),
        "columns": (3, None),
        "file": (2, str(sales)),
        "text": (2, str(sales)),
    }
    assert all(file.is_file() for _, file in handed.entries)
    again = handed_to("r1", runs)
    assert again is not None
    assert again.entries == handed.entries
    handed.close()
    assert handed_to("r1", runs) is not None


def test_the_same_file_is_read_once(
    runs: RunSettings, worker: Worker, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from secondlook.tables.desk import cached_profile

    first = take_over({"sales": sales}, run="r1", runs=runs, worker=worker)
    [(table, file)] = first.entries
    profile = cached_profile(first.folder, worker, table, file)
    monkeypatch.setattr("secondlook.tables.read.read_tables", None)
    moved = sales.rename(sales.with_name("other name.csv"))
    second = take_over({"turnover": moved}, run="r2", runs=runs, worker=worker)
    shutil.rmtree(first.folder)
    [(again, shared)] = second.entries
    assert (again.id, again.name, again.title) == (table.id, "turnover", "other name.csv")
    assert again.path == str(moved)
    assert shared.is_file()
    monkeypatch.setattr("secondlook.tables.desk.profile_table", None)
    assert cached_profile(second.folder, worker, again, shared) == profile


def test_where_nothing_is_recorded_nothing_stays(worker: Worker, runs: RunSettings) -> None:
    none = runs.model_copy(update={"keep": 0})
    handed = take_over({"rows": ROWS}, run="r1", runs=none, worker=worker)
    assert handed.passing
    assert handed.folder.is_dir()
    handed.close()
    assert not handed.folder.exists()
    assert not tables_folder(runs.path).exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": None}, "'x' is of type 'NoneType'"),
        ({"x": 3}, "'x' is of type 'int'"),
        ({"x": b"a,b"}, "'x' is of type 'bytes'"),
        ({"x": "no such file.csv"}, "No such file"),
        ({"x": "."}, "Is a directory"),
        ({"x": []}, ""),
        ({"x": object()}, ""),
    ],
)
def test_what_is_no_table_is_told_and_leaves_nothing(
    worker: Worker, runs: RunSettings, given: dict[str, object], words: str
) -> None:
    with pytest.raises(SecondlookError) as caught:
        take_over(given, run="r1", runs=runs, worker=worker)
    assert words in str(caught.value)
    assert not (tables_folder(runs.path) / "r1").exists()


@pytest.mark.parametrize("given", [ROWS, "sales.csv", {}, {"": ROWS}, {3: ROWS}])
def test_what_are_no_tables_by_name(given: object) -> None:
    with pytest.raises(UsageError):
        check_tables(given)


def test_which_workflow_is_meant() -> None:
    usual, plain = settings_of(), settings_of(answer={"workflow": "linear"})
    assert workflow_for({"a": ROWS}, None, usual) == "auto"
    assert workflow_for({"a": ROWS}, None, plain) == "analyst"
    assert workflow_for({"a": ROWS}, "auto", plain) == "auto"
    with pytest.raises(UsageError, match="'linear' does not compute"):
        workflow_for({"a": ROWS}, "linear", usual)
