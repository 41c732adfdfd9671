"""A table of orders to ask statistics of, and what pandas makes of it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secondlook.tables.compute import run_query
from secondlook.tables.profile import profile
from secondlook.tables.read import table_from_frame
from secondlook.tables.resolver import AskedTable
from secondlook.tables.table import TableProfile
from secondlook.tables.understand.interpreter import Understanding, understand
from secondlook.tables.understand.readings import queries, values_of, wanted_of
from tests.support.tables import database

if TYPE_CHECKING:
    from pydantic import JsonValue

    from secondlook.tables.query import Computed, Query

ROWS = 300


@cache
def orders() -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "order_id": np.arange(1000, 1000 + ROWS),
            "date": pd.date_range("2023-01-01", periods=ROWS, freq="2D"),
            "region": random.choice(["North", "South", "East", "West"], ROWS),
            "product": random.choice(
                ["lamp", "chair", "desk", "sofa"], ROWS, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "units": random.integers(1, 20, ROWS),
            "unit_price": random.gamma(3, 20, ROWS).round(2),
            "discountPct": random.uniform(0, 30, ROWS).round(1),
            "rating": random.integers(1, 6, ROWS).astype(float),
            "returned": random.random(ROWS) < 0.2,
        }
    )
    frame.loc[::11, "rating"] = np.nan
    frame.loc[::50, "discountPct"] = np.nan
    return frame


def asked_table(frame: pd.DataFrame, name: str = "orders") -> AskedTable:
    """Handed over, profiled and computed with by the real code, in the test's own process."""
    read = table_from_frame(name, frame, Path(tempfile.mkdtemp(prefix="secondlook-shop-")))
    known = profile(database(), file=str(read.file), table=read.table.model_dump())

    def compute(query: Query) -> Computed:
        return run_query(database(), query, read.table, str(read.file))

    def values(column: str) -> list[str]:
        return [str(one) for one in frame[column].dropna().unique()]

    return AskedTable(read.table, TableProfile.model_validate(known), values, compute)


@cache
def shop() -> AskedTable:
    return asked_table(orders())


def read(question: str, table: AskedTable | None = None) -> Understanding:
    return understand(question, [table or shop()])


def values(question: str, table: AskedTable | None = None) -> dict[str, JsonValue]:
    """What a question comes to; it must be understood."""
    over = table or shop()
    understood = read(question, over)
    assert understood.best is not None, understood.why
    assert over.compute is not None
    computed = [over.compute(one) for one in queries(understood.best)]
    return values_of(understood.best, computed, wanted_of(question))


def value(question: str, table: AskedTable | None = None) -> JsonValue:
    (only,) = values(question, table).values()
    return only
