"""Questions to begin with, made from a person's own files in the background, and each tried."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel, Field

from secondlook.errors import SecondlookError
from secondlook.nodes.desk import measures
from secondlook.roles.route import summary_request
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.tables.query import Filter, Query
from secondlook.tables.resolver import MOST_VALUES, AskedTable
from secondlook.tables.understand.interpreter import understand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import ColumnProfile

    Stopping = Callable[[], bool]

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
log = logging.getLogger(__name__)
_lock = threading.Lock()
_made: dict[Path, tuple[frozenset[str], list[Suggestion]]] = {}
"""By library: good until its documents change."""
_making: set[Path] = set()
MOST = 3
_TABLES, _OF_EACH_TABLE = 4, 3
_GROUPS = 12
"""Most different values of a column that is worth grouping by."""
_SHORT_TABLE = 100
"""Rows of a table that one can ask for a single row of."""
_LONGEST_TITLE = 60
_NO_PROSE = frozenset({"code", "csv", "sheet", "json", "jsonl", "xml"})
_EXTREME = re.compile(
    r"(?:highest|lowest|largest|smallest|max|min|mean|average|total)", re.IGNORECASE
)
"""How a column begins that is a statistic already."""


class Suggestion(BaseModel):
    question: str = Field(examples=["What is the mean price by region?"])
    why: str = Field(description="What it is made from.", examples=["a column of sales.csv"])


class Suggestions(BaseModel):
    questions: list[Suggestion]
    ready: bool = Field(description="Whether they have been made; ask again where not.")


@router.get("/suggestions")
async def suggest(opened: OpenedLibrary) -> Suggestions:
    """Up to three questions that this library answers. They are made in the background, while
    nothing is being added; until then `ready` is false."""
    library = opened.library
    documents = await asyncio.to_thread(library.documents)
    version = frozenset(item.id for item in documents)
    with _lock:
        known, questions = _made.get(library.path, (None, []))
        if known == version or not version:
            return Suggestions(questions=questions if version else [], ready=True)
        begins = library.path not in _making and not opened.jobs.active(opened.name)
        if begins:
            _making.add(library.path)
    if begins:
        opened.jobs.aside(partial(_make, library, version))
    return Suggestions(questions=[], ready=False)


def _make(library: Library, version: frozenset[str], stopping: Stopping) -> None:
    """What fails here costs a suggestion and nothing else."""
    made: list[Suggestion] = []
    try:
        made = suggestions(library, stopping)
    except SecondlookError as error:
        log.warning("no questions could be suggested: %s", error)
    finally:
        with _lock:
            if not stopping():
                _made[library.path] = version, made
            _making.discard(library.path)


def suggestions(library: Library, stopping: Stopping) -> list[Suggestion]:
    """At most three: one of each table, an overview, then further ones."""
    documents = sorted(library.documents(), key=lambda item: item.added, reverse=True)
    tables: list[Suggestion] = []
    try:
        for one in islice(about_tables(library, documents), MOST):
            if stopping():
                break
            tables.append(one)
    except SecondlookError as error:  # a table that cannot be read
        log.warning("no questions could be suggested about tables: %s", error)
    summed = list(islice(about_whole(documents), MOST))
    further = [one for one in tables[1:] if one.why == tables[0].why]
    others = [one for one in tables[1:] if one not in further]
    return [*tables[:1], *summed[:1], *others, *summed[1:], *further][:MOST]


def about_whole(documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """What can always be asked: an overview."""
    for item in documents:
        title = " ".join(item.title.split())
        question = f"Summarise {title}"
        if len(title) > _LONGEST_TITLE or item.kind in _NO_PROSE or not summary_request(question):
            continue
        yield Suggestion(question=question, why=f"an overview of {title}")


def about_tables(library: Library, documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """One question of each table, then further ones of other kinds, and only those that are
    understood without a model and can be computed."""
    desk = library.desk()
    age = {name: at for at, item in enumerate(documents) for name in item.tables}
    newest = sorted(desk.tables(), key=lambda table: age.get(table.name, len(age)))[:_TABLES]
    asked = [_asked(desk, table.id) for table in newest]
    taken: set[tuple[str, str]] = set()
    for one in asked * _OF_EACH_TABLE:
        for words in _wordings(one):
            kind = " ".join(words.split()[:4])  # a mean by month and a mean by region are alike
            if (one.table.id, kind) not in taken and _computes(words, one, asked, desk):
                taken.add((one.table.id, kind))
                yield Suggestion(question=words, why=f"computed from the table {one.table.title}")
                break


def _wordings(one: AskedTable) -> Iterator[str]:
    numbers = [spoken for name in measures([one]) if (spoken := _spoken(name))][:3]
    rows = one.profile.rows
    groups = _spoken_columns(one, lambda column: 1 < column.distinct <= min(_GROUPS, rows // 2))
    labels = _spoken_columns(one, lambda column: column.key and 1 < rows <= _SHORT_TABLE)
    plain = [number for number in numbers if not _EXTREME.match(number)]
    for number in plain:
        yield from (f"What is the mean {number} by {group}?" for group in groups)
    for number in numbers:
        highest = number if _EXTREME.match(number) else f"highest {number}"
        yield from (f"Which {label} has the {highest}?" for label in labels)
    for number in plain:
        yield f"What is the mean {number}?"
        yield f"What is the highest {number}?"
    yield from (f"How many rows are there by {group}?" for group in groups)


def _spoken_columns(one: AskedTable, fits: Callable[[ColumnProfile], bool]) -> list[str]:
    chosen = [column for column in one.profile.columns if column.type == "text" and fits(column)]
    names = [_spoken(column.name) for column in chosen]
    return [name for name in names if name and not _EXTREME.match(name)][:2]


def _spoken(name: str) -> str:
    """`Highest high water (m)` as one says it; "" of what is no name, such as `Unnamed: 3`."""
    bare = " ".join(re.sub(r"[(\[].*?[)\]]|_", " ", name).split())
    if not re.fullmatch(r"[^\W\d][\w %/.-]{1,39}", bare):
        return ""
    first = bare.partition(" ")[0]
    return bare[0].lower() + bare[1:] if first[1:].islower() or len(first) == 1 else bare


def _computes(question: str, one: AskedTable, asked: Sequence[AskedTable], desk: Desk) -> bool:
    reading = understand(question, asked).best
    if reading is None or reading.query.table != one.table.id:
        return False
    rows = desk.compute(reading.query).rows
    return bool(rows) and all(row[-1] is not None for row in rows)


def _asked(desk: Desk, table: str) -> AskedTable:
    def values(column: str) -> list[str]:
        there = Filter(column=column, comparison="present")
        query = Query(
            table=table, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES
        )
        return [str(row[0]) for row in desk.compute(query).rows]

    return AskedTable(desk.table(table), desk.profile(table), values, compute=desk.compute)
