"""A follow-up that speaks of the last result, over tables: that result is then its table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.tables.naming import unlike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.stand_alone import Turn

NAME = "last_result"
_SPOKEN_OF = re.compile(
    r"\b(?:(?:of|among|in|from|for) (?:these|those|them|(?:that|this) (?:result|table))"
    r"|(?:the|that|this) (?:last |previous |above )?(?:result|results|result table)"
    r"|(?:last|previous) (?:result|table|answer)|last_result)\b",
    re.IGNORECASE,
)


def last_result(question: str, earlier: Sequence[Turn]) -> dict[str, Any] | None:
    """The table of the last answer that has one, as if it were handed over; None where a question
    does not speak of it, or there is none."""
    table = next((turn.table for turn in reversed(earlier) if turn.table is not None), None)
    if table is None or not _SPOKEN_OF.search(question):
        return None
    names: list[str] = []
    for column in table.columns:  # a result may repeat a name
        names.append(unlike(column or "column", names))
    columns = zip(names, zip(*table.rows, strict=True), strict=True) if table.rows else ()
    return {NAME: {name: list(values) for name, values in columns}} if table.rows else None
