"""Questions that want a chart: plot X by Y, X over time, a histogram of X, X against Y.

A chart that is drawn of something else than was asked for misleads: a question with any word that
the reading does not account for is not read here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Measure, Order, Query, Term
from secondlook.tables.resolver import STOP_WORDS
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.readings import Output, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import PartOfDate, Statistic
    from secondlook.tables.resolver import AskedTable, Mention, Resolver
    from secondlook.tables.table import ColumnProfile
    from secondlook.tables.understand.readings import Wanted

FAMILY = "charts"
_ASKED = re.compile(
    r"\b(?:plot|plots|chart|charts|graph|draw|histogram|scatter ?plot|scatter|visuali[sz]e)\b"
    r"|\bshow (?:me )?(?:the |a )?(?:distribution|trend)\b",
    re.IGNORECASE,
)
_SPREAD = re.compile(r"\b(?:histogram|distribution)\b", re.IGNORECASE)
_AGAINST = re.compile(r"\b(?:scatter|against|versus|vs|relationship)\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:over time|over the (?:years|months|days)|trend)\b", re.IGNORECASE)
_PARTS: dict[str, PartOfDate] = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "weekday": "weekday",
    "hour": "hour",
}
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


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    table: AskedTable
    mentions: Sequence[Mention]

    def columns(self) -> list[ColumnProfile]:
        names = dict.fromkeys(one.resolved.column for one in self.mentions)
        return [found for name in names if (found := self.table.profile.column(name))]


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
        asked = _Asked(question, table, own)
        if not _left_over(asked) and (reading := _read(asked)) is not None:
            found.append(reading)
    return found


def _left_over(asked: _Asked) -> list[str]:
    """Words that say something which no chart here can take into account."""
    rest = list(asked.question)
    for one in asked.mentions:
        rest[one.start : one.end] = " " * (one.end - one.start)
    words = re.findall(r"\w+", "".join(rest).casefold())
    return [word for word in words if word not in _OWN_WORDS and word not in STOP_WORDS]


def _read(asked: _Asked) -> Reading | None:
    columns = asked.columns()
    numbers = [one for one in columns if one.type in NUMERIC]
    if _SPREAD.search(asked.question):
        return _spread(asked, columns[0]) if len(columns) == 1 else None
    if _AGAINST.search(asked.question):
        both = len(numbers) == len(columns) == 2  # noqa: PLR2004 - of two
        return _against(asked, numbers[0], numbers[1]) if both else None
    key = _time_key(asked)
    if key is not None:
        others = [one for one in columns if one.name != key.column]
        return _grouped(asked, others, key)
    return _by_group(asked, columns)


def _time_key(asked: _Asked) -> Key | None:
    dates = [one for one in asked.table.table.columns if one.type in TEMPORAL]
    part = _PART.search(asked.question)
    named = [one.name for one in asked.columns() if one.type in TEMPORAL]
    if len(dates) != 1 and len(named) != 1:
        return None
    column = named[0] if named else dates[0].name
    if part is not None:
        return Key(column=column, part=_PARTS[part[1].lower()])
    return Key(column=column) if named or _TIME.search(asked.question) else None


def _by_group(asked: _Asked, columns: Sequence[ColumnProfile]) -> Reading | None:
    """The last that is named after `by`, `per` or `each` is what rows are grouped by."""
    cue = re.search(r"\b(?:by|per|each|every)\b", asked.question, re.IGNORECASE)
    after = [one for one in asked.mentions if cue and one.start >= cue.end()]
    if len(after) != 1:
        return None
    name = after[0].resolved.column
    return _grouped(asked, [one for one in columns if one.name != name], Key(column=name))


def _grouped(asked: _Asked, others: Sequence[ColumnProfile], key: Key) -> Reading | None:
    statistic = _statistic(asked.question)
    if len(others) > 1 or (others and others[0].type not in NUMERIC and statistic != "count"):
        return None
    if not others and statistic not in {None, "count"}:
        return None
    chosen: Statistic = statistic or ("mean" if others else "count")
    name = f"{chosen} of {others[0].name}" if others and chosen != "count" else "count"
    of = Term(column=others[0].name) if others and chosen != "count" else None
    by = f"{key.part} of {key.column}" if key.part else key.column
    query = Query(
        table=asked.table.table.id,
        where=(Filter(column=key.column, comparison="present"),),
        group_by=(key,),
        measures=(Measure(name=name, statistic=chosen, of=of),),
    )
    return _reading(asked, query, f"{'number of rows' if name == 'count' else name} by {by}")


def _statistic(question: str) -> Statistic | None:
    for words, statistic in _STATISTICS:
        if re.search(rf"\b(?:{words})\b", question, re.IGNORECASE):
            return statistic
    return None


def _spread(asked: _Asked, column: ColumnProfile) -> Reading | None:
    there = Filter(column=column.name, comparison="present")
    count = Measure(name="count", statistic="count")
    table, said = asked.table.table.id, f"distribution of {column.name}"
    if column.type not in NUMERIC:
        key = Key(column=column.name)
        most = Order(by="count", descending=True)
        query = Query(
            table=table, where=(there,), group_by=(key,), measures=(count,), order=(most,)
        )
        return _reading(asked, query.model_copy(update={"limit": _MOST_BARS}), said)
    edges = bin_edges(column)
    if not edges:
        return None
    labels = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
    key = Key(column=column.name, bins=edges, labels=labels, right=False)
    smallest = Measure(name="smallest", statistic="min", of=Term(column=column.name))
    query = Query(
        table=table,
        where=(there,),
        group_by=(key,),
        measures=(count, smallest),
        order=(Order(by="smallest"),),
    )
    shown = Output("count", "count", every="mapping")
    return _reading(asked, query, said, outputs=(shown,))


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


def _against(asked: _Asked, first: ColumnProfile, second: ColumnProfile) -> Reading:
    measure = Measure(
        name="correlation",
        statistic="correlation",
        of=Term(column=first.name),
        other=Term(column=second.name),
    )
    query = Query(table=asked.table.table.id, measures=(measure,))
    return _reading(asked, query, f"{first.name} against {second.name}, their correlation")


def _reading(
    asked: _Asked, query: Query, said: str, *, outputs: tuple[Output, ...] = ()
) -> Reading:
    return Reading(
        query=query,
        said=said,
        doubt=0.0,
        resolved=tuple(one.resolved for one in asked.mentions),
        family=FAMILY,
        answer="value",
        outputs=outputs,
        rows=asked.table.table.rows,
    )
