"""Signs that a question is meant for the tables at hand."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.nodes.analysing.at_hand import asked_tables, embedding, resolver, tables_of
from secondlook.nodes.analysing.confidence import shipped, signals
from secondlook.nodes.concepts import asks_for_concept, asks_for_data, entry_for, term_of
from secondlook.nodes.considering.signs import Signs
from secondlook.tables.asking import reading_data, understand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.tables.asking import Reading
    from secondlook.tables.resolving import AskedTable
    from secondlook.tables.table import Table

_SHORTEST = 3
"""Letters of a word that can name a column by itself."""
SURE_DOUBT = 0.05
"""A reading that leaves out less of the question needs no second opinion."""
BY_CODE = 0.5
"""How likely code of a model is right about a question that our own grammar does not read: the
half that nobody knows."""


def named_column(question: str, tables: Sequence[Table]) -> str | None:
    """`'price' of sales.csv` where the question names a column, word for word."""
    said = _words(question)
    for table in tables:
        for column in table.columns:
            name = _words(column.name)
            if name and name <= said and any(len(word) >= _SHORTEST for word in name):
                return f"{column.name!r} of {table.title}"
    return None


async def table_signs(context: Context, question: str, *, thorough: bool = False) -> Signs:
    """`thorough` also reads a question that shares no word with any table: what it names may stand
    in the cells."""
    tables = tables_of(context)
    if asks_for_concept(question) and entry_for(term_of(question)) is not None:
        return Signs(1.0, certain=True, why="It asks what a term of statistics means")
    named = named_column(question, tables)
    measured = asks_for_data(question)
    if not (thorough or named or measured or _shares_words(question, tables)):
        return Signs()
    reading, values = await _read(context, question)
    if reading is not None:
        return _of_reading(reading, named, measured=measured)
    if named is None or not (measured or values):
        return Signs()
    likely = BY_CODE if can_write_code(context) else 0.0
    return Signs(likely, named=True, why=f"It asks for a measure and names {named}")


def can_write_code(context: Context) -> bool:
    return context.models.serves("code") and context.sandbox is not None


def _of_reading(reading: Reading, named: str | None, *, measured: bool) -> Signs:
    certain = measured and named is not None and reading.doubt <= SURE_DOUBT
    why = f"It names {named}" if named else f"The tables tell it ({reading.said})"
    if measured and named:
        why = f"It asks for a measure and names {named}"
    return Signs(_probability(reading), certain=certain, named=True, why=why)


def _probability(reading: Reading) -> float:
    """That the reading is right, as fitted on questions over tables whose answers are known."""
    kind, seen = signals(
        query=reading_data(reading),
        scores=[one.score for one in reading.resolved],
        checks={},
        attempts=0,
        remedies=0,
    )
    fitted = shipped().get(kind)
    return 1.0 - reading.doubt if fitted is None else fitted.probability(seen)


async def _read(context: Context, question: str) -> tuple[Reading | None, bool]:
    """Our own reading of the question, and whether it names what stands in a cell; none where a
    table cannot be read: the workflow that computes tells what is wrong with it."""
    try:
        tables = await asked_tables(context, question)
        return await asyncio.to_thread(_understood, context, question, tables)
    except TableError:
        return None, False


def _understood(
    context: Context, question: str, tables: Sequence[AskedTable]
) -> tuple[Reading | None, bool]:
    found = resolver(context, tables)
    values = bool(found.values(question))
    if not values and not found.mentions(question):
        return None, False
    if not context.settings.analyst.enable_grammar:
        return None, values
    return understand(question, tables, embed=embedding(context)).best, values


def _shares_words(question: str, tables: Sequence[Table]) -> bool:
    said = {word for word in _words(question) if len(word) >= _SHORTEST}
    return any(said & _words(f"{one.name} {one.title} {_columns(one)}") for one in tables)


def _columns(table: Table) -> str:
    return " ".join(column.name for column in table.columns)


def _words(text: str) -> frozenset[str]:
    """Without what stands in brackets, which is a unit in the name of a column."""
    plain = re.sub(r"[(\[].*?[)\]]", " ", text)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", plain)
    return frozenset(word.casefold().rstrip("s") for word in re.findall(r"\w+", apart))
