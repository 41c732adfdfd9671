"""Which group is first: `which region has the highest total units`, `top 3 products by ...`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import take_apart
from secondlook.tables.asking.doubting import doubt_of
from secondlook.tables.asking.lexicon import other_work
from secondlook.tables.asking.options import spans_of
from secondlook.tables.asking.planning import Plan, Sheet
from secondlook.tables.asking.port import Output, Reading
from secondlook.tables.asking.targets import is_a_label, numeric_targets
from secondlook.tables.query import Key, Order, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.lexicon import Said
    from secondlook.tables.asking.port import AskedTable, Wanted
    from secondlook.tables.asking.targets import Target
    from secondlook.tables.resolving import Resolver
    from secondlook.tables.resolving.port import Mention

FAMILY = "leading"
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_NUMBER = rf"(?P<count>\d+|{'|'.join(_COUNTS)})"
ASKS = re.compile(
    rf"\b(?:which|what|identify|find|name|list|give|show)\b|\b(?:top|bottom)(?: {_NUMBER})?\b",
    re.IGNORECASE,
)
TOP = re.compile(rf"\b(?P<way>top|bottom|first|last)\s+{_NUMBER}\b", re.IGNORECASE)
ROWS = re.compile(
    rf"\b(?P<way>top|bottom)\s+{_NUMBER}\s+(?:rows|records|entries|lines|observations)\b",
    re.IGNORECASE,
)
MOST = re.compile(
    r"\b(?:highest|largest|greatest|biggest|maximum|top)\b"
    r"|\b(?<!at )most\b(?! (?:common|frequent|popular))",
    re.IGNORECASE,
)
LEAST = re.compile(r"\b(?:lowest|smallest|(?<!at )least|fewest|minimum|bottom)\b", re.IGNORECASE)
GROUPED = frozenset(
    {"sum", "mean", "median", "std", "variance", "missing", "count", "distinct", "range"}
)
"""Statistics of a group that make it first."""
NEAR = 30


@dataclass(frozen=True, slots=True)
class _Asked:
    entity: Mention
    descending: bool
    count: int


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    asked = [take_apart(question, table, wanted, resolver) for table in tables]
    return [reading for one in asked if (reading := _read(one)) is not None]


def _read(asked: Asked) -> Reading | None:
    rows = _first_rows(asked)
    if rows is not None:
        return rows
    leading = _leading(asked)
    if leading is None or other_work(asked.text, _understood(asked)):
        return None
    plan = _plan(asked, leading)
    if plan is None:
        return None
    sheet = Sheet(asked)
    measure = sheet.add(plan, plan.kind)  # type: ignore[arg-type]
    entity = leading.entity.resolved
    outputs = _outputs(asked, entity.column, measure, leading.count)
    if outputs is None:
        return None
    which = "highest" if leading.descending else "lowest"
    groups = f"{leading.count} {entity.column}" if leading.count > 1 else entity.column
    resolved = (entity, *(one for target in plan.targets for one in target.resolved))
    return Reading(
        query=Query(
            table=asked.table.table.id,
            where=tuple(one.condition for one in asked.clauses),
            group_by=(Key(column=entity.column),),
            measures=tuple(sheet.measures),
            order=(Order(by=measure, descending=leading.descending),),
            limit=leading.count,
        ),
        said=f"the {groups} with the {which} {measure}",
        doubt=doubt_of(asked, resolved, _cues(asked.text)),
        resolved=resolved,
        family=FAMILY,
        rows=asked.table.table.rows,
        answer="list" if leading.count > 1 else "value",
        outputs=outputs,
    )


def _first_rows(asked: Asked) -> Reading | None:
    """`top 3 rows by price`: the rows themselves."""
    match = ROWS.search(asked.text)
    if match is None or asked.wanted.names:
        return None
    by = [one for one in asked.mentions if one.start >= match.end()]
    if len(by) != 1 or not asked.is_number(by[0].resolved.column):
        return None
    column, descending = by[0].resolved.column, match["way"].lower() == "top"
    count = _count(match)
    which = "highest" if descending else "lowest"
    return Reading(
        query=Query(
            table=asked.table.table.id,
            where=tuple(one.condition for one in asked.clauses),
            order=(Order(by=column, descending=descending),),
            limit=count,
        ),
        said=f"the {count} rows with the {which} {column}",
        doubt=doubt_of(asked, (by[0].resolved,), [match.span()]),
        resolved=(by[0].resolved,),
        family=FAMILY,
        rows=asked.table.table.rows,
        answer="rows",
    )


def is_about_the_first(asked: Asked) -> bool:
    return _leading(asked) is not None


def _cues(text: str) -> list[tuple[int, int]]:
    return [match.span() for one in (TOP, MOST, LEAST) for match in one.finditer(text)]


def _understood(asked: Asked) -> list[tuple[int, int]]:
    return [*spans_of(asked.mentions, asked.said, asked.clauses), *asked.options.understood]


def _leading(asked: Asked) -> _Asked | None:
    """A group asked for, and a word for the first or the last of them."""
    question = asked.text[: asked.question]
    cue = ASKS.search(question)
    if cue is None or not (MOST.search(question) or LEAST.search(question)):
        return None
    numbered = TOP.search(question)
    entity = next(
        (
            one
            for one in asked.mentions
            if one.start >= cue.end()
            and one.start - (numbered or cue).end() <= NEAR
            and _groups(asked, one.resolved.column)
        ),
        None,
    )
    if entity is None:
        return None
    most, least = MOST.search(question), LEAST.search(question)
    if most and least:
        return None
    return _Asked(entity, most is not None, _count(numbered))


def _count(numbered: re.Match[str] | None) -> int:
    if numbered is None:
        return 1
    said = numbered["count"].lower()
    return int(said) if said.isdigit() else _COUNTS[said]


def _groups(asked: Asked, column: str) -> bool:
    """Texts that repeat, more so numbers: a class, a year."""
    profile = asked.table.profile.column(column)
    if profile is None:
        return False
    if asked.is_number(column):
        return 0 < profile.distinct * 3 <= profile.rows
    return 0 < profile.distinct < profile.rows


def _plan(asked: Asked, leading: _Asked) -> Plan | None:
    """The statistic of the question, over the column that follows; rows where there is neither."""
    entity = leading.entity.resolved.column
    said = [one for one in asked.said if asked.in_question(one.start) and one.kind in GROUPED]
    columns = numeric_targets(
        asked,
        [
            one
            for one in asked.mentions
            if asked.in_question(one.start) and one.resolved.column != entity
        ],
    )
    if len(columns) > 1 or len({one.kind for one in said}) > 1:
        return None
    if not said:
        return _by_rows(asked, columns)
    return _by_statistic(said[0], columns)


def _by_rows(asked: Asked, columns: list[Target]) -> Plan | None:
    """`which region has the most orders`: the number of rows, if no column is measured."""
    question = asked.text[: asked.question]
    counted = re.search(r"\b(?:most|fewest|least)\b", question, re.IGNORECASE)
    others = [
        one for one in asked.mentions if counted and counted.end() <= one.start < asked.question
    ]
    of_rows = all(is_a_label(asked, one.resolved.column) and _is_key(asked, one) for one in others)
    return Plan("count", ()) if counted and not columns and of_rows else None


def _is_key(asked: Asked, mention: Mention) -> bool:
    profile = asked.table.profile.column(mention.resolved.column)
    return profile is not None and profile.distinct == profile.rows


def _by_statistic(said: Said, columns: list[Target]) -> Plan | None:
    if said.kind == "count":
        return Plan("count", ()) if not columns else Plan("sum", tuple(columns))
    return Plan(said.kind, tuple(columns)) if columns else None


def _outputs(asked: Asked, entity: str, measure: str, count: int) -> tuple[Output, ...] | None:
    every = "list" if count > 1 else None
    names, wanted = asked.wanted.names, asked.wanted
    if not names:
        shown = "mapping" if count > 1 else None
        return (
            (Output(entity, entity), Output(measure, measure))
            if shown is None
            else (Output(measure, measure, every="mapping"),)
        )
    texts = [one for one in names if one in wanted.texts or not _sounds_like_a_number(one)]
    numbers = [one for one in names if one not in texts]
    if len(texts) != 1 or len(numbers) > 1:
        return None
    made = [Output(texts[0], entity, every=every)]  # type: ignore[arg-type]
    made += [
        Output(one, measure, decimals=wanted.each.get(one, wanted.decimals), every=every)  # type: ignore[arg-type]
        for one in numbers
    ]
    return tuple(made)


def _sounds_like_a_number(name: str) -> bool:
    words = set(re.split(r"[_\W]+", name.lower()))
    return bool(
        words
        & {
            "count",
            "number",
            "num",
            "value",
            "mean",
            "average",
            "avg",
            "sum",
            "total",
            "amount",
            "max",
            "min",
            "median",
        }
    )
