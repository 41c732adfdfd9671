"""Questions that want a chart: plot X by Y, X over time, a histogram of X, X against Y.

A chart that is drawn of something else than was asked for misleads: a question with any word that
the reading does not account for is not read here.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from secondlook.tables.query import Filter, Key, Measure, Order, Query, Term
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.readings import Output, Reading
from secondlook.tables.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Statistic
    from secondlook.tables.resolver import AskedTable, Mention, Resolver
    from secondlook.tables.table import ColumnProfile
    from secondlook.tables.understand.readings import Wanted

_ASKED = re.compile(
    r"\b(?:plot|plots|chart|charts|graph|draw|histogram|scatter ?plot|scatter|visuali[sz]e)\b"
    r"|\bshow (?:me )?(?:the |a )?(?:distribution|trend)\b",
    re.IGNORECASE,
)
_DRAWN = re.compile(
    r"\b(?:as|in|on) an? (?:\w+ )?(?:chart|graph|plot)\b"
    r"|\b(?:plot|draw|graph|chart|visuali[sz]e)\b"
    r"(?: (?:me )?an? (?:\w+ )?(?:chart|graph|plot))?(?: of)?\b",
    re.IGNORECASE,
)
_SPREAD = re.compile(r"\b(?:histogram|distribution)\b", re.IGNORECASE)
_AGAINST = re.compile(r"\b(?:scatter|against|versus|vs|relationship)\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:over time|over the (?:years|months|days)|trend)\b", re.IGNORECASE)
_PART = re.compile(r"\b(?:by|per|each|every) (year|quarter|month|weekday|hour)\b", re.IGNORECASE)
_STATISTICS: tuple[tuple[str, Statistic], ...] = (
    (r"total|sum", "sum"),
    (r"mean|average", "mean"),
    (r"median", "median"),
    (r"maximum|max|highest", "max"),
    (r"minimum|min|lowest", "min"),
    (r"count|number|how many|frequency|rows", "count"),
)
_OWN = """
plot plots chart charts graph draw histogram scatter scatterplot visualize visualise show
distribution trend bar bars line lines against versus vs relationship between over time by per each
every years months days year quarter month weekday hour make create give column values value data
table please you can could would like want see total sum mean average median maximum max highest
minimum min lowest count number many frequency rows row
"""
_OWN_WORDS = frozenset(_OWN.split())
_SURE = 0.8
_FEWEST_BINS, _MOST_BINS = 5, 30
_MOST_BARS = 30


def without_chart(question: str) -> str:
    """What is to be drawn."""
    return " ".join(_DRAWN.sub(" ", question).split())


def asks_for_chart(question: str) -> bool:
    return _ASKED.search(question) is not None


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    if not asks_for_chart(question) or wanted.names:
        return []
    mentions = [one for one in resolver.mentions(question) if one.resolved.score >= _SURE]
    found = []
    for table in tables:
        own = [one for one in mentions if one.resolved.table == table.table.id]
        rest = list(question)
        for one in own:
            rest[one.start : one.end] = " " * (one.end - one.start)
        words = set(re.findall(r"\w+", "".join(rest).casefold()))
        read = None if words - _OWN_WORDS - STOP_WORDS else _read(question, table, own)
        if read is not None:
            query, said = read
            # A histogram's order is by its bins; only its counts are shown.
            binned = any(one.bins for one in query.group_by)
            found.append(
                Reading(
                    query=query,
                    said=said,
                    doubt=0.0,
                    resolved=tuple(one.resolved for one in own),
                    family="charts",
                    answer="value",
                    outputs=(Output("count", "count", every="mapping"),) if binned else (),
                    rows=table.table.rows,
                )
            )
    return found


def _read(
    question: str, table: AskedTable, mentions: Sequence[Mention]
) -> tuple[Query, str] | None:
    names = dict.fromkeys(one.resolved.column for one in mentions)
    columns = [found for name in names if (found := table.profile.column(name))]
    numbers = [one for one in columns if one.type in NUMERIC]
    if _SPREAD.search(question):
        return _spread(table.table.id, columns[0]) if len(columns) == 1 else None
    if _AGAINST.search(question):
        if not len(numbers) == len(columns) == 2:  # noqa: PLR2004
            return None
        of, other = (Term(column=one.name) for one in numbers)
        measure = Measure(name="correlation", statistic="correlation", of=of, other=other)
        query = Query(table=table.table.id, measures=(measure,))
        return query, f"{of.column} against {other.column}, their correlation"
    dates = [one.name for one in table.table.columns if one.type in TEMPORAL]
    named = [one.name for one in columns if one.type in TEMPORAL]
    part = _PART.search(question)
    key: Key | None = None
    if 1 in {len(dates), len(named)} and (part or named or _TIME.search(question)):
        unit: Any = part[1].lower() if part else None
        key = Key(column=(named or dates)[0], part=unit)
    if key is None:
        # The last that is named after `by`, `per` or `each` is what rows are grouped by.
        cue = re.search(r"\b(?:by|per|each|every)\b", question, re.IGNORECASE)
        after = [one for one in mentions if cue and one.start >= cue.end()]
        if len(after) != 1:
            return None
        key = Key(column=after[0].resolved.column)
    others = [one for one in columns if one.name != key.column]
    return _grouped(question, table, others, key)


def _grouped(
    question: str, table: AskedTable, others: Sequence[ColumnProfile], key: Key
) -> tuple[Query, str] | None:
    matches = (
        statistic
        for words, statistic in _STATISTICS
        if re.search(rf"\b(?:{words})\b", question, re.IGNORECASE)
    )
    statistic = next(matches, None)
    if len(others) > 1 or (others and others[0].type not in NUMERIC and statistic != "count"):
        return None
    if not others and statistic not in {None, "count"}:
        return None
    if others and statistic is None:  # the total or the mean? Nobody knows
        return None
    chosen: Statistic = statistic or "count"
    of = Term(column=others[0].name) if others and chosen != "count" else None
    name = f"{chosen} of {of.column}" if of else "count"
    by = f"{key.part} of {key.column}" if key.part else key.column
    query = Query(
        table=table.table.id,
        where=(Filter(column=key.column, comparison="present"),),
        group_by=(key,),
        measures=(Measure(name=name, statistic=chosen, of=of),),
    )
    return query, f"{name if of else 'number of rows'} by {by}"


def _spread(table: str, column: ColumnProfile) -> tuple[Query, str] | None:
    count = Measure(name="count", statistic="count")
    measures: tuple[Measure, ...] = (count,)
    key, order = Key(column=column.name), Order(by="count", descending=True)
    if column.type in NUMERIC:
        edges = bin_edges(column)
        if not edges:
            return None
        labels = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
        key = Key(column=column.name, bins=edges, labels=labels, right=False)
        smallest = Measure(name="smallest", statistic="min", of=Term(column=column.name))
        measures, order = (count, smallest), Order(by="smallest")
    query = Query(
        table=table,
        where=(Filter(column=column.name, comparison="present"),),
        group_by=(key,),
        measures=measures,
        order=(order,),
        limit=None if column.type in NUMERIC else _MOST_BARS,
    )
    return query, f"distribution of {column.name}"


def bin_edges(column: ColumnProfile) -> tuple[float, ...]:
    """Round numbers from below the least value to above the largest; Sturges' rule says how many
    bins there should be."""
    low, high = column.minimum, column.maximum
    if not isinstance(low, int | float) or not isinstance(high, int | float) or low >= high:
        return ()
    wanted = min(_MOST_BINS, max(_FEWEST_BINS, math.ceil(math.log2(max(2, column.rows))) + 1))
    raw = (high - low) / wanted
    size = 10.0 ** math.floor(math.log10(raw))
    width = next(size * step for step in (1, 2, 2.5, 5, 10) if size * step >= raw * (1 - 1e-9))
    if column.type == "integer":
        width = max(1.0, math.ceil(width))
    first = math.floor(low / width)
    count = math.floor(high / width) - first + 1
    return tuple(round((first + at) * width, 12) for at in range(count + 1))
