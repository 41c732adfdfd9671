"""Groups of rows that a question speaks of: each class, by month, age groups with their bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.lexicon import statistics_in
from secondlook.tables.query import Filter, Key
from secondlook.tables.resolving.words import STOP_WORDS, atoms
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.query import Condition, PartOfDate
    from secondlook.tables.resolving.port import AskedTable, Mention

EACH = re.compile(
    r"\b(?:(?:for|in|of|within|at|on|from) )?(?:each|every)\b|\bper\b|\bby\b"
    r"|\bgroup(?:ed|ing)? by\b"
    r"|\bacross(?: (?:all|the|different))*\b|\bbroken down by\b|\bfor (?:the )?different\b"
    r"|\bseparately for\b|\bamong(?: the)?(?: different)?\b",
    re.IGNORECASE,
)
PARTS: dict[str, PartOfDate] = {
    "year": "year",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
    "quarter": "quarter",
    "quarterly": "quarter",
    "month": "month",
    "monthly": "month",
    "weekday": "weekday",
    "hour": "hour",
    "hourly": "hour",
}
ADVERBS = re.compile(r"\b(?:yearly|annual(?:ly)?|quarterly|monthly|hourly)\b", re.IGNORECASE)
LABELLED = re.compile(
    r"[\"'\u201c]?(?P<label>[A-Za-z][\w -]{0,30}?)[\"'\u201d]?\s*[(:]\s*(?:ages?\s*)?(?:"
    r"(?P<low>\d+(?:\.\d+)?)\s*(?:-|\u2013|to|and)\s*(?P<high>\d+(?:\.\d+)?)"
    r"|(?P<above>\d+(?:\.\d+)?)(?:\s*\+|[^)\n,;]{0,20}?(?:and|or) "
    r"(?:above|older|more|over|up|higher))"
    r"|(?:under|below|less than|<)\s*(?P<below>\d+(?:\.\d+)?))[^)\n,;]{0,20}\)?",
    re.IGNORECASE,
)
ALSO = re.compile(r"[\"'\u201d]?\s*(?:,|and|&|,\s*and)\s*(?:by |the )?[\"'\u201c]?", re.IGNORECASE)
NEAR = 25
SURE_ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class Group:
    key: Key
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Interval:
    label: str
    low: float | None
    high: float | None
    start: int
    end: int


def groups_in(text: str, mentions: Sequence[Mention], table: AskedTable) -> list[Group]:
    """What rows are grouped by, in the order of the text."""
    found: list[Group] = []
    for cue in EACH.finditer(text):
        near = _mention_after(text, cue.end(), mentions)
        if near is not None and _can_group(near, table):
            found.append(Group(Key(column=near.resolved.column), cue.start(), near.end))
            found += _further(text, near, mentions, table)
            continue
        if near is not None:
            continue
        word = re.match(r"\s*(?:calendar )?(\w+)", text[cue.end() :])
        part = PARTS.get(word[1].lower().removesuffix("s")) if word else None
        dated = the_date(table)
        if word and part and dated:
            key = Key(column=dated, part=part)
            found.append(Group(key, cue.start(), cue.end() + word.end()))
    found += _adverbs(text, table)
    unique: dict[Key, Group] = {}
    for one in found:
        unique.setdefault(one.key, one)
    return list(unique.values())


def _further(
    text: str, first: Mention, mentions: Sequence[Mention], table: AskedTable
) -> list[Group]:
    """`by region and product`."""
    found, last = [], first
    for one in mentions:
        joined = one.start >= last.end and ALSO.fullmatch(text[last.end : one.start])
        if joined and _can_group(one, table):
            found.append(Group(Key(column=one.resolved.column), last.end, one.end))
            last = one
    return found


def cued(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The columns that stand right after a word for grouping, whether they can group or not."""
    after = [_mention_after(text, cue.end(), mentions) for cue in EACH.finditer(text)]
    return [one for one in after if one is not None]


def _can_group(mention: Mention, table: AskedTable) -> bool:
    """Named almost as it is; numbers only where their values repeat."""
    if mention.resolved.score < SURE_ENOUGH:
        return False
    column = mention.resolved.column
    profile = table.profile.column(column)
    kind = next((one.type for one in table.table.columns if one.name == column), "text")
    measures = kind in NUMERIC
    return not measures or profile is None or profile.distinct * 2 <= profile.rows


def _adverbs(text: str, table: AskedTable) -> list[Group]:
    """`the monthly total`."""
    dated = the_date(table)
    return [
        Group(Key(column=dated, part=PARTS[match[0].lower()]), *match.span())
        for match in ADVERBS.finditer(text)
        if dated is not None
    ]


def _mention_after(text: str, at: int, mentions: Sequence[Mention]) -> Mention | None:
    for one in mentions:
        between = text[at : one.start]
        if one.start >= at and len(between) <= NEAR and not re.search(r"[.,;:?!\n]", between):
            if statistics_in(between) or "'s" in between or "\u2019s" in between:
                return None
            words = [atom.text for atom in atoms(between)]
            if len([word for word in words if word not in STOP_WORDS]) <= 1:
                return one
    return None


def the_date(table: AskedTable) -> str | None:
    """The table's only column of dates."""
    dates = [one.name for one in table.table.columns if one.type in {"date", "datetime"}]
    return dates[0] if len(dates) == 1 else None


def intervals_in(text: str) -> list[Interval]:
    """`Child (0-12), Teenager (13-19), Adult (20 and above)`; fewer than two are none."""
    found = []
    for match in LABELLED.finditer(text):
        low = match["low"] or match["above"]
        high = match["high"] or match["below"]
        found.append(
            Interval(
                match["label"].strip(),
                float(low) if low else None,
                float(high) if high else None,
                *match.span(),
            )
        )
    return found if len(found) > 1 else []


def interval_conditions(
    column: str, intervals: Sequence[Interval]
) -> dict[str, tuple[Condition, ...]]:
    """Per label; what lies between two of them (12 to 13) belongs to the upper one."""
    made: dict[str, tuple[Condition, ...]] = {}
    edge: tuple[float, Literal[">", ">="]] | None = None
    for one in sorted(intervals, key=lambda one: one.low if one.low is not None else float("-inf")):
        filters: list[Condition] = []
        if edge is not None:
            filters.append(Filter(column=column, comparison=edge[1], value=edge[0]))
        elif one.low is not None:
            filters.append(Filter(column=column, comparison=">=", value=one.low))
        if one.high is not None:
            closed = one.low is not None
            filters.append(
                Filter(column=column, comparison="<=" if closed else "<", value=one.high)
            )
            edge = (one.high, ">" if closed else ">=")
        made[one.label] = tuple(filters)
    return made
