"""The second pass: what the answers of the first make worth asking."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secondlook.tables.profiling.facts import SKETCH_ERROR, buckets, probe_share, sample_share
from secondlook.tables.profiling.first import LONGEST_KEPT, QUANTILES, quantiles
from secondlook.tables.profiling.placeholders import PLACEHOLDER_TEXTS, suspects
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.profiling.facts import Facts
    from secondlook.tables.profiling.source import Source

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
    asked = {
        (place, name): sql
        for place, each in enumerate(facts)
        for name, sql in _asked(source, place, each, today).items()
    }
    found = source.ask(asked)
    mine: list[dict[str, Any]] = [{} for _ in facts]
    for (place, name), value in found.items():
        mine[place][name] = value
    known = map(_with, facts, mine)
    return [_tell_apart(source, place, each) for place, each in enumerate(known)]


def _asked(source: Source, place: int, facts: Facts, today: str) -> dict[str, str]:
    column = f"c{place}"
    asked: dict[str, str] = {}
    if _worth_counting(facts):
        asked["counts"] = f"histogram({_countable(source, place)})::MAP(VARCHAR, UBIGINT)"
    if facts.type in NUMERIC:
        asked |= _asked_of_number(source, place, facts)
    elif facts.type == "text":
        asked |= _asked_of_text(source, column, facts)
    elif facts.type in TEMPORAL and isinstance(facts.maximum, str) and facts.maximum[:10] > today:
        asked["future"] = f"count(*) FILTER ({column} >= DATE '{today}' + 1)"
    return asked


def _worth_counting(facts: Facts) -> bool:
    if facts.type in {"other", "time"}:
        return False
    most = MOST_COUNTED if facts.type in {"text", "boolean"} else MOST_COUNTED_NUMBERS
    return 0 < facts.distinct <= most * (1 if facts.exact else 1 + SKETCH_ERROR)


def _countable(source: Source, place: int) -> str:
    value = source.value(place)
    short = f"strlen({value}) <= {LONGEST_COUNTED}"
    return f"CASE WHEN {short} THEN {value} END" if source.types[place] == "text" else value


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
    counts = source.rows_of("count(*), count(DISTINCT h)", given=f"{hashed} AS h", where=part)
    drawn, unlike = counts[0]
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
    for end, suspect in suspects(facts.minimum, facts.maximum):
        nearest, beyond = ("min", ">") if end == "low" else ("max", "<")
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
    ends = (_number(facts.minimum, low), _number(facts.maximum, high))
    inside = limits[0] <= ends[0] and ends[1] <= limits[1]
    return None if inside or low == high else limits


def _number(value: Scalar, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


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
    if "counts" in found and _total(found["counts"]) == before.present:
        facts = _counted(facts, found["counts"] or {})
    return replace(facts, placeholders=_placeholders(facts, found))


def _total(counts: dict[str, int] | None) -> int:
    return sum((counts or {}).values())


def _counted(facts: Facts, counts: dict[str, int]) -> Facts:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return replace(facts, counts=tuple(ordered), distinct=len(ordered), exact=True)


def _placeholders(facts: Facts, found: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    told = {name[6:]: count for name, count in found.items() if name.startswith("blank ")}
    if facts.type == "text" and facts.counts:
        told = {text: count for text, count in facts.counts if is_placeholder(text)}
    for end, value in (("low", facts.minimum), ("high", facts.maximum)):
        count, following = found.get(f"{end} count"), found.get(f"{end} next")
        if count and following is not None and isinstance(value, int | float):
            # A gap as wide as half of it: 9999 after 8700 is a number like the others.
            told |= {f"{value:g}": count} if abs(following - value) >= abs(value) / 2 else {}
    return tuple(sorted(told.items(), key=lambda each: (-each[1], each[0])))


def is_placeholder(text: str) -> bool:
    return text.strip().lower() in PLACEHOLDER_TEXTS
