"""What is doubtful about a table, in a few words each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from secondlook.tables.profiling.headers import hard_to_tell_apart
from secondlook.tables.profiling.second import far_limits
from secondlook.tables.profiling.wording import percent, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.profiling.facts import Facts, Passed

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
    found = [
        *_missing(facts),
        *_constant(facts),
        *_mixed(facts),
        *_placeholders(facts),
        *_spellings(facts),
        *_far(facts),
    ]
    if unit == "%" and are_shares(facts):
        found.append("named a percentage, but between 0 and 1")
    if facts.infinite:
        found.append(f"{facts.infinite:,} values are infinite or too large to compute with")
    if facts.future:
        found.append(f"{facts.future:,} dates lie in the future, up to {facts.maximum}")
    return tuple(found)


def are_shares(facts: Facts) -> bool:
    ends = (facts.minimum, facts.maximum)
    return facts.type == "number" and all(isinstance(end, float) and 0 <= end <= 1 for end in ends)


def _missing(facts: Facts) -> list[str]:
    share = facts.missing / facts.rows
    return [missing_share(share)] if share >= MOSTLY else []


def missing_share(share: float) -> str:
    return f"{percent(share)} missing"


def _constant(facts: Facts) -> list[str]:
    return [CONSTANT] if facts.distinct == 1 and facts.present > 1 else []


def _mixed(facts: Facts) -> list[str]:
    """Numbers among texts: a sum over them would fail or leave some out."""
    if facts.numbers is None:
        return []
    share = facts.numbers / facts.present
    if facts.numbers == facts.present:
        return ["numbers kept as text"]
    if share < SHARE_OF_NUMBERS:
        return []
    other = quoted(facts.not_a_number or "")
    return [f"{percent(share)} of the texts are numbers, others are not: {other}"]


def _placeholders(facts: Facts) -> list[str]:
    if not facts.placeholders:
        return []
    told = [f"{quoted(text)} ({count:,})" for text, count in facts.placeholders[:SHOWN]]
    return [f"may stand for missing: {', '.join(told)}"]


def _spellings(facts: Facts) -> list[str]:
    """The same category in capitals, with blanks."""
    if facts.type != "text" or facts.counts is None:
        return []
    alike: dict[str, list[str]] = defaultdict(list)
    for text, _ in facts.counts:
        alike[" ".join(text.casefold().split())].append(text)
    several = [group for group in alike.values() if len(group) > 1]
    told = [" = ".join(map(quoted, sorted(group)[:SHOWN])) for group in several[:SHOWN]]
    more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
    return [f"spelled in several ways: {'; '.join(told)}{more}"] if told else []


def _far(facts: Facts) -> list[str]:
    limits = far_limits(facts)
    # Where values repeat far away, 5 % of the rows or more, the quantiles reach out to them.
    if not facts.far or limits is None:
        return []
    verb = "value lies" if facts.far == 1 else "values lie"
    low, high = facts.quantiles[0], facts.quantiles[-1]
    return [f"{facts.far:,} {verb} far from the rest (90 % are between {low:g} and {high:g})"]


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
