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

from secondlook.errors import SecondlookError
from secondlook.evaluation.confidence import Answering
from secondlook.evaluation.generated_questions import Asked, askable, question_about, statements
from secondlook.nodes.desk import measures
from secondlook.reading.calibration import CALIBRATION_FILE, load_calibration
from secondlook.roles.route import summary_request
from secondlook.server.library import (
    Opened,
    OpenedLibrary,
    Suggestion,
    Suggestions,
)
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

if TYPE_CHECKING:
    Stopping = Callable[[], bool]

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
log = logging.getLogger(__name__)
_NOTHING = Suggestions(questions=[], ready=True)


class Suggesting:
    """Threads may share one. What was made of a library is good until its documents change, and
    one thread at a time makes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Path, tuple[frozenset[str], Suggestions]] = {}
        self._making: set[Path] = set()

    def made(self, library: Path, version: frozenset[str]) -> Suggestions | None:
        with self._lock:
            known = self._made.get(library)
        return known[1] if known is not None and known[0] == version else None

    def begin(self, library: Path) -> bool:
        """Whether the caller is the one to make them."""
        with self._lock:
            begins = library not in self._making
            self._making.add(library)
        return begins

    def make(self, library: Library, version: frozenset[str], stopping: Stopping) -> None:
        """What fails here costs a suggestion and nothing else."""

        made = []
        try:
            made = suggestions(library, stopping)
        except SecondlookError as error:
            log.warning("no questions could be suggested: %s", error)
        finally:
            with self._lock:
                if not stopping():
                    self._made[library.path] = version, Suggestions(questions=made, ready=True)
                self._making.discard(library.path)


_suggesting = Suggesting()


@router.get("/suggestions", summary="Questions to begin with", responses=responses(404))
async def suggest(opened: OpenedLibrary) -> Suggestions:
    """Up to three that this library answers, made from its own files: each was tried. They are
    made in the background, while nothing is being taken in; until then `ready` is false."""
    return await asyncio.to_thread(_suggested, opened)


def _suggested(opened: Opened) -> Suggestions:
    library, jobs = opened.library, opened.jobs
    version = frozenset(item.id for item in library.documents())
    found = _suggesting.made(library.path, version) if version else _NOTHING
    if found is not None:
        return found
    if not jobs.active(opened.name) and _suggesting.begin(library.path):
        jobs.aside(lambda stopping: _suggesting.make(library, version, stopping))
    return Suggestions(questions=[], ready=False)


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


def suggestions(library: Library, stopping: Callable[[], bool]) -> list[Suggestion]:
    """At most three, of different kinds where the library has them."""
    documents = sorted(library.documents(), key=lambda item: item.added, reverse=True)
    tables = list(islice(_unless(stopping, about_tables(library, documents)), MOST))
    facts = list(islice(_unless(stopping, about_facts(library, documents)), MOST - bool(tables)))
    summed = list(islice(about_whole(documents), MOST))
    further = [one for one in tables[1:] if one.why == tables[0].why]
    others = [one for one in tables[1:] if one not in further]
    mixed = [*tables[:1], *facts, *summed[:1], *others, *summed[1:], *further]
    return mixed[:MOST]


def _unless(stopping: Callable[[], bool], found: Iterator[Suggestion]) -> Iterator[Suggestion]:
    try:
        for one in found:
            if stopping():
                return
            yield one
    except SecondlookError:  # a table that cannot be read, a reader that is missing
        return


# Tables


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
    values = partial(_values, desk, table)
    return AskedTable(desk.table(table), desk.profile(table), values, compute=desk.compute)


def _values(desk: Desk, table: str, column: str) -> list[str]:
    there = Filter(column=column, comparison="present")
    query = Query(table=table, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES)
    return [str(row[0]) for row in desk.compute(query).rows]


# Documents


def about_facts(library: Library, documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """One question of each document, and only those that a search over the whole library answers
    with the words they were made from."""
    prose = [item for item in documents if _is_prose(item)][:_DOCUMENTS]
    if not prose:
        return
    own = library.path / CALIBRATION_FILE
    answering = Answering(library, load_calibration(library.reader().name, own))
    for item in prose:
        likely = islice(_questions(library, item), _TRIED)
        if asked := next((one for one in likely if _is_answered(answering, one)), None):
            yield Suggestion(question=asked.question, why=f"answered in {_titled(item)}")


def _is_prose(item: DocumentInfo) -> bool:
    return item.kind not in _NO_PROSE and item.passages > 0 and item.language in {"en", None}


def _questions(library: Library, item: DocumentInfo) -> list[Asked]:
    """The likeliest to please first."""
    text = library.text(item.id).text[:_CHARACTERS]
    said = islice(statements(item.id, text), _STATEMENTS)
    found = [(rank, asked) for one in said for rank, asked in _asked_about(one)]
    return [asked for _, asked in sorted(found, key=lambda pair: pair[0])]


def _asked_about(one: Statement) -> Iterator[tuple[int, Asked]]:
    for piece in askable(one.text):
        question = question_about(one.text, piece, _Steady(0)) or ""
        rank = next((at for at, form in enumerate(_FORMS) if form.match(question)), None)
        if rank is not None and piece.kind != "phrase" and _is_plain(question):
            yield rank, Asked(question, (piece.text,), answerable=True, group=one.document)


def _is_plain(question: str) -> bool:
    words = len(question.split())
    fits = _SHORTEST_QUESTION <= words <= _LONGEST_QUESTION
    return fits and _AWKWARD.search(question) is None


def _is_answered(answering: Answering, asked: Asked) -> bool:
    found = asyncio.run(answering.answer(asked))
    if found is None or not found.outcome.right:
        return False
    return found.before is None or found.before >= _SURE


def about_whole(documents: Sequence[DocumentInfo]) -> Iterator[Suggestion]:
    """What can always be asked: an overview."""
    for item in documents:
        title = " ".join(item.title.split())
        question = f"Summarise {title}"
        if len(title) <= _LONGEST_TITLE and item.kind not in _NO_PROSE and _is_asked_for(question):
            yield Suggestion(question=question, why=f"an overview of {_titled(item)}")


def _is_asked_for(question: str) -> bool:
    return bool(summary_request(question))


def _titled(item: DocumentInfo) -> str:
    title = " ".join(item.title.split())
    return (
        title
        if len(title) <= _LONGEST_TITLE
        else f"{title[: _LONGEST_TITLE - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
