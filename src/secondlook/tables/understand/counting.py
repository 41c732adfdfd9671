"""Questions for a number of rows: how many, in total, on average, and differences of two rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Measure, Order, Query, Statistic, Term
from secondlook.tables.understand.drafts import Draft, Parsed, Target, places_of
from secondlook.tables.understand.sentence import RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.understand.filters import Choice, ConditionSet

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
    from secondlook.tables.understand.filters import ConditionSet, slots

    choices = [choice for slot in slots(parsed.asked) for choice in slot.choices[:3]]
    for at, one in enumerate(choices):
        for other in choices[at + 1 :]:
            if one.column == other.column and one.values and other.values:
                if one.places & other.places or one.values == other.values:
                    continue
                return one, other, ConditionSet()
    return None


# Questions for a choice or a yes: `did a or b win more`, `was x founded before 1900`.

_ASKS = re.compile(r"^(?:is|was|were|are|did|does|do|has|have|had|can|could|will)\b")
_YES_NO_MORE = re.compile(
    r"\b(?:more|most|higher|highest|larger|largest|bigger|biggest|greater|longer|longest|taller|tallest|better|best|older|later|last|farther)\b"
)
_LESS = re.compile(
    r"\b(?:less|least|fewer|fewest|lower|lowest|smaller|smallest|shorter|shortest|worse|earlier|first|younger|before|faster)\b"
)


def yes_no_drafts(parsed: Parsed) -> list[Draft]:
    return [*_either(parsed), *_whether(parsed)]


def _pairs(parsed: Parsed) -> Iterator[tuple[Choice, Choice]]:
    from secondlook.tables.understand.filters import slots

    choices = [choice for slot in slots(parsed.asked) for choice in slot.choices[:3]]
    for at, one in enumerate(choices):
        for other in choices[at + 1 :]:
            if one.column != other.column or not one.values or not other.values:
                continue
            if one.places & other.places or one.values == other.values:
                continue
            yield one, other


def _either(parsed: Parsed) -> Iterator[Draft]:
    """Which of two named values has more or less of something."""
    for one, other in _pairs(parsed):
        between = range(max(one.places) + 1, min(other.places))
        words = {parsed.asked.words[place].text for place in between}
        if not words & {"or", "than"} and len(between) > 0:
            continue
        if "or" not in words:
            continue
        for pattern, descending in ((_YES_NO_MORE, True), (_LESS, False)):
            trigger = parsed.asked.search(pattern)
            if trigger is None:
                continue
            used = places_of(one.places, other.places, trigger, frozenset(between))
            used = places_of(used, parsed.wh[1] if parsed.wh else None)
            yield from _ranked(parsed, (one, other), used, descending=descending)


def _ranked(
    parsed: Parsed, pair: tuple[Choice, Choice], used: frozenset[int], *, descending: bool
) -> Iterator[Draft]:
    one, other = pair
    key = parsed.asked.table.column(one.column)
    where = Filter(column=one.column, comparison="in", values=(*one.values, *other.values))
    names = f"{one.values[0]!r} or {other.values[0]!r}"
    shared = {"table": parsed.table_id, "where": (where,), "limit": 1}
    yield Draft(
        kind="either_rows",
        family="yes_no",
        query=Query(
            group_by=(Key(column=one.column),),
            measures=(Measure(name="rows", statistic="count"),),
            order=(Order(by="rows", descending=descending),),
            **shared,  # type: ignore[arg-type]
        ),
        said=f"which of {names} has {'more' if descending else 'fewer'} rows",
        used=used,
        answer="list",
        target=Target(key, one.places, "value"),
        traits=("either:rows", "either:key" if key.distinct > 0.95 else "either:repeated"),  # noqa: PLR2004
    )
    for column, places, how in _measures(parsed, one.column):
        facts = parsed.asked.table.column(column)
        turned = bool(set(facts.words) & RANKS)
        order = Order(by=column, descending=descending != turned, transform=facts.transform)
        yield Draft(
            kind="either",
            family="yes_no",
            query=Query(select=(one.column,), order=(order,), **shared),  # type: ignore[arg-type]
            said=f"which of {names} has the {'higher' if order.descending else 'lower'} {column}",
            used=places_of(used, places),
            answer="list",
            target=Target(key, one.places, "value"),
            traits=(f"either:{how}", f"either:{'down' if descending else 'up'}"),
        )


def _measures(parsed: Parsed, key: str) -> list[tuple[str, frozenset[int], str]]:
    found: dict[str, tuple[str, frozenset[int], str]] = {}
    for mention in parsed.asked.mentions:
        if mention.column.measurable and mention.column.name != key:
            found.setdefault(
                mention.column.name, (mention.column.name, mention.places, mention.how)
            )
    for column in parsed.asked.table.columns:
        if column.measurable and column.name != key:
            found.setdefault(column.name, (column.name, frozenset(), "any"))
    return list(found.values())[:4]


def _whether(parsed: Parsed) -> Iterator[Draft]:
    """Whether a row meets all conditions."""
    asks = parsed.asked.search(_ASKS)
    if asks is None or " or " in parsed.asked.joined:
        return
    for conditions in parsed.sets:
        if len(conditions.choices) < 2:  # noqa: PLR2004
            continue
        yield Draft(
            kind="whether",
            family="yes_no",
            query=Query(
                table=parsed.table_id,
                where=conditions.conditions,
                select=(parsed.asked.table.columns[0].name,),
                limit=1,
                ties=False,
            ),
            operation="exists",
            said=f"whether there is a row where {conditions.said}",
            used=places_of(asks, conditions.used),
            answer="boolean",
            conditions=conditions,
        )
    yield from _greater(parsed, asks)


def _greater(parsed: Parsed, asks: frozenset[int]) -> Iterator[Draft]:
    """Whether one named value has more of something than the other."""
    for pattern, operation in ((_YES_NO_MORE, "greater"), (_LESS, "less")):
        trigger = parsed.asked.search(pattern)
        if trigger is None:
            continue
        for one, other in _pairs(parsed):
            for name, places, how in _measures(parsed, one.column):
                column = parsed.asked.table.column(name)
                queries = [
                    Query(
                        table=parsed.table_id,
                        where=(Filter(column=one.column, comparison="in", values=chosen.values),),
                        measures=(
                            Measure(
                                name="value",
                                statistic="max",
                                of=Term(column=name, transform=column.transform),
                            ),
                        ),
                    )
                    for chosen in (one, other)
                ]
                yield Draft(
                    kind="greater",
                    family="yes_no",
                    query=queries[0],
                    more=(queries[1],),
                    operation=operation,  # type: ignore[arg-type]
                    said=f"whether {name} of {one.values[0]!r} is {operation} than that of "
                    f"{other.values[0]!r}",
                    used=places_of(asks, trigger, one.places, other.places, places),
                    answer="boolean",
                    traits=(f"greater:{how}",),
                )
