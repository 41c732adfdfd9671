"""A query through the limited worker, as the product computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.errors import TableError
from secondlook.tables.desk import compute
from secondlook.tables.query import Key, Measure, Query, Term
from secondlook.tables.read import table_from_frame
from secondlook.tables.worker import Worker
from tests.support.shop import orders

if TYPE_CHECKING:
    from pathlib import Path


def test_computed_in_the_worker(tmp_path: Path) -> None:
    read = table_from_frame("orders", orders(), tmp_path)
    total = Measure(name="total", statistic="sum", of=Term(column="units"))
    edges = (float("-inf"), 10.0, float("inf"))
    with Worker() as worker:
        query = Query(
            table=read.table.id, measures=(total,), group_by=(Key(column="units", bins=edges),)
        )
        found = compute(worker, query, read.table, read.file)
        assert sum(row[1] for row in found.rows if isinstance(row[1], int)) == orders().units.sum()
        wrong = query.model_copy(update={"group_by": (Key(column="nothing"),)})
        with pytest.raises(TableError, match="no column 'nothing'"):
            compute(worker, wrong, read.table, read.file)
