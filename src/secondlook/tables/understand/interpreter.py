"""Which reading of a question is taken, and whether any is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.understand import written
from secondlook.tables.understand.readings import Reading, Wanted, wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.resolver import AskedTable

MOST_DOUBT, MOST_OF_TASKS = 0.1, 0.4
"""Beyond it nothing is computed; of tasks that name their values, and say at length how these are
computed, the second."""
_MONTHS_OF = {"month": 1, "quarter": 3}
_DAY = re.compile(r"(\d{4})-(\d\d)")
POINTED = re.compile(
    r"\b(?:of|among) (those|these|them)\b(?! (?:who|that|which|with|whose))", re.IGNORECASE
)
"""Something that was said before."""


@dataclass(frozen=True, slots=True)
class Understanding:
    best: Reading | None
    why: str  # How the question was read, or why it was not
    refused: bool = False  # `why` is for a person: a word has no place, or years would be merged


def understand(  # noqa: PLR0911 - one a reason
    question: str, tables: Sequence[AskedTable], *, wanted: Wanted | None = None
) -> Understanding:
    """The likeliest reading; none where a word has no place or the doubt is too large."""
    if not question.strip() or not tables:
        return Understanding(None, "There is nothing to ask, or no table to ask it of.")
    if pointed := POINTED.search(question):
        why = f"I do not know what {pointed[1]!r} means here. Name it."
        return Understanding(None, why, refused=True)
    wanted = wanted if wanted is not None else wanted_of(question)
    found = written.read(question, tables, wanted)
    if found is None:
        return Understanding(None, "No way was found to read the question over these tables.")
    if found.unplaced:
        left = ", ".join(map(repr, dict.fromkeys(found.unplaced)))
        return Understanding(None, f"I could not place {left} in these tables.", refused=True)
    if found.doubt > (MOST_OF_TASKS if wanted.names else MOST_DOUBT):
        return Understanding(None, f"Too unsure ({found.doubt:.0%}): {found.said}.")
    if _merges_years(found, tables):
        why = f"The {found.said} would merge several years. Name one year."
        return Understanding(None, why, refused=True)
    return Understanding(found, f"Read as: {found.said}.")


def _merges_years(reading: Reading, tables: Sequence[AskedTable]) -> bool:
    """`per month` or `in May` of a table of two years, none of which is chosen. Dates from July to
    March have one January."""
    profile = next((t.profile for t in tables if t.table.id == reading.query.table), None)
    where = reading.query.where
    chosen = {one.column for one in where if one.part == "year"}
    chosen |= {one.column for one in reading.query.group_by if one.part == "year"}
    parts = [(one.column, one.part, None) for one in reading.query.group_by]
    for name, part, value in [*parts, *((one.column, one.part, one.value) for one in where)]:
        if part not in _MONTHS_OF or name in chosen:
            continue
        column = profile.column(name) if profile else None
        found = [_DAY.match(str(end)) for end in (column.minimum, column.maximum)] if column else []
        if not all(found):
            continue
        low, high = (12 * int(one[1]) + int(one[2]) - 1 for one in found if one)
        years = range(low // 12, high // 12 + 1)
        if isinstance(value, int):
            size = _MONTHS_OF[part]
            firsts = (12 * year + size * (value - 1) for year in years)
            held = sum(low <= first + size - 1 and first <= high for first in firsts)
        else:
            held = len(years)
        if held > 1:
            return True
    return False
