"""How much of a question a reading leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.query import AnyOf
from secondlook.tables.resolver import STOP_WORDS, atoms, same_word, squeezed, stem
from secondlook.tables.table import NUMERIC
from secondlook.tables.understand.lexicon import FILLER, sentences, spans_of
from secondlook.tables.understand.question import SURE, is_a_label
from secondlook.tables.understand.readings import QUOTED
from secondlook.tables.understand.selection import cued, is_a_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.tables.query import Condition, Measure, Query, Term
    from secondlook.tables.resolver import Mention, Resolved
    from secondlook.tables.understand.question import Asked

UNSURE_COLUMN = 0.6
"""How much a column's missing likeness adds."""
RESTATED = 0.6
"""What an open word is worth where further lines say the same with the columns' own names."""
QUOTED_NOTHING = 0.4
"""A quoted name that means nothing here is likely a condition that was missed."""
DROPPED_GROUP = 0.5
"""A grouping that is not understood makes every number wrong."""
EACH = re.compile(
    r"\b(?:each|every|per|grouped by|broken down by) (?:of the )?[\"']?(\w+)", re.IGNORECASE
)
_ROWS = """pair row record value observation point data entry variable column one of case sample
item other"""
GROUP_WORDS = frozenset(stem(one) for one in ("group", "category", "class", "interval", "bin"))
ROWS = frozenset(stem(one) for one in _ROWS.split())
"""What a row or a column may be called: these group nothing."""
OTHER_COLUMN = 0.2
"""A word of another column: that one may have been meant."""
DROPPED_CONDITION = 0.4
"""A number or a month that no part accounts for is a condition that was missed."""
_MONTHS = """january february march april june july august september october november december
jan feb mar apr jun jul aug sep oct nov dec today yesterday monday tuesday wednesday thursday friday
saturday sunday weekend weekday week morning evening night spring summer autumn winter decade
century ago recent last previous next current"""
MONTHS = frozenset(stem(one) for one in _MONTHS.split())
MAY = re.compile(r"\b(?:in|before|after|since|until|during|of|from|to|and|by|for|between) (May)\b")
RULE = re.compile(r"\s*(?:if|consider|assume|note|treat|suppose)\b", re.IGNORECASE)
"""Sentences that say how to do what the others ask for."""
STEMMED_FILLER = frozenset(stem(one) for one in FILLER)


def doubt_of(
    asked: Asked, resolved: Iterable[Resolved], also: Iterable[tuple[int, int]] = ()
) -> float:
    """Share of the question's content words that nothing accounts for, and the columns' own."""
    words = content_words(asked)
    spans = [*_understood(asked), *also]
    if not words or _may_dropped(asked, spans):
        return 1.0
    resolved = list(resolved)
    names = _names(asked, {one.column for one in resolved})
    open_words: list[str] = [
        text
        for start, text in words
        if not any(low <= start < high for low, high in spans)
        and not any(same_word(stem(text), one) for one in names)
    ]
    least = min((one.score for one in resolved), default=1.0)
    share = len(open_words) / len(words)
    share += QUOTED_NOTHING * _quoted_unknown(asked, spans, names)
    share += DROPPED_CONDITION * sum(1 for text in open_words if _chooses(text))
    others = _other_columns(asked, {one.column for one in resolved})
    share += OTHER_COLUMN * sum(1 for text in open_words if stem(text) in others)
    share += DROPPED_GROUP * _group_unknown(asked)
    if _restated(asked, {one.column for one in resolved}):
        share *= RESTATED
    return round(min(1.0, share + UNSURE_COLUMN * (1 - least)), 3)


def _restated(asked: Asked, columns: set[str]) -> bool:
    """Whether further lines name the columns by their own names."""
    there = {
        one.resolved.column
        for one in asked.mentions
        if one.resolved.score >= SURE and not asked.in_question(one.start)
    }
    return bool(columns) and columns <= there


def _quoted_unknown(asked: Asked, spans: list[tuple[int, int]], names: set[str]) -> int:
    """Quoted texts of the question that are no column, no value and no part of another name."""
    unknown = 0
    for match in QUOTED.finditer(asked.text[: asked.question]):
        words = atoms(match[1] or match[2])
        known = any(low <= match.start() + 1 < high for low, high in spans)
        if not known and not all(stem(one.text) in names for one in words):
            unknown += 1
    return unknown


def _other_columns(asked: Asked, columns: set[str]) -> set[str]:
    """Words of the columns of numbers that the reading does not use."""
    return {
        stem(atom.text)
        for one in asked.table.table.columns
        if one.type in NUMERIC and one.name not in columns and not is_a_label(asked, one.name)
        for atom in atoms(one.name)
    }


def _is_a_row(asked: Asked, mention: Mention) -> bool:
    """A key: `per order` is each row where a row is an order."""
    profile = asked.table.profile.column(mention.resolved.column)
    return profile is not None and (profile.key or 0 < profile.rows == profile.distinct)


def _chooses(word: str) -> bool:
    """A number, a month: likely part of a condition."""
    return word.isdigit() or stem(word) in MONTHS


def _may_dropped(asked: Asked, spans: list[tuple[int, int]]) -> bool:
    """The one month that is a common word too."""
    return any(
        not any(low <= match.start(1) < high for low, high in spans)
        for match in MAY.finditer(asked.text[: asked.question])
    )


