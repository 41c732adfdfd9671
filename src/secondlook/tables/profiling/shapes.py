"""What values look like: their forms, and whether texts are dates or numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from secondlook.tables.profiling.wording import percent, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.tables.profiling.source import Source

SHAPED = 40
"""Characters of a text that make its form."""
MOST_SHAPES = 12
"""More forms than that are prose: letters in a row then count as one."""
SHOWN_SHAPES = 4
FETCHED_SHAPES = 2_000
MOSTLY = 0.5
DATE_FORMS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %Y",
    "%B %Y",
    "%Y-%m",
    "%m/%Y",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%b %d %Y %I:%M:%S %p",
    "%b %d %Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%a %b %d %H:%M:%S %Y",
    "%Y-%m-%dT%H:%M:%SZ",
    "%H:%M",
    "%H:%M:%S",
)


def text_shapes(source: Source, column: str, where: str) -> list[str]:
    """`AA-999 in 98 %`: letters as A and a, digits as 9."""
    shaped = f"left({column}, {SHAPED})"
    for kind, sign in (
        ("\\p{Lu}", "A"),
        ("[\\p{Ll}\\p{Lo}\\p{Lt}\\p{Lm}]", "a"),
        ("\\p{Nd}", "9"),
    ):
        shaped = f"regexp_replace({shaped}, '{kind}', '{sign}', 'g')"
    grouped = f"{where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {FETCHED_SHAPES}"
    counts = Counter(dict(source.rows_of(f"{shaped}, count(*)", where=grouped)))
    if len(counts) > MOST_SHAPES:
        counts = _collapsed(counts.items())
    total = counts.total()
    if not total:
        return []
    best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:SHOWN_SHAPES]
    told = [f"{quoted(shape)} in {percent(n / total)}" for shape, n in best]
    return [f"forms of its values (A and a for letters, 9 for digits): {', '.join(told)}"]


def _collapsed(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for shape, count in counts:
        found[re.sub(r"([Aa9])\1+", r"\1+", shape)] += count
    return found


def text_dates(source: Source, column: str, where: str) -> list[str]:
    """With which forms the texts parse as dates or times."""
    bare = f"regexp_replace(trim({column}), '\\s+', ' ', 'g')"
    tried = [f"count(try_strptime({bare}, '{form}'))" for form in DATE_FORMS]
    total, *parsed = source.rows_of(f"count({column}), {', '.join(tried)}", where=where)[0]
    shares = (
        [(form, n / total) for form, n in zip(DATE_FORMS, parsed, strict=True) if n]
        if total
        else []
    )
    best = max((share for _, share in shares), default=0.0)
    if best < MOSTLY:
        return []
    equal = [form for form, share in shares if share == best]
    said = f"{percent(best)} of its values parse as dates with {quoted(equal[0])}"
    if len(equal) > 1:
        return [f"{said}, and as many with {quoted(equal[1])}: day and month cannot be told apart"]
    return [said]


def text_numbers(source: Source, column: str, where: str) -> list[str]:
    """How many texts are numbers, as they stand and without signs around them."""
    bare = f"regexp_replace({column}, '[^0-9.eE+-]', '', 'g')"
    has_digit = f"regexp_matches({column}, '^[^A-Za-z0-9]{{0,3}}[+-]?[0-9][0-9., ]*[^0-9]{{0,5}}$')"
    asked = (
        f"count({column}), count(TRY_CAST({column} AS DOUBLE)), "
        f"count(TRY_CAST({bare} AS DOUBLE)) FILTER ({has_digit})"
    )
    total, plain, cleaned = source.rows_of(asked, where=where)[0]
    if not total or not cleaned:
        return ["none of its values is a number"] if total and not plain else []
    said = f"{percent(plain / total)} of its values are numbers as they stand"
    more = f", {percent(cleaned / total)} without the signs around them" if cleaned > plain else ""
    return [f"{said}{more}"]
