"""Questions about the rows of a table: every family drafts, one model ranks, few are kept."""

from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from secondlook.errors import TableError
from secondlook.tables.asking import (
    counting,
    lookups,
    neighbours,
    relating,
    superlatives,
    yes_no,
)
from secondlook.tables.asking.port import Output, Reading, Resolved
from secondlook.tables.asking.rows_drafting import Draft, Parsed
from secondlook.tables.asking.rows_features import features, of_nothing
from secondlook.tables.asking.rows_index import index
from secondlook.tables.asking.rows_ranking import score, shares
from secondlook.tables.asking.rows_sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from secondlook.answer import ResolvedHow, Scalar
    from secondlook.tables.asking.port import Wanted
    from secondlook.tables.query import Computed, Query
    from secondlook.tables.resolving import Resolver
    from secondlook.tables.resolving.port import AskedTable

FAMILIES = (
    lookups.drafts,
    counting.drafts,
    superlatives.drafts,
    neighbours.drafts,
    yes_no.drafts,
    relating.drafts,
)
MOST_COMPUTED = 24
"""Drafts of a question that are computed to see what they come to, the likeliest first."""
MANY_ROWS, FEW_COMPUTED = 50_000, 12
"""Of a table with more rows fewer are computed: each takes longer."""
MOST_KEPT = 5
MOST_TABLES = 3
LONGEST_QUESTION = 60
"""Words; a longer one is no question about single rows."""
Outcome: TypeAlias = "tuple[Scalar, ...]"


@dataclass(frozen=True)
class Ranked:
    """A draft, what speaks for it, and what it comes to."""

    draft: Draft
    parsed: Parsed
    features: Mapping[str, float]
    outcome: Outcome | None
    """None where it was not computed."""


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver | None, wanted: Wanted
) -> list[Reading]:
    """The likeliest readings of a question about rows; `doubt` is the chance that one is wrong."""
    del resolver
    if wanted.names:
        return []
    parsed = [parse(question, table) for table in tables]
    parsed = sorted(parsed, key=lambda one: -_mentioned(one))[:MOST_TABLES]
    if not parsed or len(parsed[0].asked.words) > LONGEST_QUESTION:
        return []
    ranked = [one for each in parsed for one in ranked_drafts(each, most=_most(each))]
    scores = [score(of_nothing(parsed[0])), *(score(one.features) for one in ranked)]
    return _readings(ranked, shares(scores)[1:])


def parse(question: str, table: AskedTable) -> Parsed:
    return Parsed(sentence(html.unescape(question), index(table)))


def _most(parsed: Parsed) -> int:
    rows = parsed.asked.table.asked.table.rows
    return MOST_COMPUTED if rows <= MANY_ROWS else FEW_COMPUTED


def _mentioned(parsed: Parsed) -> float:
    """How much of the question names something in the table."""
    values = parsed.sets[0].used if parsed.sets else frozenset[int]()
    columns = {place for one in parsed.asked.mentions[:3] for place in one.places}
    return len(values | columns)


def ranked_drafts(parsed: Parsed, *, most: int = MOST_COMPUTED) -> list[Ranked]:
    """What a question may mean over one table; the `most` likeliest of it is computed."""
    drafts = _different(draft for family in FAMILIES for draft in family(parsed))
    compute = parsed.asked.table.asked.compute
    if compute is None:
        return [Ranked(one, parsed, features(one, parsed, None), None) for one in drafts]
    drafts.sort(key=lambda one: -score(features(one, parsed, None)))
    return [
        ranked
        for draft in drafts[:most]
        if (ranked := _computed(draft, parsed, compute)) is not None
    ]


def _different(drafts: Iterator[Draft]) -> list[Draft]:
    found: dict[tuple[object, ...], Draft] = {}
    for draft in drafts:
        found.setdefault((draft.query, draft.more, draft.operation, draft.kind), draft)
    return list(found.values())


