"""Questions to begin with, made in the background and kept until the library changes."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from functools import partial
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel, Field

from secondlook.errors import SecondlookError
from secondlook.evaluation.confidence import Answering
from secondlook.evaluation.generated_questions import Asked, askable, question_about, statements
from secondlook.nodes.desk import measures
from secondlook.reading.calibration import CALIBRATION_FILE, load_calibration
from secondlook.roles.route import summary_request
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.server.problems import responses
from secondlook.tables.query import Filter, Query
from secondlook.tables.resolver import MOST_VALUES, AskedTable
from secondlook.tables.understand.interpreter import understand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from secondlook.evaluation.generated_questions import Statement
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


class Suggestion(BaseModel):
    question: str = Field(examples=["What is the mean price by region?"])
    why: str = Field(description="What it is made from.", examples=["a column of sales.csv"])


class Suggestions(BaseModel):
    questions: list[Suggestion]
    ready: bool = Field(description="Whether they have been made; ask again where not.")


@router.get("/suggestions", summary="Questions to begin with", responses=responses(404))
async def suggest(opened: OpenedLibrary) -> Suggestions:
    """Up to three that this library answers, made from its own files: each was tried. They are
    made in the background, while nothing is being added; until then `ready` is false."""
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


# Questions made from a person's own files, each tried before it is suggested: what is offered
# as a first question must not end in "I don't know".

MOST = 3
_DOCUMENTS, _TABLES = 6, 4
"""Newest ones that are looked at."""
_STATEMENTS = 200
"""Of one document that are made questions."""
_TRIED = 4
"""Questions about one document that are tried: each is a search and a look."""
_CHARACTERS = 60_000
_NO_PROSE = frozenset({"code", "csv", "sheet", "json", "jsonl", "xml"})
_OF_EACH_TABLE = 3
_GROUPS = 12
"""Most different values of a column that is worth grouping by."""
_SHORT_TABLE = 100
"""Rows of a table that one can ask for a single row of."""
_FORMS = (
    re.compile(r"When (?:was|were|is|are) "),
    re.compile(r"Who (?:was|is|were|are) "),
    re.compile(r"Where (?:was|were|is|are) "),
    re.compile(r"How many [a-z]+s (?:was|were|is|are|does|do|can|have|has) "),
    re.compile(r"What (?:was|is) the "),
)
"""Beginnings of questions that a person might have typed, those that turn out best first."""
_AWKWARD = re.compile(
    r"\b(?:its|their|his|her|it|not|there|percent|which|that|what)\b(?! year)"
    r"|\b(?:for|in|of|within|at|with|by|to|from|on|under|after|before|a|an|the|and|or|as)\?$"
    r"|^How many (?:years|months|weeks|days|hours|minutes|seconds|metres|meters|centimetres|"
    r"kilometres|crowns|dollars|euros|pounds|times|tonnes|degrees) |[,;:()\[\]\"]"
)
_LONGEST_QUESTION, _SHORTEST_QUESTION = 14, 5
"""Words."""
_SURE = 0.5
_LONGEST_TITLE = 60
_EXTREME = re.compile(
    r"(?:highest|lowest|largest|smallest|max|min|mean|average|total)", re.IGNORECASE
)
"""How a column begins that is a statistic already."""


class _Steady(Random):
    """Clauses that do not matter are dropped, and words stay as the document has them."""

    def random(self) -> float:
        return 0.6


def suggestions(library: Library, stopping: Stopping) -> list[Suggestion]:
    """At most three, of different kinds where the library has them."""
    documents = sorted(library.documents(), key=lambda item: item.added, reverse=True)
    tables = list(islice(_until(stopping, about_tables(library, documents)), MOST))
    facts = list(islice(_until(stopping, about_facts(library, documents)), MOST - bool(tables)))
    summed = list(islice(about_whole(documents), MOST))
    further = [one for one in tables[1:] if one.why == tables[0].why]
    others = [one for one in tables[1:] if one not in further]
    mixed = [*tables[:1], *facts, *summed[:1], *others, *summed[1:], *further]
    return mixed[:MOST]


def _until(stopping: Stopping, found: Iterator[Suggestion]) -> Iterator[Suggestion]:
    try:
        for one in found:
            if stopping():
                return
            yield one
    except SecondlookError:  # a table that cannot be read, a reader that is missing
        return


def about_tables(library: Library, documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """One question of each table, then further ones of other kinds, and only those that the grammar
    reads and that compute."""
    desk = library.desk()
    age = {name: at for at, item in enumerate(documents) for name in item.tables}
    newest = sorted(desk.tables(), key=lambda table: age.get(table.name, len(age)))[:_TABLES]
    asked = [_asked(desk, table.id) for table in newest]
    taken: set[tuple[str, str]] = set()
    for one in asked * _OF_EACH_TABLE:
        fresh = (words for words in _wordings(one) if (one.table.id, _kind(words)) not in taken)
        found = next((words for words in fresh if _computes(words, one, asked, desk)), None)
        if found is not None:
            taken.add((one.table.id, _kind(found)))
            yield Suggestion(question=found, why=f"computed from the table {one.table.title}")


def _kind(question: str) -> str:
    """A mean by month and a mean by region are alike."""
    return " ".join(question.split()[:4])


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


def about_facts(library: Library, documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """One question of each document, and only those that a search over the whole library answers
    with the words they were made from."""
    prose = [
        item
        for item in documents
        if item.kind not in _NO_PROSE and item.passages > 0 and item.language in {"en", None}
    ][:_DOCUMENTS]
    if not prose:
        return
    own = library.path / CALIBRATION_FILE
    answering = Answering(library, load_calibration(library.reader().name, own))
    for item in prose:
        text = library.text(item.id).text[:_CHARACTERS]
        said = islice(statements(item.id, text), _STATEMENTS)
        ranked = sorted((pair for one in said for pair in _asked_about(one)), key=lambda it: it[0])
        for _, asked in ranked[:_TRIED]:
            found = asyncio.run(answering.answer(asked))
            if found is None or not found.outcome.right:
                continue
            if found.before is None or found.before >= _SURE:
                why = f"answered in {shortened(item.title)}"
                yield Suggestion(question=asked.question, why=why)
                break


def _asked_about(one: Statement) -> Iterator[tuple[int, Asked]]:
    """Questions with their ranks, the likeliest to please first."""
    for piece in askable(one.text):
        question = question_about(one.text, piece, _Steady(0)) or ""
        rank = next((at for at, form in enumerate(_FORMS) if form.match(question)), None)
        fits = _SHORTEST_QUESTION <= len(question.split()) <= _LONGEST_QUESTION
        if rank is None or piece.kind == "phrase" or not fits or _AWKWARD.search(question):
            continue
        yield rank, Asked(question, (piece.text,), answerable=True, group=one.document)


def about_whole(documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """What can always be asked: an overview."""
    for item in documents:
        title = " ".join(item.title.split())
        question = f"Summarise {title}"
        if title != shortened(title) or item.kind in _NO_PROSE or not summary_request(question):
            continue
        yield Suggestion(question=question, why=f"an overview of {title}")


def shortened(title: str) -> str:
    flat = " ".join(title.split())
    most = _LONGEST_TITLE
    return flat if len(flat) <= most else f"{flat[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
