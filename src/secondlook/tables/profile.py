"""What is in a table, computed from its Parquet file in two passes. Runs in the worker."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from secondlook.tables.joins import (
    COLUMNS_AT_ONCE,
    hard_to_tell_apart,
    open_source,
    percent,
    quoted,
    read_header,
)
from secondlook.tables.table import (
    NUMERIC,
    TEMPORAL,
    Column,
    ColumnProfile,
    Table,
    TableProfile,
    ValueCount,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duckdb import DuckDBPyConnection

    from secondlook.answer import Scalar
    from secondlook.tables.joins import Fact, Source
    from secondlook.tables.table import ColumnType

MOST_FREQUENT = 20


def profile(
    connection: DuckDBPyConnection,
    *,
    file: str,
    table: dict[str, Any],
    today: str,
    report: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """A `TableProfile` of the Parquet file."""
    described = Table.model_validate(table)
    columns = described.columns
    source = open_source(
        connection, file, rows=described.rows, types=[column.type for column in columns]
    )
    passed = look(source, today=today, report=report or (lambda _: None))
    return TableProfile(
        table=described.id,
        rows=described.rows,
        columns=tuple(map(_column_profile, columns, passed.columns)),
        warnings=table_warnings([column.name for column in columns], passed),
    ).model_dump(mode="json")


def _column_profile(column: Column, facts: Facts) -> ColumnProfile:
    said = read_header(column.name)
    # Where every value is different there is no most frequent one.
    repeat = facts.counts is not None and facts.counts[0][1] > 1
    top = facts.counts[:MOST_FREQUENT] if facts.counts and repeat else ()
    same = ("rows", "missing", "distinct", "exact", "minimum", "maximum", "mean", "std", "key")
    return ColumnProfile(
        name=column.name,
        type=column.type,
        **{name: getattr(facts, name) for name in same},
        quantiles=facts.quantiles,
        top=tuple(ValueCount(value=text, count=count) for text, count in top),
        examples=facts.examples,
        unit=None if said.unit == "%" and are_shares(facts) else said.unit,
        currency=said.currency,
        warnings=column_warnings(facts, said.unit),
    )


# The passes over a table.

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
    columns = [
        replace(facts, examples=some) for facts, some in zip(second, _examples(source), strict=True)
    ]
    duplicates = 0
    if not any(facts.key for facts in columns):
        listed = ",".join(f"c{place}" for place in range(len(columns)))
        drawn, unlike = count_different(source, f"hash({listed})")
        duplicates = int(drawn - unlike) * buckets(source.rows)
    return Passed(tuple(columns), duplicates, estimated=buckets(source.rows) > 1)


def _examples(source: Source) -> list[tuple[str, ...]]:
    """The first values of each column."""
    found: list[tuple[str, ...]] = []
    texts = [
        carried("datetime" if type_ == "datetime" else "text", f"c{place}")
        for place, type_ in enumerate(source.types)
    ]
    for start in range(0, len(texts), COLUMNS_AT_ONCE):
        some = texts[start : start + COLUMNS_AT_ONCE]
        asked = f"r,{','.join(some)}"
        rows = source.rows_of(asked, where=f"r < {FIRST_ROWS} LIMIT {FIRST_ROWS}")
        rows.sort(key=lambda row: row[0])
        for at in range(1, len(some) + 1):
            different = dict.fromkeys(str(row[at]) for row in rows if row[at] is not None)
            found.append(tuple(different)[:EXAMPLES])
    return found


# What the passes over a table find out about its columns, and what is counted or estimated.

EXACT_CELLS = 4_000_000
"""Up to so many cells distinct values are counted, not estimated."""
LISTED_ROWS = 10_000
"""Up to so many rows distinct values of many columns are counted at once."""
QUANTILE_VALUES = 2_000_000
"""So many values are held at once to find quantiles: 16 MB."""
PROBED_ROWS = 5_000
"""So many rows show whether something is worth counting in all of them."""
COUNTED_VALUES = 1_000_000
"""So many values are held at once to see whether any of them repeats."""
SKETCH_ERROR = 0.15
"""DuckDB's sketch of distinct values was within 10 % wherever it was tried."""
KEY_TYPES: frozenset[ColumnType] = frozenset({"integer", "text", "date", "datetime"})
"""A measured number may be different in every row and still names none."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one column."""

    type: ColumnType
    rows: int
    stored: int = 0
    """Values that are not NULL."""
    present: int = 0
    """Of them, those that can be computed with: not NaN, not infinite."""
    infinite: int = 0
    distinct: int = 0
    exact: bool = False
    minimum: Scalar = None
    maximum: Scalar = None
    mean: float | None = None
    std: float | None = None
    quantiles: tuple[float, ...] = ()
    counts: tuple[tuple[str, int], ...] | None = None
    """Every value with its count, the most frequent first; None where there are too many."""
    unique: bool = False
    """No value was seen twice."""
    probed_numbers: int = 0
    """Texts that are numbers, among the rows that were probed."""
    probed_blanks: tuple[str, ...] = ()
    """Texts that may stand for a missing value, among the rows that were probed."""
    numbers: int | None = None
    """Texts that are numbers, where that was worth counting."""
    not_a_number: str | None = None
    far: int = 0
    future: int = 0
    placeholders: tuple[tuple[str, int], ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        return self.rows - self.present - self.infinite

    @property
    def may_be_key(self) -> bool:
        enough = 1 if self.exact else 1 - SKETCH_ERROR
        whole = self.stored == self.rows > 1
        return self.type in KEY_TYPES and whole and self.distinct >= self.rows * enough

    @property
    def key(self) -> bool:
        return self.may_be_key and (self.unique or self.exact)


@dataclass(frozen=True, slots=True)
class Passed:
    """What is known of a table."""

    columns: tuple[Facts, ...]
    duplicates: int = 0
    """Rows that repeat an earlier one."""
    estimated: bool = False
    """Whether their number comes from a part of the rows."""


def counts_exactly(source: Source) -> bool:
    return source.rows * len(source.types) <= EXACT_CELLS


def counts_by_lists(source: Source) -> bool:
    return counts_exactly(source) and source.rows <= LISTED_ROWS


def sample_share(source: Source) -> int:
    """Every how-many-th row quantiles are taken from."""
    numeric = min(len(source.places("integer", "number")), COLUMNS_AT_ONCE)
    return max(1, math.ceil(source.rows * numeric / QUANTILE_VALUES))


def probe_share(source: Source) -> int:
    return max(1, math.ceil(source.rows / PROBED_ROWS))


def buckets(rows: int) -> int:
    """Into how many parts values are dealt by their hash, so that one of them fits in memory."""
    return max(1, math.ceil(rows / COUNTED_VALUES))


# The second pass: what the answers of the first make worth asking.

FEW_PRESENT = 50_000
"""A column with no more values has its quantiles of all of them: a sample would hold too few."""
MOST_COUNTED = 1_000
"""Texts with no more different values have each of them counted."""
MOST_COUNTED_NUMBERS = 50
LONGEST_COUNTED = 500
"""Longer texts are prose: nobody counts them, and a thousand of them may fill the memory."""
FAR = 5.0
"""Outliers lie so many times the distance from the 5 % to the 95 % quantile outside of it."""
WORTH_PARSING = 0.01
"""Share of the texts probed that must be numbers before all are tried."""
BLANKS_COUNTED = 5


def second_pass(source: Source, facts: Sequence[Facts], *, today: str) -> list[Facts]:
    asked: dict[Fact, str] = {}
    for place, each in enumerate(facts):
        column, value = f"c{place}", source.value(place)
        if _worth_counting(each):
            short = f"CASE WHEN strlen({value}) <= {LONGEST_COUNTED} THEN {value} END"
            countable = short if each.type == "text" else value
            asked[place, "counts"] = f"histogram({countable})::MAP(VARCHAR, UBIGINT)"
        more: dict[str, str] = {}
        if each.type in NUMERIC:
            more = _asked_of_number(source, place, each)
        elif each.type == "text":
            more = _asked_of_text(source, column, each)
        elif each.type in TEMPORAL and isinstance(each.maximum, str) and each.maximum[:10] > today:
            more = {"future": f"count(*) FILTER ({column} >= DATE '{today}' + 1)"}
        asked |= {(place, name): sql for name, sql in more.items()}
    mine: list[dict[str, Any]] = [{} for _ in facts]
    for (place, name), value in source.ask(asked).items():
        mine[place][name] = value
    return [
        _tell_apart(source, place, _with(before, found))
        for place, (before, found) in enumerate(zip(facts, mine, strict=True))
    ]


def _worth_counting(facts: Facts) -> bool:
    if facts.type in {"other", "time"}:
        return False
    most = MOST_COUNTED if facts.type in {"text", "boolean"} else MOST_COUNTED_NUMBERS
    return 0 < facts.distinct <= most * (1 if facts.exact else 1 + SKETCH_ERROR)


def _tell_apart(source: Source, place: int, facts: Facts) -> Facts:
    """Whether a column that seems to have no value twice has none."""
    if facts.exact or not facts.may_be_key:
        return facts
    drawn, unlike = count_different(source, f"hash(c{place})")
    parts = buckets(source.rows)
    if drawn == unlike:
        return replace(facts, unique=True, distinct=facts.rows, exact=parts == 1)
    return replace(facts, distinct=min(unlike * parts, facts.rows - 1), exact=parts == 1)


def count_different(source: Source, hashed: str) -> tuple[int, int]:
    """How many values of one part there are, and how many different ones. Values are dealt to
    parts by their hash: one that repeats comes with all its copies."""
    part = f"h % {buckets(source.rows)} = 0"
    asked = "count(*), count(DISTINCT h)"
    ((drawn, unlike),) = source.rows_of(asked, given=f"{hashed} AS h", where=part)
    return drawn, unlike


def _asked_of_number(source: Source, place: int, facts: Facts) -> dict[str, str]:
    column, value = f"c{place}", source.value(place)
    asked: dict[str, str] = {}
    if facts.present < facts.stored:
        asked["infinite"] = f"count(*) FILTER (NOT isnan({column}::DOUBLE)) - count({value})"
    if facts.minimum is None and facts.present:
        asked |= {"min": f"min({value})::DOUBLE", "max": f"max({value})::DOUBLE"}
    if sample_share(source) > 1 and 0 < facts.present <= FEW_PRESENT:
        asked["quantiles"] = quantiles(value)
    ends = (("low", facts.minimum, "min", ">"), ("high", facts.maximum, "max", "<"))
    for end, suspect, nearest, beyond in ends:
        # May be placeholders: how far they lie from the other values must be counted.
        if not isinstance(suspect, int | float) or float(suspect) not in PLACEHOLDER_NUMBERS:
            continue
        following = f"{nearest}({column}) FILTER ({column} {beyond} {suspect})"
        asked |= {f"{end} count": f"count(*) FILTER ({column} = {suspect})"}
        asked |= {f"{end} next": f"({following})::DOUBLE"}
    limits = far_limits(facts)
    if limits:
        asked["far"] = f"count(*) FILTER ({value} < {limits[0]!r} OR {value} > {limits[1]!r})"
    return asked


def far_limits(facts: Facts) -> tuple[float, float] | None:
    """Beyond which a value is an outlier; None where the column has none."""
    if len(facts.quantiles) != len(QUANTILES):
        return None
    low, high = facts.quantiles[0], facts.quantiles[-1]
    limits = (low - FAR * (high - low), high + FAR * (high - low))
    ends = [end for end in (facts.minimum, facts.maximum) if isinstance(end, int | float)]
    outside = any(not limits[0] <= end <= limits[1] for end in ends)
    return limits if outside and low != high else None


def _asked_of_text(source: Source, column: str, facts: Facts) -> dict[str, str]:
    asked: dict[str, str] = {}
    if facts.probed_numbers > WORTH_PARSING * facts.present / probe_share(source):
        number = f"TRY_CAST({column} AS DOUBLE)"
        asked["numbers"] = f"count({number})"
        asked["no number"] = f"left(min({column}) FILTER ({number} IS NULL), {LONGEST_KEPT})"
    if not _worth_counting(facts):
        for text in facts.probed_blanks[:BLANKS_COUNTED]:
            quoted = text.replace("'", "''")
            asked[f"blank {text}"] = f"count(*) FILTER ({column} = '{quoted}')"
    return asked


def _with(before: Facts, found: dict[str, Any]) -> Facts:
    facts = replace(
        before,
        infinite=found.get("infinite", 0),
        far=found.get("far", 0),
        future=found.get("future", 0),
        numbers=found.get("numbers"),
        not_a_number=found.get("no number"),
        minimum=found.get("min", before.minimum),
        maximum=found.get("max", before.maximum),
        quantiles=tuple(found.get("quantiles") or before.quantiles),
    )
    counts: dict[str, int] = found.get("counts") or {}
    if "counts" in found and sum(counts.values()) == before.present:
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        facts = replace(facts, counts=tuple(ordered), distinct=len(ordered), exact=True)
    told = {name[6:]: count for name, count in found.items() if name.startswith("blank ")}
    if facts.type == "text" and facts.counts:
        told = {
            text: count for text, count in facts.counts if text.strip().lower() in PLACEHOLDER_TEXTS
        }
    for end, value in (("low", facts.minimum), ("high", facts.maximum)):
        count, following = found.get(f"{end} count"), found.get(f"{end} next")
        if count and following is not None and isinstance(value, int | float):
            # A gap as wide as half of it: 9999 after 8700 is a number like the others.
            told |= {f"{value:g}": count} if abs(following - value) >= abs(value) / 2 else {}
    return replace(
        facts, placeholders=tuple(sorted(told.items(), key=lambda each: (-each[1], each[0])))
    )


# Values that stand for a missing one.

PLACEHOLDER_TEXTS: tuple[str, ...] = (
    *("?", "??", "???", "-", "--", "---", ".", "..", "*", "xxx"),
    *("na", "n/a", "#n/a", "n.a.", "n. a.", "nan", "nil", "none", "null", "keine angabe", "k.a."),
    *("not available", "not applicable", "not specified", "no data", "no answer"),
    *("missing", "unknown", "undefined", "unspecified", "unbekannt", "inconnu", "tbd", "tba"),
    *("-99", "-999", "-9999", "0000-00-00"),
)
PLACEHOLDER_NUMBERS = frozenset(
    float(sign + digit * length) for sign in "-+" for digit in "89" for length in range(2, 10)
)
"""-99, 999, -9999, 88888 and their like."""


# The first pass: what every column is asked.

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LONGEST_KEPT = 200
"""Characters of a text that a profile keeps."""
STEADY_DIGITS = 12
"""Digits of a mean that do not depend on which thread added first."""
_BLANKS = "|".join(map(re.escape, PLACEHOLDER_TEXTS))


def first_pass(source: Source) -> list[Facts]:
    places = range(len(source.types))
    asked = {
        (place, name): sql
        for place in places
        for name, sql in _asked(source, place, source.types[place]).items()
    }
    found = source.ask(asked, given=f"hash(r) % {sample_share(source)} = 0 AS drawn")
    if counts_exactly(source) and not counts_by_lists(source):
        # Column by column: DuckDB takes long to prepare a query with many counts of this kind.
        for place in places:
            ((count,),) = source.rows_of(f"count(DISTINCT {source.value(place)})")
            found[place, "distinct"] = count
    # Some texts tell what is worth counting in all of them. Rows are drawn by a hash of their
    # number: the same ones every time.
    probed: dict[Fact, str] = {}
    for place in source.places("text"):
        probed[place, "probed numbers"] = f"count(TRY_CAST(c{place} AS DOUBLE))"
        probed[place, "probed blanks"] = f"histogram({_blank(f'c{place}')})"
    found |= source.ask(probed, where=f"hash(r) % {probe_share(source)} = 0")
    # Least and greatest, asked alone: DuckDB then answers from the file's statistics.
    ends = {
        (place, name): carried(source.types[place], f"{name}(c{place})")
        for place in source.places("integer", "number", "text", "date", "datetime", "time")
        for name in ("min", "max")
    }
    found |= source.ask(ends)
    return [_facts(source, place, found) for place in places]


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

    ends = of("min"), of("max")
    # Infinity and NaN are no ends: the second pass looks for the ends without them.
    finite = all(not isinstance(end, float) or math.isfinite(end) for end in ends)
    return Facts(
        type=source.types[place],
        rows=source.rows,
        stored=of("stored"),
        present=of("present", of("stored")),
        distinct=min(of("distinct") or 0, of("stored")),
        exact=counts_exactly(source),
        minimum=ends[0] if finite else None,
        maximum=ends[1] if finite else None,
        mean=steady(of("mean")),
        std=steady(of("std")),
        quantiles=tuple(of("quantiles") or ()),
        probed_numbers=of("probed numbers", 0),
        probed_blanks=tuple(sorted(of("probed blanks") or ())),
    )


def steady(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{STEADY_DIGITS}g}")


# What is doubtful about a table, in a few words each.

MOSTLY = 0.5
CONSTANT = "always the same value"
ALL_MISSING = "every value is missing"
SHOWN = 3
SHARE_OF_NUMBERS = 0.05


def column_warnings(facts: Facts, unit: str | None) -> tuple[str, ...]:
    if facts.rows == 0:
        return ()
    if facts.present + facts.infinite == 0:
        return (ALL_MISSING,)
    found: list[str] = []
    share = facts.missing / facts.rows
    found += [missing_share(share)] if share >= MOSTLY else []
    found += [CONSTANT] if facts.distinct == 1 and facts.present > 1 else []
    found += _mixed(facts)
    if facts.placeholders:
        blanks = [f"{quoted(text)} ({count:,})" for text, count in facts.placeholders[:SHOWN]]
        found.append(f"may stand for missing: {', '.join(blanks)}")
    found += _spellings(facts)
    if facts.far and far_limits(facts) is not None:
        # Where values repeat far away, 5 % of the rows or more, the quantiles reach out to them.
        verb = "value lies" if facts.far == 1 else "values lie"
        low, high = facts.quantiles[0], facts.quantiles[-1]
        rest = f"(90 % are between {low:g} and {high:g})"
        found.append(f"{facts.far:,} {verb} far from the rest {rest}")
    if unit == "%" and are_shares(facts):
        found.append("named a percentage, but between 0 and 1")
    if facts.infinite:
        found.append(f"{facts.infinite:,} values are infinite or too large to compute with")
    if facts.future:
        found.append(f"{facts.future:,} dates lie in the future, up to {facts.maximum}")
    return tuple(found)


def _mixed(facts: Facts) -> list[str]:
    """Numbers among texts: a sum over them would fail or leave some out."""
    if facts.numbers is None:
        return []
    if facts.numbers == facts.present:
        return ["numbers kept as text"]
    share = facts.numbers / facts.present
    if share < SHARE_OF_NUMBERS:
        return []
    other = quoted(facts.not_a_number or "")
    return [f"{percent(share)} of the texts are numbers, others are not: {other}"]


def are_shares(facts: Facts) -> bool:
    ends = (facts.minimum, facts.maximum)
    return facts.type == "number" and all(isinstance(end, float) and 0 <= end <= 1 for end in ends)


def missing_share(share: float) -> str:
    return f"{percent(share)} missing"


def _spellings(facts: Facts) -> list[str]:
    """The same category in capitals, with blanks."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text, _ in (facts.counts or ()) if facts.type == "text" else ():
        alike[" ".join(text.casefold().split())].append(text)
    several = [group for group in alike.values() if len(group) > 1]
    told = [" = ".join(map(quoted, sorted(group)[:SHOWN])) for group in several[:SHOWN]]
    more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
    return [f"spelled in several ways: {'; '.join(told)}{more}"] if told else []


def table_warnings(names: Sequence[str], passed: Passed) -> tuple[str, ...]:
    rows = passed.columns[0].rows if passed.columns else 0
    if not rows:
        return ("it has no rows",)
    found: list[str] = []
    if passed.duplicates:
        about = "about " if passed.estimated else ""
        found.append(f"{about}{passed.duplicates:,} rows repeat an earlier one")
    empty = sum(facts.present + facts.infinite == 0 for facts in passed.columns)
    if empty:
        found.append(f"{empty:,} of its columns have no value at all")
    found += [
        f"headers are hard to tell apart: {', '.join(map(quoted, group[:SHOWN]))}"
        for group in hard_to_tell_apart(names)[:SHOWN]
    ]
    return tuple(found)
