"""Questions for a number of rows: how many, in total, on average, and differences of two rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.rows_drafting import Draft, Parsed, Target, places_of
from secondlook.tables.query import Filter, Measure, Query, Statistic, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.asking.filters import ConditionSet
    from secondlook.tables.asking.filters_slots import Choice

HOW_MANY = re.compile(
    r"\b(?:how many(?: total| different)?(?: number of)?|(?:what (?:is|was|are|were) )?(?:the )?"
    r"(?:total )?(?:number|amount|count) of|how many times|how often)\b"
)
TOTAL = re.compile(r"\b(?:total|combined|altogether|in all|sum|add(?:ed)?(?: up)?|overall)\b")
MEAN = re.compile(r"\b(?:average|mean|on average)\b")
DIFFERENT = re.compile(r"\b(?:different|unique|distinct|separate)\b")
TIMES = re.compile(r"\b(?:how many times|how often|number of times)\b")
_MORE = "more|less|fewer|longer|older|taller|higher|larger|bigger|greater"
DIFFERENCE = re.compile(rf"\b(?:difference|how (?:many|much) (?:\w+ ){{0,3}}?(?:{_MORE}))\b")
BETWEEN = re.compile(r"\b(?:how (?:many years|long)|number of years|years|time)\b.*\bbetween\b")


def drafts(parsed: Parsed) -> list[Draft]:
    counted = parsed.asked.search(HOW_MANY)
    total = parsed.asked.search(TOTAL)
    mean = parsed.asked.search(MEAN)
    found: list[Draft] = []
    for conditions in parsed.sets:
        if counted:
            found += _counts(parsed, conditions, places_of(counted, total), total=bool(total))
        if total or counted:
            found += _totals(
                parsed, conditions, places_of(counted, total), "sum", total=bool(total)
            )
        if mean:
            found += _totals(
                parsed, conditions, places_of(counted, mean), "mean", total=bool(total)
            )
    found += _differences(parsed)
    return found


def _counts(
    parsed: Parsed, conditions: ConditionSet, used: frozenset[int], *, total: bool
) -> Iterator[Draft]:
    where = f" where {conditions.said}" if conditions.choices else ""
    different = parsed.asked.search(DIFFERENT)
    times = parsed.asked.search(TIMES)
    noun = _noun_target(parsed)
    traits = ["count"]
    traits += ["count:different"] if different else []
    traits += ["count:times"] if times else []
    traits += ["count:total"] if total else []
    traits += [] if conditions.choices else ["count:all_rows"]
    traits += _noun_traits(parsed, noun)
    yield Draft(
        kind="count",
        family="counting",
        query=Query(
            table=parsed.table_id,
            where=conditions.conditions,
            measures=(Measure(name="count", statistic="count", of=_counted(noun)),),
        ),
        said=f"number of {noun.column.name if _counted(noun) and noun else 'rows'}{where}",
        used=places_of(used, conditions.used, noun.used if noun else None, times),
        answer="value",
        conditions=conditions,
        target=noun,
        traits=tuple(traits),
    )
    for target in [*parsed.targets[:2]]:
        if target.column.kind == "number" and target.column.distinct == 1:
            continue
        yield Draft(
            kind="distinct",
            family="counting",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                measures=(
                    Measure(name="count", statistic="distinct", of=Term(column=target.column.name)),
                ),
            ),
            said=f"number of different {target.column.name}{where}",
            used=places_of(used, conditions.used, target.used, different),
            answer="value",
            conditions=conditions,
            target=target,
            traits=tuple(f"distinct:{'asked' if different else 'unasked'}" for _ in (0,)),
        )


def _counted(noun: Target | None) -> Term | None:
    """A column with gaps is counted itself: a row without it is none of what is counted."""
    if noun is None or not 0 < noun.column.missing < 0.5:  # noqa: PLR2004
        return None
    return Term(column=noun.column.name)


def _noun_target(parsed: Parsed) -> Target | None:
    """What is counted, where it is named like a column or like what rows are about."""
    for target in parsed.targets:
        if target.how in {"exact", "part", "kin", "near", "subject"} and target.distance <= 1:
            return target
    return None


def _noun_traits(parsed: Parsed, noun: Target | None) -> list[str]:
    if noun is None:
        return ["counted:none"]
    number = "number" if noun.column.kind == "number" else "other"
    key = "key" if noun.column.distinct > 0.95 else "repeated"  # noqa: PLR2004
    del parsed
    return [f"counted:{noun.how}:{number}", f"counted:{number}:{key}"]


def _totals(
    parsed: Parsed,
    conditions: ConditionSet,
    used: frozenset[int],
    statistic: Statistic,
    *,
    total: bool,
) -> Iterator[Draft]:
    where = f" where {conditions.said}" if conditions.choices else ""
    columns = {mention.column.name: mention for mention in reversed(parsed.asked.mentions)}
    ranked = sorted(columns.values(), key=lambda mention: -mention.score)
    for mention in [one for one in ranked if one.column.kind == "number"][:3]:
        column = mention.column
        yield Draft(
            kind=statistic,
            family="counting",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                measures=(
                    Measure(
                        name=statistic,
                        statistic=statistic,
                        of=Term(column=column.name, transform=column.transform),
                    ),
                ),
            ),
            said=f"{statistic} of {column.name}{where}",
            used=places_of(used, conditions.used, mention.places),
            answer="value",
            conditions=conditions,
            target=Target(column, mention.places, mention.how),
            traits=(
                f"{statistic}:{'total' if total else 'plain'}",
                f"{statistic}:{'some' if conditions.choices else 'all'}",
                f"{statistic}:{'label' if column.typed and column.distinct == 1 else 'amount'}",
            ),
        )


def _differences(parsed: Parsed) -> Iterator[Draft]:
    """Between the cells of two rows: `how many more points did a have than b`."""
    trigger = parsed.asked.search(DIFFERENCE) or parsed.asked.search(BETWEEN)
    if trigger is None:
        return
    pair = _pair(parsed)
    if pair is None:
        return
    one, other, rest = pair
    columns = [*parsed.asked.mentions]
    seen: set[str] = set()
    for mention in sorted(columns, key=lambda m: -m.score):
        column = mention.column
        if not column.measurable or column.name in seen or column.name == one.column:
            continue
        seen.add(column.name)
        queries = [
            Query(
                table=parsed.table_id,
                where=(Filter(column=one.column, comparison="=", value=value), *rest.conditions),
                measures=(
                    Measure(
                        name="value",
                        statistic="max",
                        of=Term(column=column.name, transform=column.transform),
                    ),
                ),
            )
            for value in (one.values[0], other.values[0])
        ]
        yield Draft(
            kind="difference",
            family="counting",
            query=queries[0],
            more=(queries[1],),
            operation="difference",
            said=f"{column.name} of {one.values[0]!r} less that of {other.values[0]!r}",
            used=places_of(trigger, one.places, other.places, mention.places, rest.used),
            answer="value",
            conditions=rest,
            target=Target(column, mention.places, mention.how),
            traits=("difference",),
        )


def _pair(parsed: Parsed) -> tuple[Choice, Choice, ConditionSet] | None:
    """Two single values of one column that the question names."""
    from secondlook.tables.asking.filters import ConditionSet, slots

    choices = [choice for slot in slots(parsed.asked) for choice in slot.choices[:3]]
    for at, one in enumerate(choices):
        for other in choices[at + 1 :]:
            if one.column == other.column and one.values and other.values:
                if one.places & other.places or one.values == other.values:
                    continue
                return one, other, ConditionSet()
    return None
