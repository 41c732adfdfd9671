"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    readings = [one for family in families for one in family(question, tables, resolver, wanted)]
    readings.sort(key=lambda one: one.doubt)
    return _chosen(readings)


def _chosen(readings: list[Reading]) -> Understanding:
    if not readings:
        return Understanding(None, (), "No way was found to read the question over these tables.")
    best, *others = readings
    if best.doubt > MOST_DOUBT.get(best.family, MOST_OF_ROWS):
        share = f"{best.doubt:.0%}"
        return Understanding(None, tuple(readings), f"Too unsure ({share}): {best.said}.")
    rival = next((one for one in others if one.doubt <= best.doubt + SAME_DOUBT), None)
    if rival is not None and _differs(best, rival):
        return Understanding(None, tuple(readings), f"Either {best.said}, or {rival.said}.")
    return Understanding(best, tuple(others), f"Read as: {best.said}.")


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