def _group_unknown(asked: Asked) -> bool:
    """`for each ...` of something that is no column."""
    known = spans_of(asked.groups)
    if any(one.kind in {"mean", "median"} for one in asked.said):
        lead = len("per each ")
        rows = [one for one in asked.mentions if _is_a_row(asked, one)]
        known += [(one.start - lead, one.end) for one in rows]
    keys = "".join(squeezed(one.key.column) for one in asked.groups)
    for match in EACH.finditer(asked.text[: asked.question]):
        covered = any(low <= match.start() < high for low, high in known)
        word = match[1].lower()
        told = stem(word) in GROUP_WORDS and (asked.groups or asked.intervals)
        if not (covered or told or stem(word) in ROWS or word in keys):
            return True
    return False


def content_words(asked: Asked) -> list[tuple[int, str]]:
    """Of the question itself, without words that only ask."""
    question = asked.text[: asked.question]
    rules = [span for span in sentences(question) if RULE.match(question, *span)]
    return [
        (one.start, one.text)
        for one in atoms(question)
        if one.text not in STOP_WORDS
        and not any(low <= one.start < high for low, high in rules)
        and (stem(one.text) not in STEMMED_FILLER or _measures(asked, one.start))
    ]


def _measures(asked: Asked, at: int) -> bool:
    return any(one.start <= at < one.end for one in asked.said)


def _understood(asked: Asked) -> list[tuple[int, int]]:
    placed = spans_of(asked.mentions, asked.said, asked.clauses, asked.groups, asked.intervals)
    return [*placed, *asked.options.understood, *(asked.derived.spans if asked.derived else ())]


def _names(asked: Asked, columns: set[str]) -> set[str]:
    """Words of the columns in use, of keys and of the table's title, by which rows are called, and
    of the names that are wanted. Those of other columns may ask for other columns."""
    texts = [
        one.name
        for one in asked.table.table.columns
        if one.name in columns or is_a_label(asked, one.name)
    ]
    texts += [asked.table.table.title, *asked.wanted.names]
    return {stem(atom.text) for text in texts for atom in atoms(text)}


# What a question names and a reading leaves out: columns, values, groupings.

OF_ROWS = re.compile(r"\bof(?: all)?(?: the)?\s+$", re.IGNORECASE)
"""Before what rows are called: `the mean price of products`."""


def drops_something(asked: Asked, query: Query) -> bool:
    """Where names of values are given, they say more than the question: it is not asked."""
    if asked.wanted.names:
        return False
    used = set(columns_used(query))
    if asked.derived is not None:
        used |= set(asked.derived.columns)
    named = [one for one in asked.mentions if not _calls_rows(asked, one, query)]
    if any(one.resolved.column not in used for one in named):
        return True
    return _drops_a_group(asked, query, named) or _drops_a_value(asked, query)


def _drops_a_group(asked: Asked, query: Query, named: Iterable[Mention]) -> bool:
    """`the sum of A by B` is no sum of B."""
    by = {one.column for one in query.group_by} | {one.by for one in query.order}
    made_of = set(asked.derived.columns) if asked.derived is not None else set()
    return any(
        one in named and one.resolved.column not in by | made_of
        for one in cued(asked.text[: asked.question], asked.mentions)
    )


def _calls_rows(asked: Asked, mention: Mention, query: Query) -> bool:
    """`products` of a column `product`, `orders` of a key: what the rows are called."""
    column = mention.resolved.column
    profile = asked.table.profile.column(column)
    if profile is not None and profile.key and profile.distinct == profile.rows:
        return True
    written = asked.text[mention.start : mention.end]
    plural = written.lower().endswith("s") and not column.lower().endswith("s")
    before = asked.text[: mention.start]
    return (
        not asked.is_number(column)
        and plural
        and OF_ROWS.search(before) is not None
        and (not query.group_by)
    )


def _drops_a_value(asked: Asked, query: Query) -> bool:
    """A cell that is named: its column, or all of its words, must be in use."""
    used = set(columns_used(query))
    names = {atom.text for one in asked.mentions for atom in atoms(one.resolved.asked)}
    taken = spans_of(asked.said, asked.clauses, asked.groups)
    places: dict[tuple[int, int], set[str]] = {}
    for one in asked.resolver.values(asked.text[: asked.question]):
        if is_a_name(asked.text, asked.table, one):
            places.setdefault((one.start, one.end), set()).add(one.column)
    return any(
        not columns & used
        and not any(low <= start < high for low, high in taken)
        and not {atom.text for atom in atoms(asked.text[start:end])} <= names
        for (start, end), columns in places.items()
    )


def columns_used(query: Query) -> Iterator[str]:
    yield from query.select
    yield from (one.column for one in query.group_by)
    yield from (one.by for one in query.order)
    yield from _of_conditions((*query.where, *query.having))
    for measure in query.measures:
        yield from _of_measure(measure)


def _of_measure(measure: Measure) -> Iterator[str]:
    for term in (measure.of, measure.other):
        if term is not None:
            yield from _of_term(term)
    yield from _of_conditions(measure.where)


def _of_term(term: Term) -> Iterator[str]:
    yield term.column
    others = (term.other, *(other for _, other in term.rest))
    yield from (one for one in others if isinstance(one, str))


def _of_conditions(conditions: Iterable[Condition]) -> Iterator[str]:
    for one in conditions:
        filters = one.filters if isinstance(one, AnyOf) else (one,)
        yield from (each.column for each in filters)
