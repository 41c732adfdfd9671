"""The questions of WikiTableQuestions and their tables, read, profiled and asked as the product
does: as CSV files, by DuckDB in the limited process."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.tables.desk import Desk
from secondlook.tables.query import Filter, Query
from secondlook.tables.read import read_tables
from secondlook.tables.resolver import MOST_VALUES, AskedTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from secondlook.tables.worker import Worker


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    table: str
    answers: tuple[str, ...]


def questions(data: Path, first: int, last: int) -> list[Asked]:
    rows = list(_rows(data / "wikitables" / "questions.jsonl.gz"))[first:last]
    return [Asked(row["question"], row["table"], tuple(row["answers"])) for row in rows]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Tables:
    """Each is read when it is first asked for."""

    def __init__(self, data: Path, folder: Path, worker: Worker) -> None:
        self._raw = {row["table"]: row for row in _rows(data / "wikitables" / "tables.jsonl.gz")}
        self._folder = folder
        self._worker = worker
        self._asked: dict[str, AskedTable] = {}

    def __getitem__(self, name: str) -> AskedTable:
        if name not in self._asked:
            self._asked[name] = self._read(name)
        return self._asked[name]

    def _read(self, name: str) -> AskedTable:
        raw = self._raw[name]
        file = self._folder / f"table{len(self._asked)}.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([raw["header"], *raw["rows"]])
        read = read_tables(file, self._folder, worker=self._worker)[0]
        desk = Desk([(read.table, read.file)], folder=self._folder, worker=self._worker)

        def values(column: str) -> Sequence[str]:
            query = Query(
                table=read.table.id,
                where=(Filter(column=column, comparison="present"),),
                select=(column,),
                distinct=True,
                limit=MOST_VALUES,
            )
            return [str(row[0]) for row in desk.compute(query).rows]

        return AskedTable(read.table, desk.profile(read.table.id), values, desk.compute)
