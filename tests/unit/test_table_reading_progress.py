"""How far a reader has come."""

from __future__ import annotations

import io
import struct
import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.tables import column_types as converting
from secondlook.tables import csv_files as delimited
from secondlook.tables import formats as task
from secondlook.tables.worker_process import receive, send
from tests.support.tables import database

if TYPE_CHECKING:
    from pathlib import Path


def test_copying_row_by_row_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_REPORTED_ROWS", 1)
    source = tmp_path / "uneven.csv"
    source.write_text("a,b\n1\n" + "3,4\n" * 50_000)
    told: list[float] = []
    task.read(
        database(), source=str(source), stage=str(tmp_path), most_bytes=1 << 30, report=told.append
    )
    assert told[0] == 0
    assert told == sorted(told)
    assert len(set(told)) > 10
    assert max(told) <= 1


def test_what_duckdb_has_done_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "_POLL_SECONDS", 0.001)
    heard = threading.Event()
    told: list[float] = []

    class Connection:
        shares = iter([-1.0, 25.0, 50.0])

        def query_progress(self) -> float:
            return next(self.shares, 100.0)

    def report(share: float) -> None:
        told.append(share)
        if share == 1:
            heard.set()

    with converting.watched(Connection(), report):
        assert heard.wait(30)
    assert told[:3] == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 4, struct.pack("<Q", 5) + b"12", struct.pack("<Q", 3) + b"{x}",
             struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 1 << 40)]
)  # fmt: skip
def test_what_is_no_message_means_that_nobody_is_there(data: bytes) -> None:
    with pytest.raises(EOFError):
        receive(io.BytesIO(data))


def test_a_message_survives_the_way() -> None:
    message: dict[str, Any] = {"value": [float("inf"), None, "ü\ud800", 2**70]}
    stream = io.BytesIO()
    send(stream, message)
    stream.seek(0)
    assert receive(stream) == message
