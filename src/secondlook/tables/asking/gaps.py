"""Missing values over the columns of a table: how many, in which, in which the most."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import take_apart
from secondlook.tables.asking.doubting import doubt_of
from secondlook.tables.asking.planning import Plan, Sheet
from secondlook.tables.asking.port import Output, Reading
from secondlook.tables.asking.targets import of_mention
from secondlook.tables.query import Query
from secondlook.tables.resolving.port import Resolved
from secondlook.tables.resolving.words import atoms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.port import AskedTable, Wanted
    from secondlook.tables.resolving import Resolver

FAMILY = "gaps"
GONE = re.compile(r"\b(?:missing|null|nan|empty|blank)\b", re.IGNORECASE)
WHICH = re.compile(
    r"\b(?:which|what|list|name|identify)\b[^?.\n]{0,30}\b(?:columns?|variables?|features?|fields?)\b",
    re.IGNORECASE,
)
EACH = re.compile(
    r"\b(?:each|every|per|all(?: the| of the)?|by) (?:column|variable|feature|field)s?\b",
    re.IGNORECASE,
)
WHOLE = re.compile(
    r"\b(?:in|of|across|within) (?:the |this )?(?:whole |entire |given )?"
    r"(?:data ?set|table|data|file)\b"
    r"|\b(?:in total|altogether|overall|are there)\b",
    re.IGNORECASE,
)
MOST = re.compile(r"\b(?:most|highest|largest|maximum)\b", re.IGNORECASE)
LEAST = re.compile(r"\b(?:fewest|least|lowest|smallest)\b", re.IGNORECASE)
NUMBERS = frozenset({"total", "count", "number", "num", "sum", "missing"})
COLUMNS = frozenset({"column", "columns", "variable", "feature", "field", "name"})
MOST_COLUMNS = 500


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    if GONE.search(question) is None or len(wanted.names) > 1:
        return []
    asked = [take_apart(question, table, wanted, resolver) for table in tables]
    return [reading for one in asked if (reading := _read(one)) is not None]


def _read(asked: Asked) -> Reading | None:
    question = asked.text[: asked.question]
    named = [one for one in asked.mentions if asked.in_question(one.start)]
    if named or asked.clauses or len(asked.table.table.columns) > MOST_COLUMNS:
        return None
    if GONE.search(question) is None or not any(
        one.kind.startswith("missing") for one in asked.said
    ):
        return None
    combine = _combine(question)
    if combine is None or not _fits(combine, asked.wanted):
        return None
    sheet = Sheet(asked)
    over = tuple(_counted(asked, sheet, one.name) for one in asked.table.table.columns)
    name = asked.wanted.names[0] if asked.wanted.names else _said(combine)
    each = () if combine == "each" else (Output(name, "", combine=combine, over=over),)
    return Reading(
        query=Query(table=asked.table.table.id, measures=tuple(sheet.measures)),
        said=f"{_said(combine)}, over all columns",
        doubt=doubt_of(asked, ()),
        resolved=(),
        family=FAMILY,
        answer="list" if combine == "positive" else "value",
        outputs=each,
    )


def _fits(combine: str, wanted: Wanted) -> bool:
    """Whether the wanted name is for such a value."""
    if not wanted.names:
        return True
    words = {atom.text for atom in atoms(wanted.names[0])}
    if combine == "sum":
        return bool(words & NUMBERS) and not words & COLUMNS
    return combine in {"most", "least"} and bool(words & COLUMNS) and not words & NUMBERS


def _counted(asked: Asked, sheet: Sheet, column: str) -> tuple[str, str]:
    share = any(one.kind == "missing_share" for one in asked.said)
    target = of_mention(asked, Resolved(column, asked.table.table.id, column, 1.0, "exact"))
    plan = Plan("missing_share" if share else "missing", (target,))
    return sheet.add(plan, "missing_share" if share else "missing"), column


def _combine(question: str) -> Literal["most", "least", "sum", "positive", "each"] | None:
    if WHICH.search(question):
        if MOST.search(question):
            return "most"
        return "least" if LEAST.search(question) else "positive"
    if EACH.search(question):
        return "each"
    return "sum" if WHOLE.search(question) else None


def _said(combine: str) -> str:
    return {
        "most": "column with the most missing values",
        "least": "column with the fewest missing values",
        "sum": "number of missing values",
        "positive": "columns with missing values",
        "each": "missing values of each column",
    }[combine]
