"""The first pass: what every column is asked."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secondlook.tables.profiling.facts import (
    Facts,
    counts_by_lists,
    counts_exactly,
    probe_share,
    sample_share,
)
from secondlook.tables.profiling.placeholders import PLACEHOLDER_TEXTS
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.tables.profiling.source import Fact, Source
    from secondlook.tables.table import ColumnType

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LONGEST_KEPT = 200
"""Characters of a text that a profile keeps."""
STEADY_DIGITS = 12
"""Digits of a mean that do not depend on which thread added first."""
_BLANKS = "|".join(map(re.escape, PLACEHOLDER_TEXTS))


def first_pass(source: Source) -> list[Facts]:
    asked = {
        (place, name): sql
        for place, type_ in enumerate(source.types)
        for name, sql in _asked(source, place, type_).items()
    }
    drawn = f"hash(r) % {sample_share(source)} = 0 AS drawn"
    found = source.ask(asked, given=drawn) | _distinct(source) | _probe(source) | _ends(source)
    return [_facts(source, place, found) for place in range(len(source.types))]


def _distinct(source: Source) -> dict[Fact, Any]:
    """Column by column: DuckDB takes long to prepare a query with many counts of this kind."""
    if counts_by_lists(source) or not counts_exactly(source):
        return {}
    return {
        (place, "distinct"): source.rows_of(f"count(DISTINCT {source.value(place)})")[0][0]
        for place in range(len(source.types))
    }


def _probe(source: Source) -> dict[Fact, Any]:
    """Some texts tell what is worth counting in all of them. Rows are drawn by a hash of their
    number: the same ones every time."""
    asked: dict[Fact, str] = {}
    for place in source.places("text"):
        asked[place, "probed numbers"] = f"count(TRY_CAST(c{place} AS DOUBLE))"
        asked[place, "probed blanks"] = f"histogram({_blank(f'c{place}')})"
    return source.ask(asked, where=f"hash(r) % {probe_share(source)} = 0")


def _ends(source: Source) -> dict[Fact, Any]:
    """Least and greatest, asked alone: DuckDB then answers from the file's statistics."""
    return source.ask(
        {
            (place, name): carried(source.types[place], f"{name}(c{place})")
            for place in source.places("integer", "number", "text", "date", "datetime", "time")
            for name in ("min", "max")
        }
    )


def carried(type_: ColumnType, sql: str) -> str:
    """In a form that JSON can carry: dates in ISO form, texts cut."""
    if type_ == "integer":
        return sql
    if type_ == "number":
        return f"({sql})::DOUBLE"
    if type_ == "datetime":
        return f"replace(({sql})::VARCHAR, ' ', 'T')"
    return f"left(({sql})::VARCHAR, {LONGEST_KEPT})"


def _asked(source: Source, place: int, type_: ColumnType) -> dict[str, str]:
    column, value = f"c{place}", source.value(place)
    asked = {"stored": f"count({column})"}
    if counts_by_lists(source):
        asked["distinct"] = f"list_unique(list({value}))"
    elif not counts_exactly(source):
        asked["distinct"] = f"approx_count_distinct({value})"
    if type_ in NUMERIC:
        drawn = " FILTER (drawn)" if sample_share(source) > 1 else ""
        asked |= {
            "present": f"count({value})",
            "mean": f"avg({value})",
            "std": f"stddev_samp({value})",
            "quantiles": quantiles(value) + drawn,
        }
    elif type_ == "boolean":
        asked["mean"] = f"avg({column}::INTEGER)"
    return asked


def _blank(text: str) -> str:
    """The text where it may stand for a missing value."""
    short = f"strlen({text}) <= {max(map(len, PLACEHOLDER_TEXTS))}"
    # Not IN: DuckDB would make a join of it, over every row and beside all else.
    listed = f"regexp_full_match({text}, '{_BLANKS}', 'i')"
    return f"CASE WHEN {short} AND {listed} THEN {text} END"


def quantiles(value: str) -> str:
    return f"quantile_cont(({value})::DOUBLE, {list(QUANTILES)})"


def _facts(source: Source, place: int, found: dict[Fact, Any]) -> Facts:
    def of(name: str, otherwise: Any = None) -> Any:
        return found.get((place, name), otherwise)

    facts = Facts(
        type=source.types[place],
        rows=source.rows,
        stored=of("stored"),
        present=of("present", of("stored")),
        distinct=min(of("distinct") or 0, of("stored")),
        exact=counts_exactly(source),
        mean=steady(of("mean")),
        std=steady(of("std")),
        quantiles=tuple(of("quantiles") or ()),
        probed_numbers=of("probed numbers", 0),
        probed_blanks=tuple(sorted(of("probed blanks") or ())),
    )
    least, greatest = of("min"), of("max")
    # Infinity and NaN are no ends: the second pass looks for the ends without them.
    return replace(facts, minimum=least, maximum=greatest) if _both(least, greatest) else facts


def _both(least: Scalar, greatest: Scalar) -> bool:
    return all(not isinstance(end, float) or math.isfinite(end) for end in (least, greatest))


def steady(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{STEADY_DIGITS}g}")