def _computed(draft: Draft, parsed: Parsed, compute: Callable[[Query], Computed]) -> Ranked | None:
    try:
        computed = [compute(query) for query in (draft.query, *draft.more)]
    except TableError:
        return None
    if draft.operation == "difference" and _is_less(*computed):
        draft = replace(draft, query=draft.more[0], more=(draft.query,))
    found = features(draft, parsed, computed[0])
    return Ranked(draft, parsed, found, outcome(draft, computed))


def _is_less(one: Computed, other: Computed) -> bool:
    """A difference is told from the larger to the smaller."""
    first, second = (each.rows[0][0] if each.rows else None for each in (one, other))
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return numbers and first < second  # type: ignore[operator]


def outcome(draft: Draft, computed: Sequence[Computed]) -> Outcome:
    """The values that a draft comes to."""
    firsts = [one.rows[0][0] if one.rows and one.rows[0] else None for one in computed]
    if draft.operation == "exists":
        return (bool(computed[0].rows),)
    if draft.operation is not None:
        numbers = [one for one in firsts if isinstance(one, int | float)]
        if len(numbers) < len(firsts):
            return ()
        return (_operated(draft.operation, numbers[0], numbers[1]),)
    return tuple(row[0] for row in computed[0].rows if row[0] is not None)


def _operated(operation: str, first: float, second: float) -> float | bool:
    if operation == "difference":
        return abs(first - second)
    return first > second if operation == "greater" else first < second


def _readings(ranked: Sequence[Ranked], likelihoods: Sequence[float]) -> list[Reading]:
    """One for each thing that drafts come to: those that agree stand for each other."""
    together: dict[object, float] = defaultdict(float)
    best: dict[object, tuple[float, Ranked]] = {}
    for one, likelihood in zip(ranked, likelihoods, strict=True):
        key = one.outcome if one.outcome is not None else id(one)
        together[key] += likelihood
        if key not in best or likelihood > best[key][0]:
            best[key] = (likelihood, one)
    likeliest = sorted(best, key=lambda key: -together[key])[:MOST_KEPT]
    return [_reading(best[key][1], 1.0 - together[key]) for key in likeliest if key != ()]


def _reading(one: Ranked, doubt: float) -> Reading:
    draft = one.draft
    single = one.outcome is not None and len(one.outcome) == 1
    outputs: tuple[Output, ...] = ()
    if draft.query.group_by:
        measure = draft.query.group_by[0].column
        outputs = (Output(name="answer", measure=measure, every=None if single else "list"),)
    return Reading(
        query=draft.query,
        said=draft.said,
        doubt=min(1.0, max(0.0, doubt)),
        resolved=_resolved(one),
        family=draft.family,
        answer="value" if single and draft.answer == "list" else draft.answer,
        outputs=outputs,
        more=draft.more,
        operation=draft.operation,
    )


_HOW: dict[str, tuple[ResolvedHow, float]] = {
    "exact": ("exact", 1.0),
    "part": ("fuzzy", 0.8),
    "kin": ("fuzzy", 0.6),
    "near": ("meaning", 0.5),
}


def _resolved(one: Ranked) -> tuple[Resolved, ...]:
    """The columns it uses, with the words of the question that mean them."""
    words, table = one.parsed.asked.words, one.parsed.table_id
    found: dict[str, Resolved] = {}
    target = one.draft.target
    if target is not None:
        how, sure = _HOW.get(target.how, ("meaning", 0.3))
        asked = " ".join(words[place].text for place in sorted(target.used))
        found[target.column.name] = Resolved(asked, table, target.column.name, sure, how)
    for choice in one.draft.conditions.choices:
        asked = " ".join(words[place].text for place in sorted(choice.places))
        sure = 1.0 if choice.source == "exact" or choice.cued else 0.6
        found.setdefault(choice.column, Resolved(asked, table, choice.column, sure, "value"))
    return tuple(found.values())
