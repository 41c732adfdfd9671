"""Questions for the extreme: the most, the highest, the first, the second longest, top 3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.query import Key, Measure, Order, Query
from secondlook.tables.understand.drafts import Draft, Parsed, Target, places_of
from secondlook.tables.understand.sentence import NUMBER_WORDS, ORDINALS, RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.understand.filters import ConditionSet
    from secondlook.tables.understand.sentence import ColumnFacts

_UP: dict[str, str] = {
    "most": "",
    "highest": "",
    "largest": "area size population capacity",
    "biggest": "area size population capacity",
    "greatest": "",
    "longest": "length duration distance time",
    "tallest": "height",
    "heaviest": "weight",
    "oldest": "age",
    "latest": "year date",
    "newest": "year date founded opened established built",
    "widest": "width",
    "deepest": "depth",
    "farthest": "distance",
    "furthest": "distance",
    "maximum": "",
    "max": "",
    "slowest": "time",
    "best": "point score",
    "richest": "earning money purse",
    "strongest": "",
    "busiest": "passenger",
    "most recent": "year date season",
    "last": "year date season",
    "latest date": "date",
    "most recently": "year date season",
    "final": "year date",
    "top": "point score total",
}
_DOWN: dict[str, str] = {
    "least": "",
    "fewest": "",
    "lowest": "",
    "smallest": "area size population capacity",
    "shortest": "length duration distance time height",
    "youngest": "age",
    "earliest": "year date season",
    "oldest": "year date founded opened established built born birth",
    "first": "year date season",
    "minimum": "",
    "min": "",
    "fastest": "time",
    "quickest": "time",
    "closest": "distance",
    "nearest": "distance",
    "lightest": "weight",
    "worst": "point score",
    "best": "rank position time place",
    "highest ranked": "rank position",
    "highest ranking": "rank position",
    "top": "rank position place",
    "top ranked": "rank position",
    "cheapest": "price cost",
    "newest": "age",
}
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
                hints = frozenset(words[word].split())
                found.append(Extreme(word, descending, hints, used, place, limit, offset))
    return found


def drafts(parsed: Parsed) -> list[Draft]:
    found: list[Draft] = []
    for extreme in extremes(parsed):
        for conditions in parsed.sets[:8] + parsed.sets[-1:]:
            if conditions.used & extreme.used:
                continue
            found += _by_columns(parsed, extreme, conditions)
            found += _by_place(parsed, extreme, conditions)
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
            by = f"{how}:{turned}" if ranks else how
            for target in [*parsed.targets[:4], itself]:
                if target.column is not column or target is itself:
                    yield _ordered(parsed, extreme, conditions, target, order, by=(used, by))


def _ordered(
    parsed: Parsed,
    extreme: Extreme,
    conditions: ConditionSet,
    target: Target,
    order: Order,
    *,
    by: tuple[frozenset[int], str],
) -> Draft:
    direction = "highest" if order.descending else "lowest"
    where = f" where {conditions.said}" if conditions.choices else ""
    kind = "extreme" if target.how == "value" else "argmax"
    if not order.by:
        kind = "place"
    wh = parsed.wh[1] if parsed.wh else frozenset[int]()
    said = f"{target.column.name} of the row with the {direction} {order.by}{where}"
    if kind == "place":
        said = f"{target.column.name} of the {'last' if order.descending else 'first'} row{where}"
    adjacent = _adjacent(parsed, extreme)
    return Draft(
        kind=kind,
        family="superlatives",
        query=Query(
            table=parsed.table_id,
            where=conditions.conditions,
            select=(target.column.name,),
            order=(order,),
            limit=extreme.limit,
            offset=extreme.offset,
            ties=bool(order.by) and not extreme.offset,
        ),
        said=said,
        used=places_of(extreme.used, target.used, conditions.used, by[0], wh),
        answer="list",
        conditions=conditions,
        target=target,
        traits=(
            *_by_traits(by[1]),
            f"{kind}:{extreme.word}:{'down' if order.descending else 'up'}",
            f"{kind}:{adjacent}",
            f"{kind}:{parsed.wh[0] if parsed.wh else 'none'}",
        ),
    )


def _by_traits(by: str) -> tuple[str, ...]:
    how, _, turned = by.rpartition(":")
    if turned not in {"turned", "plain"}:
        return (f"by:{by}",)
    return (f"by:{how}", f"rank:{turned}")


def _adjacent(parsed: Parsed, extreme: Extreme) -> str:
    """Whether the extreme itself is asked for: `what is the highest score`."""
    if parsed.wh is None:
        return "none"
    start = max(parsed.wh[1]) + 1
    between = {parsed.asked.words[place].text for place in range(start, min(extreme.used))}
    return "asked" if between <= {"is", "was", "the", "were", "are", "be", "of"} else "apart"


def _by_place(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    """The first or last row as the table has them."""
    if extreme.word not in _PLACE_WORDS or (extreme.word == "top" and extreme.descending):
        return
    order = Order(by="", descending=extreme.descending)
    for target in parsed.targets[:4]:
        yield _ordered(parsed, extreme, conditions, target, order, by=(frozenset(), "place"))


def _most_frequent(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    """The value that occurs in the most rows."""
    if extreme.word not in {"most", "least", "fewest", "highest", "largest", "top", "greatest"}:
        return
    times = parsed.asked.search(_TIMES)
    for target in parsed.targets[:3]:
        if target.column.distinct == 1:
            continue
        after = max(extreme.used) + 1
        noun = frozenset({after} if after < len(parsed.asked.words) else ())
        yield Draft(
            kind="frequent",
            family="superlatives",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                group_by=(Key(column=target.column.name),),
                measures=(Measure(name="rows", statistic="count"),),
                order=(Order(by="rows", descending=extreme.descending),),
                limit=extreme.limit,
                offset=extreme.offset,
            ),
            said=f"{target.column.name} with the {'most' if extreme.descending else 'fewest'} rows"
            + (f" where {conditions.said}" if conditions.choices else ""),
            used=places_of(
                extreme.used,
                target.used,
                conditions.used,
                times,
                noun,
                parsed.wh[1] if parsed.wh else None,
            ),
            answer="list",
            conditions=conditions,
            target=target,
            traits=(
                f"frequent:{extreme.word}",
                f"frequent:{'times' if times else 'noun'}",
                f"frequent:{'named' if _named_number(parsed, extreme) else 'unnamed'}",
            ),
        )


def _named_number(parsed: Parsed, extreme: Extreme) -> bool:
    return any(
        mention.column.measurable
        for mention in parsed.asked.mention_within(extreme.place + 1, extreme.place + REACH)
    )
