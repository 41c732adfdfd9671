"""What a question wants when it gives no names: its statistics, each with its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import columns_of
from secondlook.tables.asking.lexicon import Said
from secondlook.tables.asking.planning import PAIRED, Plan, statistic_of
from secondlook.tables.asking.targets import (
    by_phrase,
    is_a_label,
    numeric_targets,
    of_derived,
    of_mention,
    targets,
)

if TYPE_CHECKING:
    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.lexicon import Kind
    from secondlook.tables.asking.targets import Target
    from secondlook.tables.resolving.port import Mention

ANY_COLUMN: frozenset[Kind] = frozenset(
    {"missing", "missing_share", "distinct", "mode", "min", "max"}
)
"""What can be told of a column that holds no numbers."""
OVERRULED: frozenset[Kind] = frozenset({"min", "max", "count", "sum", "mean", "share"})
"""Words that are no statistic of their own beside a correlation or outliers."""


HAVING = re.compile(r"\b(?:have|has|had|having|with|whose|where)\b", re.IGNORECASE)
OF_THE = re.compile(r"\s*(?:of )?(?:the )?(?:all )?[\"'\u201c]?", re.IGNORECASE)
BESIDE = re.compile(
    r"[\"'\u201d)]?(?:\s*columns?)?\s*(?:,|and|&|or|as well as|to|/|,\s*and)?\s*(?:of )?"
    r"(?:the )?(?:column )?[(\"'\u201c]?",
    re.IGNORECASE,
)
"""Between two columns of one statistic; anything else makes the second a condition."""
THAN_A_MEASURE = re.compile(
    r"\b(?:above|below|over|under|than|exceed\w*|equal to|beyond)\s+(?:or equal to )?"
    r"(?:the |its |an? )?"
    r"(?:overall |total )?(?:average|mean|median|maximum|minimum|mode|standard|sum|total)\b",
    re.IGNORECASE,
)
"""A condition that takes a computation of its own."""
NAMES_A_THING = re.compile(
    r"\s*(?:(?:from|in|at|on) )?(?:which|who|whom|where|when)\b", re.IGNORECASE
)
"""Asks for what has the most, not how much it is."""


def plain_plans(asked: Asked) -> list[Plan]:
    if THAN_A_MEASURE.search(asked.text[: asked.question]):
        return []
    said = _joined([one for one in asked.said if asked.in_question(one.start)])
    kinds = {one.kind for one in said}
    if kinds & {"correlation", "covariance"}:
        return _of_pair(asked, [one for one in said if one.kind not in OVERRULED])
    if kinds and kinds <= {"min", "max"} and NAMES_A_THING.match(asked.text):
        return []
    said = _not_overruled(said)
    made = of_derived(asked)
    if made is not None:
        return [Plan(one.kind, (made,), at=one.at) for one in said if one.kind not in PAIRED]
    return _of_trend(asked) if "slope" in kinds else _by_segments(asked, said)


def _not_overruled(said: list[Said]) -> list[Said]:
    """`the number of outliers` is no count of rows."""
    kinds = {one.kind for one in said}
    if kinds & {"outliers", "missing", "missing_share"}:
        return [one for one in said if one.kind not in OVERRULED]
    return [one for one in said if one.kind == "share"] if "share" in kinds else said


def _by_segments(asked: Asked, said: list[Said]) -> list[Plan]:
    """Nothing where one of the statistics has no column, or a column no place beside another."""
    if _stands_apart(asked, said):
        return []
    plans = [
        _plan(asked, one, column)
        for statistics, columns in _segments(asked, said)
        for column in _or_none(columns)
        for one in statistics
    ]
    return [plan for plan in plans if plan is not None] if all(plans) else []


def _or_none(columns: list[Target]) -> list[Target | None]:
    return [*columns] if columns else [None]


def _joined(said: list[Said]) -> list[Said]:
    """`what percentage of X is missing` names one statistic with two words."""
    kinds = {one.kind for one in said}
    if not {"share", "missing"} <= kinds:
        return said
    rest = [one for one in said if one.kind not in {"share", "missing"}]
    first = next(one for one in said if one.kind in {"share", "missing"})
    return [replace(first, kind="missing_share"), *rest]


def _plan(asked: Asked, said: Said, target: Target | None) -> Plan | None:
    if said.kind == "count" and re.search(r"\bcolumns\b", asked.text[: asked.question]):
        return None
    if said.kind == "count":
        return _count(asked, said, target)
    if said.kind == "share":
        return share_of_rows(asked)
    if target is None or statistic_of(asked, said.kind) in PAIRED:
        return None
    return Plan(said.kind, (target,), at=said.at)


def _count(asked: Asked, said: Said, target: Target | None) -> Plan | None:
    """Rows; but of a column of amounts (`how many units`) their sum, and of one of names that
    repeat (`how many regions`) the different ones."""
    if target is not None and not is_a_label(asked, target.term.column):
        return Plan("sum", (target,)) if _of_what_follows(asked, said, target) else None
    named = _counted(asked, said)
    if named is None:
        return Plan("count", ())
    # Of chosen rows it may mean either.
    return None if asked.clauses else Plan("distinct", (of_mention(asked, named.resolved),))


def _of_what_follows(asked: Asked, said: Said, target: Target) -> bool:
    """`how many products have a price` does not count the price."""
    first = next((one for one in asked.mentions if one.start >= said.end), None)
    if first is None or first.resolved.column != target.term.column:
        return first is None
    return HAVING.search(asked.text[said.end : first.start]) is None


def _counted(asked: Asked, said: Said) -> Mention | None:
    """The column right after the count, where its values repeat and are no numbers."""
    for one in asked.mentions:
        profile = asked.table.profile.column(one.resolved.column)
        between = asked.text[said.end : one.start] if one.start >= said.end else "?"
        away = {each.key.column for each in asked.groups}
        away |= {column for clause in asked.clauses for column in columns_of(clause)}
        if OF_THE.fullmatch(between) and profile and one.resolved.column not in away:
            repeats = profile.distinct < profile.rows
            return one if repeats and not asked.is_number(one.resolved.column) else None
    return None


def share_of_rows(asked: Asked) -> Plan | None:
    """Of all rows, those that meet the one condition of the question."""
    if len(asked.clauses) != 1:
        return None
    (one,) = asked.clauses
    return Plan("share", (), (one.condition,), said=one.said)


def _segments(asked: Asked, said: list[Said]) -> list[tuple[list[Said], list[Target]]]:
    """Statistics with the columns that follow them: `mean and median of A, and the sum of B`."""
    away = {one.key.column for one in asked.groups}
    columns = [
        one
        for one in asked.mentions
        if asked.in_question(one.start) and one.resolved.column not in away
    ]
    segments: list[tuple[list[Said], list[Target]]] = []
    before: list[Target] = []
    events: list[Said | Mention] = [*said, *columns]
    for one in sorted(events, key=_start):
        if isinstance(one, Said):
            if not segments or segments[-1][1]:
                segments.append(([], []))
            segments[-1][0].append(one)
            continue
        kinds = {each.kind for each in segments[-1][0]} if segments else set()
        target = _target(asked, one, kinds)
        if target is not None:
            (segments[-1][1] if segments else before).append(target)
    if segments and not segments[-1][1]:
        segments[-1][1].extend(before or ([] if asked.clauses else by_phrase(asked)))
    return segments


def _stands_apart(asked: Asked, said: list[Said]) -> bool:
    """`the mean of units for orders with a discount` is no mean of the discount."""
    away = {one.key.column for one in asked.groups}
    away |= {column for clause in asked.clauses for column in columns_of(clause)}
    columns = [
        one
        for one in asked.mentions
        if asked.is_number(one.resolved.column) and one.resolved.column not in away
    ]
    return any(
        one.resolved.column != other.resolved.column
        and not any(one.end <= each.start < other.end for each in said)
        and BESIDE.fullmatch(asked.text[one.end : other.start]) is None
        for one, other in pairwise(columns)
    )


def _start(one: Said | Mention) -> int:
    return one.start


def _target(asked: Asked, mention: Mention, kinds: set[Kind]) -> Target | None:
    free = numeric_targets(asked, [mention])
    if free:
        return free[0]
    return of_mention(asked, mention.resolved) if kinds and kinds <= ANY_COLUMN else None


def _of_pair(asked: Asked, said: list[Said]) -> list[Plan]:
    both = targets(asked, 2)
    if len(both) != 2:  # noqa: PLR2004
        return []
    kinds = dict.fromkeys(one.kind for one in said if one.kind != "count")
    return [Plan(kind, tuple(both)) for kind in kinds if statistic_of(asked, kind) in PAIRED]


def _of_trend(asked: Asked) -> list[Plan]:
    from secondlook.tables.asking.grouping import the_date
    from secondlook.tables.resolving.port import Resolved

    column, dated = targets(asked, 1), the_date(asked.table)
    if not column or dated is None:
        return []
    time = of_mention(asked, Resolved(dated, asked.table.table.id, dated, 1.0, "exact"))
    return [Plan("slope", (column[0], time))]
