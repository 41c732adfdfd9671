"""The passes over a table.

What is cheap is counted over every row. Quantiles come from rows drawn by a hash of their number
and distinct values from a sketch once a table is large, so that memory stays flat.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.tables.profiling.facts import Facts, Passed, buckets
from secondlook.tables.profiling.first import carried, first_pass
from secondlook.tables.profiling.second import count_different, second_pass
from secondlook.tables.profiling.source import COLUMNS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.tables.profiling.source import Source

FIRST_ROWS = 200
EXAMPLES = 3
AFTER_FIRST, AFTER_SECOND = 0.5, 0.9
"""Shares of the time, about."""


def look(source: Source, *, today: str, report: Callable[[float], None]) -> Passed:
    """Both passes. `today` is ISO: dates after it lie in the future."""
    if source.rows == 0:
        return Passed(tuple(Facts(type_, 0, exact=True) for type_ in source.types))
    first = first_pass(source)
    report(AFTER_FIRST)
    second = second_pass(source, first, today=today)
    report(AFTER_SECOND)
    columns = tuple(map(_with_examples, second, _examples(source)))
    return Passed(columns, _duplicates(source, columns), estimated=buckets(source.rows) > 1)


def _with_examples(facts: Facts, examples: tuple[str, ...]) -> Facts:
    return replace(facts, examples=examples)


def _examples(source: Source) -> list[tuple[str, ...]]:
    """The first values of each column."""
    found: list[tuple[str, ...]] = []
    for start in range(0, len(source.types), COLUMNS_AT_ONCE):
        places = range(start, min(start + COLUMNS_AT_ONCE, len(source.types)))
        listed = ",".join(_as_text(source, place) for place in places)
        rows = source.rows_of(f"r,{listed}", where=f"r < {FIRST_ROWS} LIMIT {FIRST_ROWS}")
        rows.sort(key=lambda row: row[0])
        for at in range(1, len(places) + 1):
            different_ones = dict.fromkeys(str(row[at]) for row in rows if row[at] is not None)
            found.append(tuple(different_ones)[:EXAMPLES])
    return found


def _as_text(source: Source, place: int) -> str:
    return carried("datetime" if source.types[place] == "datetime" else "text", f"c{place}")


def _duplicates(source: Source, columns: Sequence[Facts]) -> int:
    if any(facts.key for facts in columns):
        return 0
    listed = ",".join(f"c{place}" for place in range(len(columns)))
    drawn, unlike = count_different(source, f"hash({listed})")
    return int(drawn - unlike) * buckets(source.rows)
