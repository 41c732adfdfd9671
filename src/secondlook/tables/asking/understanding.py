"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.asking.doubting import DROPPED_GROUP, EACH
from secondlook.tables.asking.families import FAMILIES
from secondlook.tables.asking.wanted import wanted_of
from secondlook.tables.resolving import Resolver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.port import AskedTable, Family, Reading, Wanted
    from secondlook.tables.query import Query
    from secondlook.tables.resolving.port import Embed

MOST_DOUBT = {"statistics": 0.4, "leading": 0.4, "gaps": 0.4}
"""Beyond it nothing is computed (`benchmarks/analyst_grammar.py --set dabench --sweep`)."""
MOST_OF_ROWS = 0.5
"""The same for questions about rows, whose doubt is one less the share of such readings that are
right (`benchmarks/analyst_wikitables.py`)."""
SHORT_TABLE = 100
"""Rows."""
SURE = 0.05
SAME_DOUBT = 0.02
"""Two readings this close are as likely as each other."""


@dataclass(frozen=True, slots=True)
class Understanding:
    best: Reading | None
    others: tuple[Reading, ...]
    """By their doubt."""
    why: str
    """How the question was read, or why it was not."""


def understand(
    question: str,
    tables: Sequence[AskedTable],
    *,
    embed: Embed | None = None,
    wanted: Wanted | None = None,
    families: Sequence[Family] = FAMILIES,
) -> Understanding:
    """The reading with the least doubt; none where it is too large or two are equally likely."""
    if not question.strip() or not tables:
        return Understanding(None, (), "There is nothing to ask, or no table to ask it of.")
    resolver = Resolver(tables, embed=embed)
    wanted = wanted if wanted is not None else wanted_of(question)
    readings: list[Reading] = []
    for family in families:
        readings += [_guarded(one, question) for one in family(question, tables, resolver, wanted)]
        readings.sort(key=lambda one: one.doubt)
        if readings and _is_plain(readings[0]):
            break
    return _chosen(readings)


def _is_plain(reading: Reading) -> bool:
    """A statistic that accounts for nearly every word: nothing else need be looked at."""
    return (
        reading.family in MOST_DOUBT
        and reading.doubt <= SURE
        and not (reading.rows <= SHORT_TABLE and _counts(reading))
    )


def _guarded(reading: Reading, question: str) -> Reading:
    """One number for `each ...` is a grouping that was dropped."""
    dropped = reading.query.measures and not reading.query.group_by and not reading.outputs
    if reading.family in MOST_DOUBT or not dropped or EACH.search(question) is None:
        return reading
    return replace(reading, doubt=min(1.0, reading.doubt + DROPPED_GROUP))


def _chosen(readings: list[Reading]) -> Understanding:
    if not readings:
        return Understanding(None, (), "No way was found to read the question over these tables.")
    best, *others = _facts_first(readings)
    if best.doubt > MOST_DOUBT.get(best.family, MOST_OF_ROWS):
        share = f"{best.doubt:.0%}"
        return Understanding(None, tuple(readings), f"Too unsure ({share}): {best.said}.")
    # The doubts of rows and of statistics are not of one scale: only like is compared with like.
    alike = [one for one in others if (one.family in MOST_DOUBT) == (best.family in MOST_DOUBT)]
    rival = next((one for one in alike if one.doubt <= best.doubt + SAME_DOUBT), None)
    if rival is not None and _differs(best, rival):
        return Understanding(None, tuple(readings), f"Either {best.said}, or {rival.said}.")
    return Understanding(best, tuple(others), f"Read as: {best.said}.")


def _facts_first(readings: list[Reading]) -> list[Reading]:
    """Counts and totals over a short table are asked about its rows, in words of their own.

    There a reading of rows is taken, or one of statistics that leaves next to nothing open.
    """
    best = readings[0]
    if best.rows > SHORT_TABLE or best.outputs or best.family not in MOST_DOUBT:
        return readings
    if not _counts(best):
        return readings
    of_rows = [one for one in readings if one.family not in MOST_DOUBT]
    if of_rows and (of_rows[0].doubt <= MOST_OF_ROWS or best.doubt > SURE):
        return [of_rows[0], *(one for one in readings if one is not of_rows[0])]
    return readings


def _counts(reading: Reading) -> bool:
    return {one.statistic for one in reading.query.measures} <= {"count", "sum"}


def _differs(one: Reading, other: Reading) -> bool:
    return (_unnamed(one), one.operation) != (_unnamed(other), other.operation)


def _unnamed(reading: Reading) -> list[Query]:
    """What a measure is called makes no difference."""
    return [
        query.model_copy(
            update={
                "measures": tuple(
                    one.model_copy(update={"name": str(at)})
                    for at, one in enumerate(query.measures)
                ),
                "order": tuple(
                    one.model_copy(update={"by": _place(query, one.by)}) for one in query.order
                ),
            }
        )
        for query in (reading.query, *reading.more)
    ]


def _place(query: Query, name: str) -> str:
    names = [one.name for one in query.measures]
    return str(names.index(name)) if name in names else name
