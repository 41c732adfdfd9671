"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter
from secondlook.tables.resolver import Resolver
from secondlook.tables.table import NUMERIC
from secondlook.tables.understand import charts, rows, statistics
from secondlook.tables.understand.question import DROPPED_GROUP, EACH, STEMMED_FILLER, columns_used
from secondlook.tables.understand.readings import queries, wanted_of
from secondlook.tables.understand.selection import cued
from secondlook.tables.words import STOP_WORDS, atoms, same_word, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Query
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.understand.readings import Family, Reading, Wanted

FAMILIES: tuple[Family, ...] = (charts.read, statistics.read, rows.read)
"""The kinds of questions that are read without a model."""

MOST_DOUBT = {"statistics": 0.4, "leading": 0.4}
"""Beyond it nothing is computed (chosen on half of DABench)."""
MOST_OF_ROWS = 0.5
"""The same for questions about rows, whose doubt is one less the share of such readings that are
right."""
COUNTED_DOUBT = frozenset({*MOST_DOUBT, "charts"})
"""Families whose doubt is counted in words; that of the others, about rows, is a likelihood."""
SHORT_TABLE = 100
"""Rows."""
SURE = 0.05
NAMED = 0.9
"""Of a column that the question names, and does not merely seem to mean."""
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
_QUANTITIES = """number count value amount quantity figure percentage percent share proportion
formula observation result"""
QUANTITIES = STEMMED_FILLER | {stem(one) for one in _QUANTITIES.split()}
"""Words that measure nothing by themselves."""


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
    question: str,
    tables: Sequence[AskedTable],
    *,
    wanted: Wanted | None = None,
    families: Sequence[Family] = FAMILIES,
) -> Understanding:
    """The reading with the least doubt; none where it is too large or two are equally likely."""
    if not question.strip() or not tables:
        return Understanding(None, (), "There is nothing to ask, or no table to ask it of.")
    if pointed := POINTED.search(question):
        why = f"I do not know what {pointed[1]!r} means here. Name it."
        return Understanding(None, (), why, refused=True)
    resolver = Resolver(tables)
    wanted = wanted if wanted is not None else wanted_of(question)
    readings: list[Reading] = []
    for family in families:
        offered = family(question, tables, resolver, wanted)
        readings += [_guarded(one, question, tables, resolver) for one in offered]
        readings.sort(key=lambda one: one.doubt)
        best = readings[0] if readings else None
        plain = best and best.family in MOST_DOUBT and best.doubt <= SURE
        if best and plain and not _asks_for_rows(best):
            break  # a statistic that accounts for nearly every word: no need to look further
    found = _chosen(readings if wanted.names else _facts_first(readings))
    if found.best is not None and _merges_years(found.best, tables):
        why = f"The {found.best.said} would merge several years. Name one year."
        return Understanding(None, tuple(readings), why, refused=True)
    return found


def _merges_years(reading: Reading, tables: Sequence[AskedTable]) -> bool:
    """`per month` of a table of two years, none of which is chosen."""
    profile = next((t.profile for t in tables if t.table.id == reading.query.table), None)
    chosen = {one.column for one in reading.query.where if isinstance(one, Filter) and one.part}
    keys = (one for one in reading.query.group_by if one.part in {"month", "quarter"})
    for key in keys:
        column = profile.column(key.column) if profile and key.column not in chosen else None
        if column is not None and str(column.minimum)[:4] != str(column.maximum)[:4]:
            return True
    return False


def _guarded(
    reading: Reading, question: str, tables: Sequence[AskedTable], resolver: Resolver
) -> Reading:
    """A reading that measures something else than what is to be measured is doubtful; so is one
    about rows that leaves out a grouping or a number that is named, or takes one row for all that a
    name has."""
    doubtful = _measures_something_else(reading, question)
    if not doubtful and reading.family not in COUNTED_DOUBT:
        single = reading.query.measures and not reading.query.group_by and not reading.outputs
        grouped = EACH.search(question) is not None or _drops_a_group(reading, question, resolver)
        lost = _drops_a_number(reading, question, tables, resolver)
        doubtful = bool(single and grouped) or lost
    added = DROPPED_GROUP if doubtful else 0.0
    return replace(reading, doubt=min(1.0, reading.doubt + added)) if added else reading


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


