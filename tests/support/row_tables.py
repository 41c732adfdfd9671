"""Tables for questions about rows: read, profiled and computed with by the real tasks, within the
test's own process."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.tables import formats as task
from secondlook.tables.compute import run_query
from secondlook.tables.profile import profile
from secondlook.tables.query import Computed, Filter, Query
from secondlook.tables.resolver import AskedTable
from secondlook.tables.table import Column, Table, TableProfile
from secondlook.tables.understand.readings import Reading, queries, values_of
from secondlook.tables.understand.written import read as read_form
from tests.support.tables import database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue


MEDALS = """Rank|Nation|Gold|Silver|Bronze|Total
1|Norway|11|5|10|26
2|Germany|10|9|7|26
3|Canada|7|9|4|20
4|Austria|3|4|4|11
5|Japan|0|2|5|7
6|Estonia|0|0|1|1
|Total|31|29|31|91"""

GAMES = """Week|Date|Opponent|Result|Venue|Attendance
1|September 3, 1978|Harbour City|W 13-7|Home|51,187
2|September 10, 1978|Old Town|L 17-28|Away|54,336
3|September 17, 1978|River Side|W 21-3|Home|60,002
4|October 1, 1978|North Hill|L 0-10|Away|48,950
5|October 8, 1978|Old Town|W 30-6|Home|61,533
6|November 5, 1978|Harbour City|L 7-14|Away|39,800"""

FILMS = """Year|Title|Director|Length|Studio
1991|The Quay|Ann Berg|92 min|Lantern
1993|Salt and Stone|Ian Cole|104 min|Meridian
1993|Two Winters|Ann Berg|88 min|Lantern
1996|The Long Field|Mara Dunn|131 min|Lantern
2001|Paper Boats|Ian Cole|97 min|Quill
2004|The Lighthouse|Ann Berg|115 min|Meridian"""

ORDERS = """order_id|region|product|price|quantity|note
101|north|apple|4.5|10|
102|south|pear|7.25|3|late
103|east|apple|4.5|6|
104|north|plum|12|2|late
105|east|pear|7.25|8|
106|north|apple|5|1|broken
107|west|plum|11.5|4|"""


@cache
def table_of(text: str, name: str = "data", *, blind: bool = False) -> AskedTable:
    """From lines of cells with bars between them; a `blind` one can compute nothing."""
    stage = tempfile.mkdtemp(prefix="secondlook-rows-")
    source = Path(stage) / "rows.csv"
    rows = [[f'"{cell}"' for cell in line.split("|")] for line in text.splitlines()]
    source.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    with database().cursor() as connection:
        read = task.read(connection, source=str(source), stage=stage, most_bytes=1 << 20)
        (found,) = read["tables"]
        digest = hashlib.sha256(text.encode()).hexdigest()
        table = Table(
            id=digest,
            name=name,
            title=name,
            sha256=digest,
            rows=found["rows"],
            columns=tuple(Column.model_validate(one) for one in found["columns"]),
        )
        known = profile(connection, file=found["file"], table=table.model_dump())
    file = str(Path(found["file"]))

    def compute(query: Query) -> Computed:
        with database().cursor() as connection:
            return run_query(connection, query, table, file)

    def values(column: str) -> Sequence[str]:
        there = Filter(column=column, comparison="present")
        asked = Query(table=table.id, where=(there,), select=(column,), distinct=True)
        return [str(row[0]) for row in compute(asked).rows]

    return AskedTable(table, TableProfile.model_validate(known), values, None if blind else compute)


def best(question: str, text: str, **options: str) -> Reading:
    found = read_form(question, [table_of(text, **options)])
    assert found, f"no reading of {question!r}"
    return found


def answer(question: str, text: str, **options: str) -> JsonValue:
    """What the likeliest reading comes to."""
    reading = best(question, text, **options)
    compute = table_of(text, **options).compute
    assert compute is not None
    (value,) = values_of(reading, [compute(query) for query in queries(reading)]).values()
    return value
