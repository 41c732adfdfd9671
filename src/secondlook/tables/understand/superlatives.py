"""Questions for the extreme: the most, the highest, the first, the second longest, top 3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.query import Key, Measure, Order
from secondlook.tables.understand.drafts import Draft, Parsed, Target, places_of
from secondlook.tables.understand.sentence import RANKS
from secondlook.tables.words import NUMBER_WORDS, ORDINALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.understand.filters import ConditionSet
    from secondlook.tables.understand.sentence import ColumnFacts

_HIGHEST = """
most,highest,greatest,maximum,max,strongest:
largest,biggest: area size population capacity
most recent,most recently,last: year date season
farthest,furthest: distance
longest: length duration distance time
newest: year date founded opened established built
latest,final: year date
latest date: date
best: point score
top: point score total
richest: earning money purse
busiest: passenger
tallest: height
heaviest: weight
oldest: age
widest: width
deepest: depth
slowest: time"""
_LOWEST = """
least,fewest,lowest,minimum,min:
smallest: area size population capacity
earliest,first: year date season
closest,nearest: distance
shortest: length duration distance time height
oldest: year date founded opened established built born birth
fastest,quickest: time
best: rank position time place
top: rank position place
highest ranked,highest ranking,top ranked: rank position
worst: point score
youngest,newest: age
lightest: weight
cheapest: price cost"""


def _hints(lines: str) -> dict[str, frozenset[str]]:
    """Words for an extreme, each with what it is likely to be of."""
    pairs = [line.split(":") for line in lines.split("\n")[1:]]
    return {word: frozenset(of.split()) for words, of in pairs for word in words.split(",")}


_UP, _DOWN = _hints(_HIGHEST), _hints(_LOWEST)
_SUPERLATIVE = re.compile(
    r"\b(?:(?P<nth>second|third|fourth|fifth|2nd|3rd|4th|5th) )?(?:(?P<top>top) (?P<n>\d+|"
    + "|".join(NUMBER_WORDS)
    + r")|(?P<word>"
    + "|".join(sorted({*_UP, *_DOWN}, key=len, reverse=True))
    + r"))\b(?: (?:number|amount|total|count)(?: of)?\b)?"
)
_TIMES = re.compile(
    r"\b(?:most|least|fewest) (?:times|often|frequent(?:ly)?|common(?:ly)?|number of times)\b"
    r"|\bmore than once\b"
)
_GOOD = frozenset({"highest", "best", "lowest", "worst", "greatest"})
REACH = 5
"""Words after an extreme within which what it is one of is named."""
_PLACE_WORDS = frozenset({"first", "last", "final", "latest", "earliest", "top", "most recent"})


@dataclass(frozen=True, slots=True)
class Extreme:
    word: str
    descending: bool
    hints: frozenset[str]
    used: frozenset[int]
    place: int
    """Of its last word."""
    limit: int = 1
    offset: int = 0


def extremes(parsed: Parsed) -> list[Extreme]:
    found = []
    for match, places in parsed.asked.finditer(_SUPERLATIVE):
        word = match["word"] or "top"
        limit = int(NUMBER_WORDS.get(match["n"], 0) or match["n"]) if match["n"] else 1
        nth = match["nth"]
        itself = parsed.asked.places(match.start(), match.end("n" if match["n"] else "word"))
        place = max(itself)
        named = any(one.how == "exact" and one.places <= places for one in parsed.asked.mentions)
        used = itself if named else places
        offset = (ORDINALS.get(nth) or int(nth[:-2])) - 1 if nth else 0
        for descending, words in ((True, _UP), (False, _DOWN)):
            if word in words:
                found.append(Extreme(word, descending, words[word], used, place, limit, offset))
    return found


def drafts(parsed: Parsed) -> list[Draft]:
    found: list[Draft] = []
    for extreme in extremes(parsed):
        for conditions in parsed.sets[:8] + parsed.sets[-1:]:
            if not conditions.used & extreme.used:
                found += _by_columns(parsed, extreme, conditions)
                found += _most_frequent(parsed, extreme, conditions)
    return found


def _ordering(parsed: Parsed, extreme: Extreme) -> list[tuple[ColumnFacts, frozenset[int], str]]:
    """Columns that the extreme may be one of: named after it, hinted at by it, or the only one."""
    found: dict[str, tuple[ColumnFacts, frozenset[int], str]] = {}
    for mention in parsed.asked.mention_within(extreme.place + 1, extreme.place + REACH):
        if mention.column.measurable:
            found.setdefault(
                mention.column.name, (mention.column, mention.places, f"after:{mention.how}")
            )
    for column in parsed.asked.table.columns:
        if column.measurable and set(column.words) & extreme.hints:
            found.setdefault(column.name, (column, frozenset(), "hint"))
    if not found and parsed.is_row(max(extreme.used) + 1):
        return []
    for mention in parsed.asked.mentions:
        if mention.column.kind == "number" and mention.score >= 0.5:  # noqa: PLR2004
            found.setdefault(
                mention.column.name, (mention.column, mention.places, f"else:{mention.how}")
            )
    numeric = [column for column in parsed.asked.table.columns if column.kind == "number"]
    only = "any"
    if len(numeric) == 1:
        alone = sum(column.measurable for column in parsed.asked.table.columns) == 1
        only = "after:exact" if alone else "only"
    for column in numeric[-2:] + numeric[:1]:
        found.setdefault(column.name, (column, frozenset(), only))
    return list(found.values())[:4]


def _by_columns(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    for column, used, how in _ordering(parsed, extreme):
        itself = Target(column, used, "value")
        ranks = bool(set(column.words) & RANKS) and extreme.word in _GOOD
        for descending in (True, False) if ranks else (extreme.descending,):
            order = Order(by=column.name, descending=descending, transform=column.transform)
            turned = "turned" if descending != extreme.descending else "plain"
            by = (f"by:{how}", f"rank:{turned}") if ranks else (f"by:{how}",)
            for target in [*parsed.targets[:4], itself]:
                if target.column is not column or target is itself:
                    yield _ordered(parsed, extreme, conditions, target, order, used, by)
    if extreme.word in _PLACE_WORDS and (extreme.word != "top" or not extreme.descending):
        # The first or last row as the table has them.
        order = Order(by="", descending=extreme.descending)
        for target in parsed.targets[:4]:
            yield _ordered(parsed, extreme, conditions, target, order, frozenset(), ("by:place",))


def _ordered(  # noqa: PLR0917
    parsed: Parsed,
    extreme: Extreme,
    conditions: ConditionSet,
    target: Target,
    order: Order,
    used: frozenset[int],
    by: tuple[str, ...],
) -> Draft:
    name = target.column.name
    where = f" where {conditions.said}" if conditions.choices else ""
    if order.by:
        kind = "extreme" if target.how == "value" else "argmax"
        which = f"with the {'highest' if order.descending else 'lowest'} {order.by}"
        said = f"{name} of the row {which}{where}"
    else:
        kind = "place"
        said = f"{name} of the {'last' if order.descending else 'first'} row{where}"
    adjacent = "none"
    if (
        parsed.wh is not None
    ):  # whether the extreme itself is asked for: `what is the highest score`
        span = range(max(parsed.wh[1]) + 1, min(extreme.used))
        between = {parsed.asked.words[place].text for place in span}
        direct = between <= {"is", "was", "the", "were", "are", "be", "of"}
        adjacent = "asked" if direct else "apart"
    return Draft(
        kind=kind,
        family="superlatives",
        query=parsed.query(
            where=conditions.conditions,
            select=(name,),
            order=(order,),
            limit=extreme.limit,
            offset=extreme.offset,
            ties=bool(order.by) and not extreme.offset,
        ),
        said=said,
        used=places_of(extreme.used, target.used, conditions.used, used, parsed.asking),
        answer="list",
        conditions=conditions,
        target=target,
        traits=(
            *by,
            f"{kind}:{extreme.word}:{'down' if order.descending else 'up'}",
            f"{kind}:{adjacent}",
            f"{kind}:{parsed.wh[0] if parsed.wh else 'none'}",
        ),
    )


def _most_frequent(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    """The value that occurs in the most rows."""
    if extreme.word not in {"most", "least", "fewest", "highest", "largest", "top", "greatest"}:
        return
    times = parsed.asked.search(_TIMES)
    near = parsed.asked.mention_within(extreme.place + 1, extreme.place + REACH)
    named = any(mention.column.measurable for mention in near)
    after = max(extreme.used) + 1
    noun = frozenset({after} if after < len(parsed.asked.words) else ())
    which = "most" if extreme.descending else "fewest"
    where = f" where {conditions.said}" if conditions.choices else ""
    for target in parsed.targets[:3]:
        name = target.column.name
        if target.column.distinct < 1:
            yield Draft(
                kind="frequent",
                family="superlatives",
                query=parsed.query(
                    where=conditions.conditions,
                    group_by=(Key(column=name),),
                    measures=(Measure(name="rows", statistic="count"),),
                    order=(Order(by="rows", descending=extreme.descending),),
                    limit=extreme.limit,
                    offset=extreme.offset,
                ),
                said=f"{name} with the {which} rows{where}",
                used=places_of(
                    extreme.used, target.used, conditions.used, times, noun, parsed.asking
                ),
                answer="list",
                conditions=conditions,
                target=target,
                traits=(
                    f"frequent:{extreme.word}",
                    f"frequent:{'times' if times else 'noun'}",
                    f"frequent:{'named' if named else 'unnamed'}",
                ),
            )