def _drops_a_number(
    reading: Reading, question: str, tables: Sequence[AskedTable], resolver: Resolver
) -> bool:
    """`which region has the highest revenue` is not about numbers of rows, nor, in a long table,
    about the one row in which it is highest."""
    of_table = (one.profile for one in tables if one.table.id == reading.query.table)
    profile = next(of_table, None)
    if profile is None or profile.rows <= SHORT_TABLE:
        return False
    used = {column for query in queries(reading) for column in columns_used(query)}
    named = {
        one.resolved.column for one in resolver.mentions(question) if one.resolved.score >= NAMED
    }
    numbers = {one.name for one in profile.columns if one.type in NUMERIC and one.name in named}
    query = reading.query
    column = profile.column(query.select[0]) if len(query.select) == 1 else None
    one_row = not query.measures and query.order and query.limit == 1
    repeats = column is not None and column.type == "text" and column.distinct < profile.rows / 2
    return bool(numbers - used) or bool(one_row and repeats)


def _drops_a_group(reading: Reading, question: str, resolver: Resolver) -> bool:
    """Not in `by player X`, which names one of the column's values."""
    chosen = {
        one.column: str(one.value).casefold()
        for one in reading.query.where
        if isinstance(one, Filter) and one.value is not None and not one.negated
    }
    for one in cued(question, resolver.mentions(question)):
        value = chosen.get(one.resolved.column)
        after = question[one.end :].casefold().lstrip(" \"'")
        if value is None or not after.startswith(value):
            return True
    return False


def _chosen(readings: list[Reading]) -> Understanding:
    if not readings:
        return Understanding(None, (), "No way was found to read the question over these tables.")
    whole = [one for one in readings if not one.unplaced]
    if not whole:
        fewest = min(readings, key=lambda one: len(one.unplaced))
        left = ", ".join(map(repr, dict.fromkeys(fewest.unplaced)))
        why = f"I could not place {left} in these tables."
        return Understanding(None, tuple(readings), why, refused=True)
    best, *others = whole
    if best.doubt > MOST_DOUBT.get(best.family, MOST_OF_ROWS):
        share = f"{best.doubt:.0%}"
        return Understanding(None, tuple(readings), f"Too unsure ({share}): {best.said}.")
    # The doubts of rows and of statistics are not of one scale: only like is compared with like.
    alike = [one for one in others if (one.family in MOST_DOUBT) == (best.family in MOST_DOUBT)]
    rival = next((one for one in alike if one.doubt <= best.doubt + SAME_DOUBT), None)
    same = rival and (_unnamed(best), best.operation) == (_unnamed(rival), rival.operation)
    if rival is not None and not same:
        return Understanding(None, tuple(readings), f"Either {best.said}, or {rival.said}.")
    return Understanding(best, tuple(others), f"Read as: {best.said}.")


def _facts_first(readings: list[Reading]) -> list[Reading]:
    """A short table is asked about its rows, in words of their own: there the reading of rows is
    taken. One of statistics holds where it leaves next to nothing open and rows have no say in it,
    or come to the same.
    """
    of_rows = next((one for one in readings if one.family not in COUNTED_DOUBT), None)
    if not readings or of_rows is None or readings[0].family not in MOST_DOUBT:
        return readings
    best = readings[0]
    sure = best.doubt <= SURE and (
        not _asks_for_rows(best) or _compared(best) == _compared(of_rows)
    )
    if best.rows > SHORT_TABLE or sure:
        return readings
    return [of_rows, *(one for one in readings if one is not of_rows)]


def _asks_for_rows(reading: Reading) -> bool:
    """How many, how much in all, the most: of a short table, and not for each group."""
    told = {one.statistic for one in reading.query.measures}
    if told <= {"min", "max"} and not reading.doubt:  # what is the highest price
        return False
    short = reading.rows <= SHORT_TABLE and not reading.query.group_by
    return short and told <= {"count", "sum", "min", "max"}


def _compared(reading: Reading) -> object:
    query = reading.query
    measures = [(one.statistic, one.of and one.of.column, one.where) for one in query.measures]
    return sorted(map(repr, query.where)), measures, query.group_by, reading.operation


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
