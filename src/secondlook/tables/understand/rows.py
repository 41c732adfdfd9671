"""Questions about the rows of a table: every family drafts, one model ranks, few are kept."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.errors import TableError
from secondlook.tables.query import Comparison, Filter, Key, Measure, Order, Query, Term
from secondlook.tables.resolver import Resolved
from secondlook.tables.understand import counting, superlatives
from secondlook.tables.understand.drafts import (
    Draft,
    Parsed,
    Target,
    features,
    of_nothing,
    places_of,
    score,
    shares,
)
from secondlook.tables.understand.filters import slots
from secondlook.tables.understand.readings import Output, Reading
from secondlook.tables.understand.sentence import NUMBER_WORDS, index, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from secondlook.answer import ResolvedHow, Scalar
    from secondlook.tables.query import Computed
    from secondlook.tables.resolver import AskedTable, Resolver
    from secondlook.tables.understand.filters import Choice, ConditionSet
    from secondlook.tables.understand.readings import Wanted
    from secondlook.tables.understand.sentence import ColumnFacts

# Questions for a cell: `who won in 1995`, `what was the score of the final`.

_YEAR = re.compile(r"\b(?:what|which) years?\b|\byear\b")


def drafts(parsed: Parsed) -> list[Draft]:
    """Every column that may be asked for, of the rows that meet the conditions."""
    wh = frozenset[int]() if parsed.wh is None else parsed.wh[1]
    found = [
        _draft(parsed, target, conditions, wh)
        for conditions in parsed.sets
        for target in parsed.targets
        if target.column.name
        not in {choice.column for choice in conditions.choices if not choice.negated}
        or len(conditions.choices) > 1
    ]
    return found + (_years(parsed) if parsed.asked.search(_YEAR) else [])


def _years(parsed: Parsed) -> list[Draft]:
    """The year alone of a date."""
    return [
        Draft(
            kind="year",
            family="lookups",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                measures=(
                    Measure(
                        name="year",
                        statistic="min",
                        of=Term(column=column.name, transform="year"),
                    ),
                ),
            ),
            said=f"year of {column.name} where {conditions.said}",
            used=places_of(conditions.used, parsed.asked.search(_YEAR)),
            answer="value",
            conditions=conditions,
            target=Target(column, frozenset(), "kind"),
        )
        for conditions in parsed.sets
        if conditions.choices
        for column in parsed.asked.table.columns
        if column.kind == "date" or (column.kind == "year" and not column.typed)
    ]


def _draft(parsed: Parsed, target: Target, conditions: ConditionSet, wh: frozenset[int]) -> Draft:
    word = parsed.wh[0] if parsed.wh else "none"
    numeric = target.column.kind == "number"
    traits = [f"lookup:{word}:{'number' if numeric else 'other'}"]
    if not conditions.choices:
        traits.append("lookup:all_rows")
    where = f" where {conditions.said}" if conditions.choices else ""
    return Draft(
        kind="lookup",
        family="lookups",
        query=Query(
            table=parsed.table_id,
            where=conditions.conditions,
            select=(target.column.name,),
            distinct=True,
        ),
        said=f"{target.column.name}{where}",
        used=places_of(target.used, conditions.used, wh),
        answer="list",
        conditions=conditions,
        target=target,
        traits=tuple(traits),
    )


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
Side = Literal["before", "after"]


def neighbours_drafts(parsed: Parsed) -> list[Draft]:
    return [*_beside(parsed, "after", _AFTER), *_beside(parsed, "before", _BEFORE)]


def _beside(parsed: Parsed, side: Side, pattern: re.Pattern[str]) -> Iterator[Draft]:
    used = parsed.asked.search(pattern)
    if used is None:
        return
    wh = parsed.wh[1] if parsed.wh else None
    listed = parsed.asked.search(_LISTED)
    dates = [one for one in parsed.asked.table.columns if one.kind in {"year", "date"}][:1]
    for conditions in parsed.sets[:MOST_SETS]:
        if not conditions.choices or not all(map(_names_a_row, conditions.choices)):
            continue
        anchored = "anchored" if min(conditions.used) > min(used) else "loose"
        columns = {choice.column for choice in conditions.choices}
        ways = [(target, by) for target in parsed.targets[:MOST_TARGETS] for by in (None, *dates)]
        for target, by in ways:
            sort = "place" if by is None else "date"
            yield Draft(
                kind="neighbour",
                family="neighbours",
                query=Query(
                    table=parsed.table_id,
                    where=conditions.conditions,
                    select=(target.column.name,),
                    order=() if by is None else (Order(by=by.name, transform=by.transform),),
                    neighbour=side,
                ),
                said=f"{target.column.name} of the row {side} the one where {conditions.said}"
                + (f", by {by.name}" if by else ""),
                used=places_of(used, wh, conditions.used, target.used),
                answer="list",
                conditions=conditions,
                target=target,
                traits=(
                    f"neighbour:{anchored}",
                    f"neighbour:{'same' if target.column.name in columns else 'other'}",
                    f"neighbour:{len(conditions.choices)}",
                    f"neighbour:by:{sort}",
                    f"neighbour:by:{sort}:{'listed' if listed else 'told'}",
                ),
            )


def _names_a_row(choice: Choice) -> bool:
    return choice.equality or choice.source in {"year", "equal"}


# Questions that set rows beside another row, or count how often a value occurs.

_THAN: tuple[tuple[re.Pattern[str], Comparison], ...] = (
    (
        re.compile(
            r"\b(?:more|higher|larger|bigger|greater|longer|older|taller|better|later|above|over|after)\b.*\bthan\b"
        ),
        ">",
    ),
    (
        re.compile(
            r"\b(?:less|fewer|lower|smaller|shorter|younger|worse|earlier|faster|below|under)\b.*\bthan\b"
        ),
        "<",
    ),
    (re.compile(r"\b(?:same|equal|identical|tied)\b.*?\b(?:as|to|with)\b"), "="),
)
_NUMBERS = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_OFTEN: tuple[tuple[re.Pattern[str], Comparison, int | None], ...] = (
    (
        re.compile(
            r"\b(?:more than once|multiple times|more than one(?: \w+)?|several times|repeatedly)\b"
        ),
        ">",
        1,
    ),
    (re.compile(rf"\bat least (?P<n>\d+|{_NUMBERS})(?: \w+)?"), ">=", None),
    (re.compile(rf"\bmore than (?P<n>\d+|{_NUMBERS})(?: \w+)?"), ">", None),
    (
        re.compile(
            r"\b(?:only once|only one(?: \w+)?|just once|a single(?: \w+)?|exactly one(?: \w+)?)\b"
        ),
        "=",
        1,
    ),
    (re.compile(r"\b(?:twice|two times)\b"), "=", 2),
    (re.compile(rf"\b(?:only|exactly|just)? ?(?P<n>\d+|{_NUMBERS})(?: times| \w+)\b"), "=", None),
)
MOST_COLUMNS = 2


def relating_drafts(parsed: Parsed) -> list[Draft]:
    return [*_beside_another(parsed), *_often(parsed)]


def _beside_another(parsed: Parsed) -> Iterator[Draft]:
    """Rows whose number is above, below or the same as that of a named row."""
    for pattern, sign in _THAN:
        trigger = parsed.asked.search(pattern)
        if trigger is None:
            continue
        words = frozenset(
            place for place in (min(trigger), max(trigger)) if place in parsed.asked.content
        ) | {min(trigger), max(trigger)}
        for other in _others(parsed, max(trigger)):
            for column, places, how in _columns(parsed, other.column):
                value = _value_of(parsed, other, column)
                if value is None:
                    continue
                yield from _rows_beside(
                    parsed,
                    other,
                    (column, sign, value),
                    places_of(words, other.places, places),
                    how,
                )


def _others(parsed: Parsed, after: int) -> list[Choice]:
    return [
        choice
        for slot in slots(parsed.asked)
        for choice in slot.choices[:2]
        if choice.values and min(choice.places) > after - 1 and not choice.negated
    ]


def _columns(parsed: Parsed, besides: str) -> list[tuple[ColumnFacts, frozenset[int], str]]:
    found: dict[str, tuple[ColumnFacts, frozenset[int], str]] = {}
    for mention in parsed.asked.mentions:
        if mention.column.measurable and mention.column.name != besides:
            found.setdefault(mention.column.name, (mention.column, mention.places, mention.how))
    if not found:
        for column in parsed.asked.table.columns:
            if column.kind == "number" and column.name != besides:
                found[column.name] = (column, frozenset(), "any")
    return list(found.values())[:MOST_COLUMNS]


def _value_of(parsed: Parsed, row: Choice, column: ColumnFacts) -> float | None:
    """Of the named row; None where it has none or nothing can be computed yet."""
    compute = parsed.asked.table.asked.compute
    if compute is None:
        return None
    of = Term(column=column.name, transform=column.transform)
    query = Query(
        table=parsed.table_id,
        where=row.conditions,
        measures=(Measure(name="value", statistic="max", of=of),),
    )
    rows = compute(query).rows
    value = rows[0][0] if rows else None
    return float(value) if isinstance(value, int | float) else None


def _rows_beside(
    parsed: Parsed,
    other: Choice,
    compared: tuple[ColumnFacts, Comparison, float],
    used: frozenset[int],
    how: str,
) -> Iterator[Draft]:
    column, sign, value = compared
    where = (
        Filter(column=column.name, comparison=sign, value=value, transform=column.transform),
        *(
            Filter(column=other.column, comparison="!=", value=one)
            for one in (other.values if sign == "=" else ())
        ),
        *parsed.sets[-1].conditions,
    )
    said = f"where {column.name} {sign} {value:g}, that of {other.values[0]!r}"
    wh = parsed.wh[1] if parsed.wh else None
    if parsed.counting or "number of" in parsed.asked.joined:
        yield Draft(
            kind="relative_count",
            family="relating",
            query=Query(
                table=parsed.table_id,
                where=where,
                measures=(Measure(name="count", statistic="count"),),
            ),
            said=f"number of rows {said}",
            used=places_of(used, wh),
            answer="value",
            traits=(f"relative:{how}", f"relative:{sign}"),
        )
        return
    for target in parsed.targets[:3]:
        yield Draft(
            kind="relative",
            family="relating",
            query=Query(
                table=parsed.table_id, where=where, select=(target.column.name,), distinct=True
            ),
            said=f"{target.column.name} {said}",
            used=places_of(used, wh, target.used),
            answer="list",
            target=target,
            traits=(
                f"relative:{how}",
                f"relative:{sign}",
                f"relative:{'same' if target.column.name == other.column else 'else'}",
            ),
        )


def _often(parsed: Parsed) -> Iterator[Draft]:
    """Values that occur in so many rows."""
    for pattern, sign, fixed in _OFTEN:
        match = pattern.search(parsed.asked.joined)
        if match is None:
            continue
        times = (
            fixed
            if fixed is not None
            else int(NUMBER_WORDS.get(match["n"], 0) or _digits(match["n"]))
        )
        trigger = parsed.asked.places(match.start(), match.end())
        for conditions in parsed.sets[:3] + parsed.sets[-1:]:
            if conditions.used & trigger:
                continue
            for target in parsed.targets[:2]:
                if target.column.distinct < 1:
                    yield _frequency(parsed, target, conditions, (sign, times), trigger)


def _digits(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _frequency(
    parsed: Parsed,
    target: Target,
    conditions: ConditionSet,
    often: tuple[Comparison, int],
    trigger: frozenset[int],
) -> Draft:
    sign, times = often
    where = f" where {conditions.said}" if conditions.choices else ""
    return Draft(
        kind="often",
        family="relating",
        query=Query(
            table=parsed.table_id,
            where=conditions.conditions,
            group_by=(Key(column=target.column.name),),
            measures=(Measure(name="rows", statistic="count"),),
            having=(Filter(column="rows", comparison=sign, value=times),),
        ),
        said=f"{target.column.name} with {sign} {times} rows{where}",
        used=places_of(trigger, target.used, conditions.used, parsed.wh[1] if parsed.wh else None),
        answer="list",
        conditions=conditions,
        target=target,
        traits=(f"often:{sign}", f"often:{'some' if conditions.choices else 'all'}"),
    )


FAMILIES = (
    drafts,
    counting.drafts,
    superlatives.drafts,
    neighbours_drafts,
    counting.yes_no_drafts,
    relating_drafts,
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
