"""The tables at hand: profiles, joins, computations, and what is laid beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.errors import TableError
from secondlook.tables.desk import Desk
from secondlook.tables.query import Key, Measure, Query, Term
from secondlook.tables.read import table_from_frame
from secondlook.tables.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
