"""Tables and sandboxes for tests of generated code."""

import datetime as dt
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from secondlook.sandbox import available
from secondlook.sandbox.port import Supplied

ROWS = 40


def usable() -> list[str]:
    """Backends that this machine can run: a machine without any cannot test the sandbox."""
    names = [verdict.name for verdict in available() if verdict.usable]
    assert names, available()
    return names


def chosen_backends() -> list[str]:
    """The default backend; all of them in a soak."""
    return usable() if os.environ.get("SECONDLOOK_SOAK") else usable()[:1]


def sales(folder: Path, name: str = "sales") -> Supplied:
    start = dt.datetime(2024, 1, 1, 8)  # noqa: DTZ001 - tables hold times without a zone
    table = pa.table(
        {
            "city": ["Bern", "Bonn", "Bath", None] * (ROWS // 4),
            "count": list(range(1, ROWS + 1)),
            "price": [0.1 * position for position in range(1, ROWS + 1)],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(position) for position in range(ROWS)],
            "at": [start + dt.timedelta(hours=position) for position in range(ROWS)],
            "tax": pa.array([Decimal("1.25")] * ROWS),
            "flag": [position % 2 for position in range(ROWS)],
        }
    )
    file = folder / f"{name}.parquet"
    pq.write_table(table, file)
    return Supplied(name, file)
