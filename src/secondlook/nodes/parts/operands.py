"""The values that parts came to, where their citations state them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes.parts.computing import Stated
from secondlook.nodes.parts.values import dates, numbers, read_date, read_number
from secondlook.reading.support import denies
from secondlook.retrieval.analyse import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.nodes.parts.splitting import Combining
    from secondlook.state import Cited, DraftData

_DATED: Final = frozenset({"years", "earliest", "latest"})
_COUNTED: Final = frozenset({"difference", "sum", "least", "most"})
_WORD = re.compile(r"\w+(?:[-.'\u2019]\w+)*")
_WIDEST: Final = 12
"""Words between the first and the last of a property that still are one statement."""


@dataclass(frozen=True, slots=True)
class Quoted:
    place: Cited
    text: str
    """The document's own text there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A value, and where it stands."""

    stated: Stated
    place: Cited


def placed(
    draft: DraftData, quotes: Sequence[Quoted], combining: Combining, *, name: str, wanted: str
) -> Placed | None:
    """The value that a draft came to, as one of its quotes has it. `wanted` is the property that
    `both` asks for."""
    short = draft["short"] or ""
    for quote in quotes:
        for written in _candidates(short, quote.text, combining, wanted):
            if stands_in(written, quote.text):
                return Placed(Stated(written, name), quote.place)
    return None


def _candidates(short: str, quote: str, combining: Combining, wanted: str) -> Iterator[str]:
    """The value as a quote writes it, whole: a span of the reader may lack the unit or the year."""
    if combining in _DATED:
        yield from _dated(short, quote)
    elif combining in _COUNTED:
        yield from _counted(short, quote)
    elif combining == "same":
        yield short
    elif combining == "both" and (phrase := _phrase(wanted, quote)):
        yield phrase


def _dated(short: str, quote: str) -> Iterator[str]:
    date = read_date(short)
    meant = [
        one
        for one in dates(quote)
        if (one.day[: len(date.day)] == date.day if date else stands_in(short, one.written))
    ]
    if len({one.day for one in meant}) == 1:
        yield meant[0].written
    elif date is not None:
        yield date.written


def _counted(short: str, quote: str) -> Iterator[str]:
    number = read_number(short)
    meant = [one for one in numbers(quote) if number and one.number == number.number]
    if number and number.unit:
        meant = [one for one in meant if one.unit == number.unit]
    if len({one.unit for one in meant}) == 1:
        yield meant[0].written


def stands_in(written: str, quote: str) -> bool:
    """Whether a quote states it, whatever the white space; "98" does not stand in "1981"."""
    text = flat(written).casefold()
    if not text:
        return False
    before = r"(?<!\w)(?<!\d[.,])" if text[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if text[-1].isalnum() else ""
    return re.search(f"{before}{re.escape(text)}{after}", flat(quote).casefold()) is not None


def flat(text: str) -> str:
    return " ".join(text.split())


def _phrase(wanted: str, quote: str) -> str | None:
    """The fewest words in a row of a quote that hold every word of a property, if it does not
    deny it."""
    needed = frozenset(query_terms(wanted))
    words = [
        (at.start(), at.end(), needed.intersection(terms(at[0]))) for at in _WORD.finditer(quote)
    ]
    best: tuple[int, int] | None = None
    for first in range(len(words)):
        last = _reaching(words, first, needed)
        if last is not None and (best is None or last - first < best[1] - best[0]):
            best = first, last
    if best is None or not needed:
        return None
    span = words[best[0]][0], words[best[1]][1]
    return None if denies(quote, span, wanted) else quote[slice(*span)]


def _reaching(
    words: Sequence[tuple[int, int, frozenset[str]]], first: int, needed: frozenset[str]
) -> int | None:
    held: frozenset[str] = frozenset()
    for at in range(first, min(first + _WIDEST, len(words))):
        held |= words[at][2]
        if held == needed:
            return at
    return None
