"""What a question names and a reading leaves out: columns, values, groupings.

A word that nothing accounts for makes a reading doubtful; a column, a value or a grouping that is
named and not used makes it wrong, however few words it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.choosing import is_a_name
from secondlook.tables.asking.grouping import cued
from secondlook.tables.asking.options import spans_of
from secondlook.tables.query import AnyOf
from secondlook.tables.resolving.words import atoms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.query import Condition, Measure, Query, Term
    from secondlook.tables.resolving.port import Mention

OF_ROWS = re.compile(r"\bof(?: all)?(?: the)?\s+$", re.IGNORECASE)
"""Before what rows are called: `the mean price of products`."""


def drops_something(asked: Asked, query: Query) -> bool:
    """Where names of values are given, they say more than the question: it is not asked."""
    if asked.wanted.names:
        return False
    used = set(columns_used(query))
    if asked.derived is not None:
        used |= set(asked.derived.columns)
    named = [one for one in asked.mentions if not _calls_rows(asked, one, query)]
    if any(one.resolved.column not in used for one in named):
        return True
    return _drops_a_group(asked, query, named) or _drops_a_value(asked, query)


def _drops_a_group(asked: Asked, query: Query, named: Iterable[Mention]) -> bool:
    """`the sum of A by B` is no sum of B."""
    by = {one.column for one in query.group_by} | {one.by for one in query.order}
    made_of = set(asked.derived.columns) if asked.derived is not None else set()
    return any(
        one in named and one.resolved.column not in by | made_of
        for one in cued(asked.text[: asked.question], asked.mentions)
    )


def _calls_rows(asked: Asked, mention: Mention, query: Query) -> bool:
    """`products` of a column `product`, `orders` of a key: what the rows are called."""
    column = mention.resolved.column
    profile = asked.table.profile.column(column)
    if profile is not None and profile.key and profile.distinct == profile.rows:
        return True
    written = asked.text[mention.start : mention.end]
    plural = written.lower().endswith("s") and not column.lower().endswith("s")
    before = asked.text[: mention.start]
    return (
        not asked.is_number(column)
        and plural
        and OF_ROWS.search(before) is not None
        and (not query.group_by)
    )


def _drops_a_value(asked: Asked, query: Query) -> bool:
    """A cell that is named: its column, or all of its words, must be in use."""
    used = set(columns_used(query))
    names = {atom.text for one in asked.mentions for atom in atoms(one.resolved.asked)}
    taken = spans_of(asked.said, asked.clauses, asked.groups)
    places: dict[tuple[int, int], set[str]] = {}
    for one in asked.resolver.values(asked.text[: asked.question]):
        if is_a_name(asked.text, asked.table, one):
            places.setdefault((one.start, one.end), set()).add(one.column)
    return any(
        not columns & used
        and not any(low <= start < high for low, high in taken)
        and not {atom.text for atom in atoms(asked.text[start:end])} <= names
        for (start, end), columns in places.items()
    )


def columns_used(query: Query) -> Iterator[str]:
    yield from query.select
    yield from (one.column for one in query.group_by)
    yield from (one.by for one in query.order)
    yield from _of_conditions((*query.where, *query.having))
    for measure in query.measures:
        yield from _of_measure(measure)


def _of_measure(measure: Measure) -> Iterator[str]:
    for term in (measure.of, measure.other):
        if term is not None:
            yield from _of_term(term)
    yield from _of_conditions(measure.where)


def _of_term(term: Term) -> Iterator[str]:
    yield term.column
    others = (term.other, *(other for _, other in term.rest))
    yield from (one for one in others if isinstance(one, str))


def _of_conditions(conditions: Iterable[Condition]) -> Iterator[str]:
    for one in conditions:
        filters = one.filters if isinstance(one, AnyOf) else (one,)
        yield from (each.column for each in filters)
