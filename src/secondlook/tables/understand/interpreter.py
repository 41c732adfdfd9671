"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter
from secondlook.tables.resolver import Resolver
from secondlook.tables.understand import charts, statistics, written
from secondlook.tables.understand.question import DROPPED_GROUP, columns_used
from secondlook.tables.understand.readings import queries, wanted_of
from secondlook.tables.understand.written import QUANTITIES
from secondlook.tables.words import STOP_WORDS, atoms, same_word, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Query
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.understand.readings import Reading, Wanted

MOST_DOUBT = {"statistics": 0.4, "leading": 0.4, "charts": 0.0, "forms": 0.1}
"""Beyond it nothing is computed."""
SURE = 0.05
SAME_DOUBT = 0.02
"""Two readings this close are as likely as each other."""
MEASURED = re.compile(
    r"\b(?:mean|average|median|total|typical|combined) (\w+) (?:of|per|for|in|by|across|at)\b",
    re.IGNORECASE,
)
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
    resolver = Resolver(tables)
    if wanted.names:
        found = _chosen(_of_statistics(question, tables, resolver, wanted))
    else:
        asked = charts.without_chart(question) if charts.asks_for_chart(question) else question
        found = _chosen(written.read(asked, tables, resolver))
        if found.best is None and (drawn := charts.read(question, tables, resolver, wanted)):
            found = _chosen(drawn)
        if found.best is None:
            # A statistic that the understander has no form for, if nearly every word is its own.
            offered = _of_statistics(question, tables, resolver, wanted)
            sure = _chosen([one for one in offered if one.doubt <= SURE])
            found = sure if sure.best is not None else found
    if found.best is not None and _merges_years(found.best, tables):
        why = f"The {found.best.said} would merge several years. Name one year."
        return Understanding(None, found.others, why, refused=True)
    return found


def _of_statistics(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    """A reading that measures something else than what is to be measured is doubtful."""
    return [
        replace(one, doubt=min(1.0, one.doubt + DROPPED_GROUP))
        if _measures_something_else(one, question)
        else one
        for one in statistics.read(question, tables, resolver, wanted)
    ]


def _merges_years(reading: Reading, tables: Sequence[AskedTable]) -> bool:
    """`per month` or `in May` of a table of two years, none of which is chosen."""
    profile = next((t.profile for t in tables if t.table.id == reading.query.table), None)
    where = [one for one in reading.query.where if isinstance(one, Filter)]
    chosen = {one.column for one in where if one.part == "year"}
    chosen |= {one.column for one in reading.query.group_by if one.part == "year"}
    parts = [(one.column, one.part) for one in reading.query.group_by]
    for name, part in [*parts, *((one.column, one.part) for one in where)]:
        if part not in {"month", "quarter"} or name in chosen:
            continue
        column = profile.column(name) if profile else None
        if column is not None and str(column.minimum)[:4] != str(column.maximum)[:4]:
            return True
    return False


def _measures_something_else(reading: Reading, question: str) -> bool:
    """`the mean depth of the berths` is no mean of the column `Berth`."""
    if not any(one.of for query in queries(reading) for one in query.measures):
        return False
    known = [one.asked for one in reading.resolved]
    known += [column for query in queries(reading) for column in columns_used(query)]
    words = {stem(atom.text) for text in known for atom in atoms(text)}
    return any(
        noun.casefold() not in STOP_WORDS
        and stem(noun.casefold()) not in QUANTITIES
        and not any(same_word(stem(noun.casefold()), one) for one in words)
        for noun in MEASURED.findall(question)
    )


def _chosen(readings: list[Reading]) -> Understanding:
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
    if best.doubt > MOST_DOUBT[best.family]:
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
