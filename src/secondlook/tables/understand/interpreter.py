"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.resolver import Resolver
from secondlook.tables.understand import written
from secondlook.tables.understand.readings import queries, wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Query
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.understand.readings import Reading, Wanted

MOST_DOUBT, MOST_OF_TASKS = 0.1, 0.4
"""Beyond it nothing is computed; of tasks that name their values, and say at length how these are
computed, the second."""
_MONTHS_OF = {"month": 1, "quarter": 3}
_DAY = re.compile(r"(\d{4})-(\d\d)")
SAME_DOUBT = 0.02
"""Two readings this close are as likely as each other."""
POINTED = re.compile(
    r"\b(?:of|among) (those|these|them)\b(?! (?:who|that|which|with|whose))", re.IGNORECASE
)
"""Something that was said before."""


@dataclass(frozen=True, slots=True)
class Understanding:
    best: Reading | None
    others: tuple[Reading, ...]
    """By their doubt."""
    why: str
    """How the question was read, or why it was not."""
    refused: bool = False
    """`why` is for a person: a word has no place, or years would be merged."""


def understand(
    question: str, tables: Sequence[AskedTable], *, wanted: Wanted | None = None
) -> Understanding:
    """The reading with the least doubt; none where it is too large or two are equally likely."""
    if not question.strip() or not tables:
        return Understanding(None, (), "There is nothing to ask, or no table to ask it of.")
    if pointed := POINTED.search(question):
        why = f"I do not know what {pointed[1]!r} means here. Name it."
        return Understanding(None, (), why, refused=True)
    wanted = wanted if wanted is not None else wanted_of(question)
    most = MOST_OF_TASKS if wanted.names else MOST_DOUBT
    found = _chosen(written.read(question, tables, Resolver(tables), wanted), most)
    if found.best is not None and _merges_years(found.best, tables):
        why = f"The {found.best.said} would merge several years. Name one year."
        return Understanding(None, found.others, why, refused=True)
    return found


def _merges_years(reading: Reading, tables: Sequence[AskedTable]) -> bool:
    """`per month` or `in May` of a table of two years, none of which is chosen. Dates from July to
    March have one January."""
    profile = next((t.profile for t in tables if t.table.id == reading.query.table), None)
    where = reading.query.where
    chosen = {one.column for one in where if one.part == "year"}
    chosen |= {one.column for one in reading.query.group_by if one.part == "year"}
    parts = [(one.column, one.part, None) for one in reading.query.group_by]
    for name, part, value in [*parts, *((one.column, one.part, one.value) for one in where)]:
        if part not in _MONTHS_OF or name in chosen:
            continue
        column = profile.column(name) if profile else None
        found = [_DAY.match(str(end)) for end in (column.minimum, column.maximum)] if column else []
        if not all(found):
            continue
        low, high = (12 * int(one[1]) + int(one[2]) - 1 for one in found if one)
        years = range(low // 12, high // 12 + 1)
        if isinstance(value, int):
            size = _MONTHS_OF[part]
            firsts = (12 * year + size * (value - 1) for year in years)
            held = sum(low <= first + size - 1 and first <= high for first in firsts)
        else:
            held = len(years)
        if held > 1:
            return True
    return False


def _chosen(readings: list[Reading], most: float) -> Understanding:
    if not readings:
        return Understanding(None, (), "No way was found to read the question over these tables.")
    readings = sorted(readings, key=lambda one: one.doubt)
    whole = [one for one in readings if not one.unplaced]
    if not whole:
        fewest = min(readings, key=lambda one: len(one.unplaced))
        left = ", ".join(map(repr, dict.fromkeys(fewest.unplaced)))
        why = f"I could not place {left} in these tables."
        return Understanding(None, tuple(readings), why, refused=True)
    best, *others = whole
    if best.doubt > most:
        share = f"{best.doubt:.0%}"
        return Understanding(None, tuple(readings), f"Too unsure ({share}): {best.said}.")
    rival = next((one for one in others if one.doubt <= best.doubt + SAME_DOUBT), None)
    same = rival and (_unnamed(best), best.operation) == (_unnamed(rival), rival.operation)
    if rival is not None and not same:
        return Understanding(None, tuple(readings), f"Either {best.said}, or {rival.said}.")
    return Understanding(best, tuple(others), f"Read as: {best.said}.")


def _unnamed(reading: Reading) -> list[Query]:
    """What a measure is called makes no difference."""
    found = []
    for query in queries(reading):
        places = {one.name: str(at) for at, one in enumerate(query.measures)}
        measures = [one.model_copy(update={"name": places[one.name]}) for one in query.measures]
        order = [one.model_copy(update={"by": places.get(one.by, one.by)}) for one in query.order]
        same = {"measures": tuple(measures), "order": tuple(order)}
        found.append(query.model_copy(update=same))
    return found
