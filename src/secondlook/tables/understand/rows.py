"""Questions about the rows of a table: every family drafts, one model ranks, few are kept."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from secondlook.errors import TableError
from secondlook.tables.query import Order
from secondlook.tables.resolver import Resolved
from secondlook.tables.understand.drafts import (
    Draft,
    Parsed,
    features,
    of_nothing,
    places_of,
    score,
    shares,
)
from secondlook.tables.understand.families import counting_drafts, superlative_drafts, yes_no_drafts
from secondlook.tables.understand.readings import Output, Reading
from secondlook.tables.understand.sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from secondlook.answer import ResolvedHow, Scalar
    from secondlook.tables.query import Computed, Query
    from secondlook.tables.resolver import AskedTable, Resolver
    from secondlook.tables.understand.readings import Wanted

# Questions for a cell: `who won in 1995`, `what was the score of the final`.


def lookup_drafts(parsed: Parsed) -> Iterator[Draft]:
    """Every column that may be asked for, of the rows that meet the conditions."""
    word = parsed.wh[0] if parsed.wh else "none"
    for conditions in parsed.sets:
        equal = {choice.column for choice in conditions.choices if not choice.negated}
        where = f" where {conditions.said}" if conditions.choices else ""
        for target in parsed.targets:
            name = target.column.name
            if name in equal and len(conditions.choices) <= 1:
                continue
            kind = "number" if target.column.kind == "number" else "other"
            traits: tuple[str, ...] = (f"lookup:{word}:{kind}",)
            traits += () if conditions.choices else ("lookup:all_rows",)
            query = parsed.query(where=conditions.conditions, select=(name,), distinct=True)
            said, used = f"{name}{where}", places_of(target.used, conditions.used, parsed.asking)
            yield Draft("lookup", "lookups", query, said, used, "list", conditions, target, traits)


# Questions for the row next to another one: `who came after b`, `the previous venue`.

_CLOSELY = "(?:directly |immediately |right |just )?"
_AFTER = re.compile(
    rf"\b(?:{_CLOSELY}(?:after|below|following|behind|succeeded|follows|followed|beneath|under)"
    r"|next(?: \w+)?(?: (?:after|to|from))?)\b"
)
_BEFORE = re.compile(
    rf"\b{_CLOSELY}(?:before|above|preceding|preceded|precedes|ahead of|over|prior to"
    r"|previous(?: to)?)\b"
)
_LISTED = re.compile(
    r"\b(?:listed|list|table|chart|row|comes?|came|ranked|rank|above|below|shown)\b"
)
MOST_SETS = 8
MOST_TARGETS = 4


def neighbour_drafts(parsed: Parsed) -> Iterator[Draft]:
    listed = "listed" if parsed.asked.search(_LISTED) else "told"
    dates = [one for one in parsed.asked.table.columns if one.kind in {"year", "date"}][:1]
    for side, pattern in (("after", _AFTER), ("before", _BEFORE)):
        used = parsed.asked.search(pattern)
        for conditions in parsed.sets[:MOST_SETS] if used else ():
            choices = conditions.choices
            names_rows = (one.equality or one.source in {"year", "equal"} for one in choices)
            if not used or not choices or not all(names_rows):
                continue
            anchored = "anchored" if min(conditions.used) > min(used) else "loose"
            columns = {choice.column for choice in choices}
            ways = product(parsed.targets[:MOST_TARGETS], (None, *dates))
            for target, by in ways:
                name, sort = target.column.name, "date" if by else "place"
                order = (Order(by=by.name, transform=by.transform),) if by else ()
                where, same = conditions.conditions, "same" if name in columns else "other"
                query = parsed.query(where=where, select=(name,), order=order, neighbour=side)
                said = f"{name} of the row {side} the one where {conditions.said}"
                said += f", by {by.name}" if by else ""
                places = places_of(used, parsed.asking, conditions.used, target.used)
                told = (anchored, same, len(choices), f"by:{sort}", f"by:{sort}:{listed}")
                traits = tuple(f"neighbour:{one}" for one in told)
                made = Draft("neighbour", "neighbours", query, said, places, "list")
                yield replace(made, conditions=conditions, target=target, traits=traits)


# All drafts of a question, ranked by one model; few are kept.

FAMILIES = (lookup_drafts, counting_drafts, superlative_drafts, neighbour_drafts, yes_no_drafts)
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

    def mentioned(one: Parsed) -> int:
        """How much of the question names something in the table."""
        columns = {place for each in one.asked.mentions[:3] for place in each.places}
        return len(one.sets[0].used | columns)

    parsed = sorted(parsed, key=lambda one: -mentioned(one))[:MOST_TABLES]
    if not parsed or len(parsed[0].asked.words) > LONGEST_QUESTION:
        return []
    ranked: list[Ranked] = []
    for each in parsed:
        few = each.asked.table.asked.table.rows > MANY_ROWS
        ranked += ranked_drafts(each, most=FEW_COMPUTED if few else MOST_COMPUTED)
    scores = [score(of_nothing(parsed[0])), *(score(one.features) for one in ranked)]
    # One reading for each thing that drafts come to: those that agree stand for each other.
    together: dict[object, float] = defaultdict(float)
    best: dict[object, tuple[float, Ranked]] = {}
    for one, likelihood in zip(ranked, shares(scores)[1:], strict=True):
        key = one.outcome if one.outcome is not None else id(one)
        together[key] += likelihood
        if key not in best or likelihood > best[key][0]:
            best[key] = (likelihood, one)
    likeliest = sorted(best, key=lambda key: -together[key])[:MOST_KEPT]
    return [_reading(best[key][1], 1.0 - together[key]) for key in likeliest if key != ()]


def parse(question: str, table: AskedTable) -> Parsed:
    return Parsed(sentence(html.unescape(question), table))


def ranked_drafts(parsed: Parsed, *, most: int = MOST_COMPUTED) -> list[Ranked]:
    """What a question may mean over one table; the `most` likeliest of it is computed."""
    different: dict[tuple[object, ...], Draft] = {}
    for draft in (one for family in FAMILIES for one in family(parsed)):
        different.setdefault((draft.query, draft.more, draft.operation, draft.kind), draft)
    drafts = list(different.values())
    compute = parsed.asked.table.asked.compute
    if compute is None:
        return [Ranked(one, parsed, features(one, parsed, None), None) for one in drafts]
    drafts.sort(key=lambda one: -score(features(one, parsed, None)))
    return [
        ranked
        for draft in drafts[:most]
        if (ranked := _computed(draft, parsed, compute)) is not None
    ]


def _computed(draft: Draft, parsed: Parsed, compute: Callable[[Query], Computed]) -> Ranked | None:
    try:
        computed = [compute(query) for query in (draft.query, *draft.more)]
    except TableError:
        return None
    firsts = [one.rows[0][0] if one.rows and one.rows[0] else None for one in computed]
    numbers = [one for one in firsts if isinstance(one, int | float)]
    outcome: Outcome = tuple(row[0] for row in computed[0].rows if row[0] is not None)
    if draft.operation == "exists":
        outcome = (bool(computed[0].rows),)
    elif draft.operation == "difference" and len(numbers) > 1:
        first, second = numbers
        if first < second:  # told from the larger to the smaller
            draft = replace(draft, query=draft.more[0], more=(draft.query,))
        outcome = (abs(first - second),)
    elif draft.operation == "difference":
        outcome = ()
    return Ranked(draft, parsed, features(draft, parsed, computed[0]), outcome)


def _reading(one: Ranked, doubt: float) -> Reading:
    draft = one.draft
    single = one.outcome is not None and len(one.outcome) == 1
    outputs: tuple[Output, ...] = ()
    if draft.query.group_by:
        measure = draft.query.group_by[0].column
        outputs = (Output(name="answer", measure=measure, every=None if single else "list"),)
    # The columns it uses, with the words of the question that mean them.
    words, table = one.parsed.asked.words, one.parsed.asked.table.asked.table.id
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
    return Reading(
        query=draft.query,
        said=draft.said,
        doubt=min(1.0, max(0.0, doubt)),
        unplaced=tuple(
            words[place].text for place in sorted(one.parsed.asked.content - draft.used)
        ),
        resolved=tuple(found.values()),
        family=draft.family,
        answer="value" if single and draft.answer == "list" else draft.answer,
        outputs=outputs,
        more=draft.more,
        operation=draft.operation,
    )


_HOW: dict[str, tuple[ResolvedHow, float]] = {
    "exact": ("exact", 1.0), "part": ("fuzzy", 0.8), "kin": ("fuzzy", 0.6),
    "near": ("meaning", 0.5),
}  # fmt: skip
