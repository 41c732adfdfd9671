"""Questions that want a chart, and how the values of a column are spread."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from secondlook.tables.query import Filter, Key, Measure, Order, Query, Term
from secondlook.tables.table import NUMERIC, ColumnProfile

_ASKED = re.compile(
    r"\b(?:plot|plots|chart|charts|graph|draw|histogram|scatter ?plot|scatter|visuali[sz]e)\b"
    r"|\bshow (?:\w+ ){0,4}(?:distribution|trend)s?\b",
    re.IGNORECASE,
)
_DRAWN = re.compile(
    rf"(?:\b(?:bar|line|pie|column|area|box) (?=chart|graph|plot))|{_ASKED.pattern}", re.IGNORECASE
)
_FEWEST_BINS, _MOST_BINS = 5, 30
_MOST_BARS = 30


def asks_for_chart(question: str) -> bool:
    return _ASKED.search(question) is not None


def chart_words(question: str) -> str:
    """What it says of the chart, not of what is to be drawn."""
    return " ".join(found[0] for found in _DRAWN.finditer(question))


def spread(table: str, column: ColumnProfile, where: Sequence[Filter]) -> Query:
    """How many rows have each value, or a number within each bin."""
    count = Measure(name="count", statistic="count")
    measures: tuple[Measure, ...] = (count,)
    key, order = Key(column=column.name), Order(by="count", descending=True)
    edges = bin_edges(column) if column.type in NUMERIC else ()
    if edges:
        labels = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
        key = Key(column=column.name, bins=edges, labels=labels, right=False)
        smallest = Measure(name="smallest", statistic="min", of=Term(column=column.name))
        measures, order = (count, smallest), Order(by="smallest")
    return Query(
        table=table,
        where=(*where, Filter(column=column.name, comparison="present")),
        group_by=(key,),
        measures=measures,
        order=(order,),
        limit=None if edges else _MOST_BARS,
    )


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
