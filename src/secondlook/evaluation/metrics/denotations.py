"""Whether an answer is right, as the evaluator of WikiTableQuestions (Pasupat and Liang, 2015) has
it: both sides are sets; texts are compared in lower case without accents, notes and brackets at
the end; numbers as numbers; dates as dates."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_QUOTES = str.maketrans(
    {
        **dict.fromkeys((0x2018, 0x2019, 0xB4, 0x60), "'"),
        **dict.fromkeys((0x201C, 0x201D), '"'),
        **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212), "-"),
    }
)
_ENDINGS = (
    re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[\u2022\u2666\u2020\u2021*#+])*$"),
    re.compile(r"(?<!^)( \([^)]*\))*$"),
)
_QUOTED = re.compile(r'^"([^"]*)"$')
_NAMES = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTHS = {name: at for at, name in enumerate(_NAMES, 1)} | {
    name[:3]: at for at, name in enumerate(_NAMES, 1)
}
_ISO = re.compile(r"^(\d{4})-(\d\d?)-(\d\d?)(?: 00:00:00)?$")
_MONTH_FIRST = re.compile(r"^([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?$")
_DAY_FIRST = re.compile(r"^(\d{1,2})(?:st|nd|rd|th)? ([a-z]+)\.?(?:,? (\d{4}))?$")
SAME = 1e-6


@lru_cache(maxsize=100_000)
def normal(text: str) -> str:
    text = html.unescape(text).translate(_QUOTES)
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(one for one in decomposed if not unicodedata.combining(one))
    text = " ".join(text.split())
    before = None
    while text != before:
        before = text
        for ending in _ENDINGS:
            text = ending.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return text.removesuffix(".").lower().strip()


@lru_cache(maxsize=100_000)
def as_number(text: str) -> float | None:
    try:
        return float(normal(text).replace(",", ""))
    except ValueError:
        return None


@lru_cache(maxsize=100_000)
def as_date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day; the year 0 where it is not said."""
    text = normal(text)
    if found := _ISO.match(text):
        return int(found[1]), int(found[2]), int(found[3])
    if (found := _MONTH_FIRST.match(text)) and found[1] in _MONTHS:
        return int(found[3] or 0), _MONTHS[found[1]], int(found[2])
    if (found := _DAY_FIRST.match(text)) and found[2] in _MONTHS:
        return int(found[3] or 0), _MONTHS[found[2]], int(found[1])
    return None


def same(one: str, other: str) -> bool:
    if normal(one) == normal(other):
        return True
    numbers = as_number(one), as_number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return abs(numbers[0] - numbers[1]) < SAME
    date = as_date(one)
    return date is not None and date == as_date(other)


def right(answers: Sequence[str], expected: Sequence[str]) -> bool:
    found, wanted = _different(answers[: 4 * len(expected) + 4]), _different(expected)
    if len(answers) > 4 * len(expected) + 4 or len(found) != len(wanted):
        return False
    return all(any(same(one, other) for other in found) for one in wanted)


def _different(texts: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        if not any(same(text, other) for other in kept):
            kept.append(text)
    return kept


def denoted(values: Mapping[str, object]) -> list[str]:
    """Every cell of an answer, by whatever names it came, as the set writes answers."""
    return [said(cell) for value in values.values() for cell in cells(value)]


def cells(value: object) -> list[object]:
    """What a value holds. A mapping stands for its names, unless those only count rows."""
    if isinstance(value, list | tuple):
        return [cell for one in value for cell in cells(one)]
    if isinstance(value, dict):
        counts_rows = all(str(name).isdecimal() for name in value)
        return [cell for one in value.values() for cell in cells(one)] if counts_rows else [*value]
    return [] if value is None else [value]


def said(value: object) -> str:
    """A value as an answer of the set is written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)
