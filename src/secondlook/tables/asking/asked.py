"""A question taken apart once: columns, statistics, options, groups, conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.choosing import Chosen, chosen_rows, spells_numbers
from secondlook.tables.asking.deriving import derived_in
from secondlook.tables.asking.filters import conditions
from secondlook.tables.asking.grouping import groups_in, intervals_in
from secondlook.tables.asking.lexicon import statistics_in
from secondlook.tables.asking.options import options, spans_of
from secondlook.tables.asking.wanted import parts
from secondlook.tables.query import AnyOf, Filter
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.deriving import Derived
    from secondlook.tables.asking.grouping import Group, Interval
    from secondlook.tables.asking.lexicon import Said
    from secondlook.tables.asking.options import Options
    from secondlook.tables.asking.port import AskedTable, Wanted
    from secondlook.tables.resolving import Resolver
    from secondlook.tables.resolving.port import Mention

NUMBERED = re.compile(r"^\s*(?:question\s*)?\d+\s*[.:)]\s+", re.IGNORECASE)
FIRST_DATE = 10_000
"""As a number, year * 10000 + month * 100 + day: less has no year."""
SURE = 0.97
"""A mention by the column's own name, up to case and signs."""


@dataclass(frozen=True, slots=True)
class Asked:
    table: AskedTable
    resolver: Resolver
    """Over this table alone."""
    text: str
    """Without the form that its values are wanted in."""
    question: int
    """Where the question itself ends and what is said about it begins."""
    mentions: tuple[Mention, ...]
    said: tuple[Said, ...]
    options: Options
    derived: Derived | None
    groups: tuple[Group, ...]
    intervals: tuple[Interval, ...]
    clauses: tuple[Chosen, ...]
    wanted: Wanted

    def is_number(self, column: str) -> bool:
        kind = next((one.type for one in self.table.table.columns if one.name == column), None)
        return (
            kind in NUMERIC
            or kind == "time"
            or (kind == "text" and spells_numbers(self.table, column))
        )

    def in_question(self, at: int) -> bool:
        return at < self.question


def take_apart(question: str, table: AskedTable, wanted: Wanted, resolver: Resolver) -> Asked:
    cut = parts(question)
    text = NUMBERED.sub(lambda one: " " * len(one[0]), cut.body)
    end = _end_of_question(text, has_form=bool(cut.form))
    alone = resolver if len(resolver.tables) == 1 else resolver.only(table)
    mentions = tuple(alone.mentions(text))
    derived = derived_in(text, mentions)
    intervals = tuple(intervals_in(text))
    made_of = derived.columns if derived else ()
    groups = tuple(one for one in groups_in(text, mentions, table) if one.key.column not in made_of)
    spans = spans_of(mentions)
    covered = [*(derived.spans if derived else ()), *spans_of(intervals)]
    clauses = chosen_rows(text, end, table, mentions, alone, covered)
    if not cut.form and "\n" not in text.strip():
        known = [*covered, *spans, *spans_of(clauses, groups)]
        clauses += _dated(text, table, known)
    return Asked(
        table=table,
        resolver=alone,
        text=text,
        question=end,
        mentions=mentions,
        said=tuple(statistics_in(text, spans)),
        options=options(text),
        derived=derived,
        groups=groups,
        intervals=intervals,
        clauses=tuple(clauses),
        wanted=wanted,
    )


def _dated(question: str, table: AskedTable, known: Sequence[tuple[int, int]]) -> list[Chosen]:
    """Conditions on dates, as questions about rows have them: `after March 2023`."""
    dates = {one.name for one in table.table.columns if one.type in TEMPORAL}
    return [
        Chosen(one.start, one.end, one.condition, one.said)
        for one in (conditions(question, [table]) if dates else ())
        if isinstance(one.condition, Filter)
        and one.condition.column in dates
        and not _without_a_year(one.condition)
        and all(one.end <= low or one.start >= high for low, high in known)
    ]


def _without_a_year(condition: Filter) -> bool:
    """`before May` of which year?"""
    value, signs = condition.value, {"<", "<=", ">", ">="}
    dated = condition.transform == "date" and isinstance(value, int | float)
    return dated and condition.comparison in signs and value < FIRST_DATE  # type: ignore[operator]


def _end_of_question(text: str, *, has_form: bool) -> int:
    """What a form is wanted for says its conditions in further lines."""
    lead = len(text) - len(text.lstrip())
    line = text.find("\n", lead)
    return line if has_form and line > 0 else len(text)


def columns_of(clause: Chosen) -> set[str]:
    if isinstance(clause.condition, AnyOf):
        return {one.column for one in clause.condition.filters}
    return {clause.condition.column}
