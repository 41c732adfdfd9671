"""Questions to begin with, made from a person's own files, and each tried."""

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
from secondlook.roles.wants import wanted
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.tables.resolver import AskedTable
from secondlook.tables.understand.interpreter import understand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo
    from secondlook.tables.desk import Desk

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
log = logging.getLogger(__name__)
_lock = threading.Lock()
_made: dict[Path, tuple[frozenset[str], list[Suggestion]]] = {}  # until the documents change
MOST = 3
_TABLES = 4
_GROUPS = 12  # most different values of a column that is worth grouping by
_LONGEST_TITLE = 60
_NO_PROSE = frozenset({"code", "csv", "sheet", "json", "jsonl", "xml"})


class Suggestion(BaseModel):
    question: str = Field(examples=["What is the mean price by region?"])
    why: str = Field(description="What it is made from.", examples=["a column of sales.csv"])


class Suggestions(BaseModel):
    questions: list[Suggestion]
    ready: bool = Field(description="False while files are being added: ask again.")


@router.get("/suggestions")
async def suggest(opened: OpenedLibrary) -> Suggestions:
    """Up to three questions that this library answers."""
    if opened.jobs.active(opened.name):
        return Suggestions(questions=[], ready=False)
    questions = await asyncio.to_thread(suggestions, opened.library)
    return Suggestions(questions=questions, ready=True)


def suggestions(library: Library) -> list[Suggestion]:
    """One of a table, an overview, then further ones; made once until the documents change."""
    with _lock:
        documents = sorted(library.documents(), key=lambda item: item.added, reverse=True)
        version = frozenset(item.id for item in documents)
        known, made = _made.get(library.path, (None, []))
        if known != version:
            tables: list[Suggestion] = []
            try:
                tables = list(islice(_about_tables(library, documents), MOST))
            except SecondlookError as error:  # a table that cannot be read
                log.warning("no questions could be suggested about tables: %s", error)
            whole = list(islice(_about_documents(documents), MOST))
            made = [*tables[:1], *whole[:1], *tables[1:], *whole[1:]][:MOST]
            _made[library.path] = version, made
        return made


def _about_documents(documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    for item in documents:
        title = " ".join(item.title.split())
        question = f"Summarise {title}"
        short = len(title) <= _LONGEST_TITLE
        if short and item.kind not in _NO_PROSE and wanted(question).kind == "summary":
            yield Suggestion(question=question, why=f"an overview of {title}")


def _about_tables(library: Library, documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """One question of each table, newest first, then other kinds: such as can be computed."""
    desk = library.desk()
    age = {name: at for at, item in enumerate(documents) for name in item.tables}
    newest = sorted(desk.tables(), key=lambda table: age.get(table.name, len(age)))[:_TABLES]
    asked = [_asked(desk, table.id) for table in newest]
    wordings = [_wordings(one) for one in asked]
    for kind in range(3):
        for one, words in zip(asked, wordings, strict=True):
            for question in words[kind]:
                reading = understand(question, asked).best
                if reading is None or reading.query.table != one.table.id:
                    continue
                rows = desk.compute(reading.query).rows
                if rows and all(row[-1] is not None for row in rows):
                    why = f"computed from the table {one.table.title}"
                    yield Suggestion(question=question, why=why)
                    break


def _wordings(one: AskedTable) -> tuple[list[str], list[str], list[str]]:
    numbers = [spoken for name in measures([one]) if (spoken := _spoken(name))][:3]
    most = min(_GROUPS, one.profile.rows // 2)
    texts = [column for column in one.profile.columns if column.type == "text"]
    names = [_spoken(column.name) for column in texts if 1 < column.distinct <= most]
    groups = [name for name in names if name][:2]
    return (
        [f"What is the mean {number} by {group}?" for number in numbers for group in groups],
        [f"What is the highest {number}?" for number in numbers],
        [f"How many rows are there by {group}?" for group in groups],
    )


def _spoken(name: str) -> str:
    """`Water level (m)` as one says it; "" of what is no name, such as `Unnamed: 3`."""
    bare = " ".join(re.sub(r"[(\[].*?[)\]]|_", " ", name).split())
    if not re.fullmatch(r"[^\W\d][\w %/.-]{1,39}", bare):
        return ""
    first = bare.partition(" ")[0]
    return bare[0].lower() + bare[1:] if first[1:].islower() or len(first) == 1 else bare


def _asked(desk: Desk, table: str) -> AskedTable:
    values = partial(desk.values, table)
    return AskedTable(desk.table(table), desk.profile(table), values, compute=desk.compute)
