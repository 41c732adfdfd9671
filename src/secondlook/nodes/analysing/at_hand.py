"""The tables at hand, as steps of an analysis ask for them."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from secondlook.errors import ModelError, TableError
from secondlook.tables.resolving import AskedTable, Resolver
from secondlook.tables.resolving.port import MOST_VALUES
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context, Desk
    from secondlook.tables.resolving.port import Embed
    from secondlook.tables.table import ColumnProfile, Table

_LABEL = re.compile(
    r"(?:^|[_\W])(?:id|nr|no|number|code|zip|year|unnamed)(?:$|[_\W])", re.IGNORECASE
)
_NEARLY = 1.5
MOST_TABLES = 6
"""Tables that one question is asked over, and that a model is shown."""


def tables_of(context: Context) -> tuple[Table, ...]:
    return () if context.desk is None else context.desk.tables()


def desk_of(context: Context) -> Desk:
    if context.desk is None:
        raise TableError("there are no tables", hint="secondlook add sales.csv adds one")
    return context.desk


async def asked_tables(context: Context, question: str) -> tuple[AskedTable, ...]:
    """The tables that a question may mean, with their profiles. Raises TableError where one cannot
    be read."""
    if context.desk is None:
        return ()
    desk = context.desk
    chosen = meant(desk.tables(), question)
    return tuple(await asyncio.to_thread(lambda: [_asked(desk, table) for table in chosen]))


def meant(tables: Sequence[Table], question: str) -> tuple[Table, ...]:
    """All of a few; of many those whose names and columns share most words with the question."""
    if len(tables) <= MOST_TABLES:
        return tuple(tables)
    words = _words(question)
    shared = {table.id: len(words & _words(_named(table))) for table in tables}
    best = sorted(tables, key=lambda table: -shared[table.id])[:MOST_TABLES]
    return tuple(table for table in tables if table in best)


def _named(table: Table) -> str:
    return " ".join([table.name, table.title, *(column.name for column in table.columns)])


def _words(text: str) -> set[str]:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    return {word.casefold().rstrip("s") for word in re.findall(r"\w+", apart)}


def _asked(desk: Desk, table: Table) -> AskedTable:
    return AskedTable(
        table, desk.profile(table.id), partial(_values, desk, table.id), compute=desk.compute
    )


def _values(desk: Desk, table: str, column: str) -> Sequence[str]:
    from secondlook.tables.query import Filter, Query

    there = Filter(column=column, comparison="present")
    query = Query(table=table, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES)
    return [str(row[0]) for row in desk.compute(query).rows]


def measures(tables: Sequence[AskedTable]) -> list[str]:
    """Columns of numbers that are worth a mean: no keys and no labels."""
    return [
        column.name
        for one in tables
        for column in one.profile.columns
        if column.type in NUMERIC and not _is_label(column)
    ]


def _is_label(column: ColumnProfile) -> bool:
    """By its name, or because it counts the rows."""
    if _LABEL.search(column.name):
        return True
    low, high = column.minimum, column.maximum
    if not column.key or not isinstance(low, int) or not isinstance(high, int):
        return False
    return high - low < _NEARLY * column.rows


def resolver(context: Context, tables: Sequence[AskedTable]) -> Resolver:
    return Resolver(tables, embed=embedding(context))


def embedding(context: Context) -> Embed:
    """Nothing where there is no embedder: names are then told by their letters alone."""

    def embedded(texts: Sequence[str]) -> list[list[float]]:
        try:
            return context.shelf.vectors(texts)
        except ModelError:
            return []

    return embedded
