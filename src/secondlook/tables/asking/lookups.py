"""Questions for a cell: `who won in 1995`, `what was the score of the final`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.rows_drafting import Draft, Parsed, Target, places_of
from secondlook.tables.query import Measure, Query, Term

if TYPE_CHECKING:
    from secondlook.tables.asking.filters import ConditionSet


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
