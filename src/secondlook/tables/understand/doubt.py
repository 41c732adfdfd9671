"""How much of a question a reading leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.query import AnyOf
from secondlook.tables.table import NUMERIC
from secondlook.tables.understand.lexicon import FILLER, sentences, spans_of
from secondlook.tables.understand.question import SURE, is_a_label
from secondlook.tables.understand.readings import QUOTED
from secondlook.tables.understand.selection import cued, is_a_name
from secondlook.tables.words import MONTHS, STOP_WORDS, atoms, same_word, squeezed, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.tables.query import Query
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
_TIMES = """today yesterday monday tuesday wednesday thursday friday saturday sunday weekend weekday
week morning evening night spring summer autumn winter decade century ago recent last previous next
current"""
TIMES = {stem(one) for one in (*_TIMES.split(), *MONTHS) if one not in {"may", "sept"}}
MAY = re.compile(r"\b(?:in|before|after|since|until|during|of|from|to|and|by|for|between) (May)\b")
RULE = re.compile(r"\s*(?:if|consider|assume|note|treat|suppose)\b", re.IGNORECASE)
"""Sentences that say how to do what the others ask for."""
STEMMED_FILLER = frozenset(stem(one) for one in FILLER)


def doubt_of(
    asked: Asked, resolved: Iterable[Resolved], also: Iterable[tuple[int, int]] = ()
) -> float:
    """Share of the question's content words that nothing accounts for, and the columns' own."""
    words, question = content_words(asked), asked.text[: asked.question]
    spans = spans_of(asked.mentions, asked.said, asked.clauses, asked.groups)
    spans += [*asked.options.understood, *(asked.derived.spans if asked.derived else ()), *also]

    def known(at: int) -> bool:
        return any(low <= at < high for low, high in spans)

    # The one month that is a common word too.
    if not words or any(not known(match.start(1)) for match in MAY.finditer(question)):
        return 1.0
    resolved = list(resolved)
    columns = {one.column for one in resolved}
    names = _names(asked, columns)
    open_words = [
        text
        for start, text in words
        if not known(start) and not any(same_word(stem(text), one) for one in names)
    ]
    share = len(open_words) / len(words)
    for match in QUOTED.finditer(question):  # no column, no value and no part of another name
        quoted = {stem(one.text) for one in atoms(match[1] or match[2])}
        share += QUOTED_NOTHING * (not known(match.start() + 1) and not quoted <= names)
    others = {  # words of the columns of numbers that the reading does not use
        stem(atom.text)
        for one in asked.table.table.columns
        if one.type in NUMERIC and one.name not in columns and not is_a_label(asked, one.name)
        for atom in atoms(one.name)
    }
    for text in open_words:
        share += DROPPED_CONDITION * (text.isdigit() or stem(text) in TIMES)
        share += OTHER_COLUMN * (stem(text) in others)
    share += DROPPED_GROUP * _group_unknown(asked)
    there = {
        one.resolved.column
        for one in asked.mentions
        if one.resolved.score >= SURE and not asked.in_question(one.start)
    }
    if columns and columns <= there:
        share *= RESTATED
    least = min((one.score for one in resolved), default=1.0)
    return round(min(1.0, share + UNSURE_COLUMN * (1 - least)), 3)


def _group_unknown(asked: Asked) -> bool:
    """`for each ...` of something that is no column."""
    known = spans_of(asked.groups)
    if any(one.kind in {"mean", "median"} for one in asked.said):
        # `per order` is each row where a row is an order.
        for one in asked.mentions:
            profile = asked.table.profile.column(one.resolved.column)
            if profile is not None and (profile.key or 0 < profile.rows == profile.distinct):
                known.append((one.start - len("per each "), one.end))
    keys = "".join(squeezed(one.key.column) for one in asked.groups)
    for match in EACH.finditer(asked.text[: asked.question]):
        covered = any(low <= match.start() < high for low, high in known)
        word = match[1].lower()
        told = stem(word) in GROUP_WORDS and asked.groups
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
        and (
            stem(one.text) not in STEMMED_FILLER
            or any(said.start <= one.start < said.end for said in asked.said)
        )
    ]


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
    made_of = set(asked.derived.columns) if asked.derived is not None else set()
    used = set(columns_used(query)) | made_of
    named = [one for one in asked.mentions if not _calls_rows(asked, one, query)]
    if any(one.resolved.column not in used for one in named):
        return True
    # `the sum of A by B` is no sum of B.
    by = {one.column for one in query.group_by} | {one.by for one in query.order} | made_of
    after = cued(asked.text[: asked.question], asked.mentions)
    if any(one in named and one.resolved.column not in by for one in after):
        return True
    return _drops_a_value(asked, query)


def _calls_rows(asked: Asked, mention: Mention, query: Query) -> bool:
    """`products` of a column `product`, `orders` of a key: what the rows are called."""
    column = mention.resolved.column
    profile = asked.table.profile.column(column)
    if profile is not None and profile.key and profile.distinct == profile.rows:
        return True
    written = asked.text[mention.start : mention.end]
    plural = written.lower().endswith("s") and not column.lower().endswith("s")
    of = OF_ROWS.search(asked.text[: mention.start]) is not None
    return plural and of and not asked.is_number(column) and not query.group_by


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
    conditions = [*query.where, *query.having]
    for measure in query.measures:
        conditions += measure.where
        for term in filter(None, (measure.of, measure.other)):
            others = (term.column, term.other, *(other for _, other in term.rest))
            yield from (one for one in others if isinstance(one, str))
    for one in conditions:
        filters = one.filters if isinstance(one, AnyOf) else (one,)
        yield from (each.column for each in filters)
