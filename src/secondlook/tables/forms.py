"""How the cells of a column may be written, and how DuckDB turns them into values.

A form is a pattern that every cell must match as a whole, and an expression. Python tries patterns
on a sample, DuckDB holds every row to them: so patterns use only what both engines read alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.tables.table import ColumnType

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas.read_csv takes for a missing value wherever it stands (its default `na_values`)."""
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
OTHERWISE_MISSING = frozenset(
    {name.lower() for name in MISSING}
    | {"n.a.", "n.a", "nil", "missing", "unknown", "not available", "?", "??", ".", "..", "...",
       "\u2026", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!", "nat", "tba", "tbd"}
    | {dash * times for dash in DASHES for times in (1, 2, 3)}
)  # fmt: skip
"""In lower case. Missing only in a column whose other cells are all numbers, dates or the like."""
_MARKS = sorted(one for one in MISSING if one)
_LONGEST_MARK = max(map(len, _MARKS))
_LAST_FIRST = max(one[0] for one in _MARKS)
_WIDEST = max(
    pairwise(sorted({one[0] for one in _MARKS})), key=lambda two: ord(two[1]) - ord(two[0])
)
"""Two first characters of marks that have most characters between them."""
BLANKS = " \t\r\n\u00a0\u2007\u2009\u202f"


@dataclass(frozen=True, slots=True)
class Form:
    type: ColumnType
    pattern: str = ""
    """Of a whole cell; "" for any text."""
    value: str = "{x}"
    """The cell in SQL; NULL where it is no value after all, such as 30 February."""
    note: str = ""
    """What was assumed, with {column}; "" where there was nothing to assume."""
    is_trimmed: bool = False
    """Whether blanks around a cell have to be taken off first."""
    has_gaps: bool = False
    """Whether cells of OTHERWISE_MISSING are in it."""
    plainly: str = ""
    """In SQL with {x}, the cell, and {v}, its value: where it holds, the cell fits and has that
    value. Cheaper than the pattern, which is tried where it does not hold; "" where there is no
    such condition."""

    def trimmed(self) -> Form:
        return replace(self, is_trimmed=True)

    def with_gaps(self) -> Form:
        return replace(self, has_gaps=True, is_trimmed=True)

    def fits(self, cell: str) -> bool:
        return not self.pattern or _compiled(self.pattern).fullmatch(cell) is not None

    def bare(self, column: str) -> str:
        """The cell without blanks around it, in SQL."""
        return f"trim({column}, {quoted(BLANKS)})" if self.is_trimmed else column

    def tried(self, column: str) -> str:
        """The value in SQL, whether or not the cell fits."""
        return self.value.format(x=self.bare(column))

    def is_plain(self, column: str, tried: str) -> str:
        """Whether what was tried is the column's value, in SQL; NULL or no tells nothing."""
        return self.plainly.format(x=self.bare(column), v=tried)

    def converted(self, column: str) -> str:
        """The column's value in SQL: NULL where the cell is missing or does not fit."""
        if not self.pattern:
            return column
        matches = f"regexp_full_match({self.bare(column)}, {quoted(self.pattern)})"
        return f"CASE WHEN {matches} THEN {self.tried(column)} END"

    def misfit(self, column: str) -> str:
        """Whether a cell is there but does not fit, in SQL."""
        misfit = f"{column} IS NOT NULL AND {self.converted(column)} IS NULL"
        if self.plainly:
            plain = self.is_plain(column, f"({self.tried(column)})")
            misfit = f"NOT coalesce({plain}, false) AND {misfit}"
        return f"({misfit} AND NOT {self.is_gap(column)})" if self.has_gaps else f"({misfit})"

    def is_gap(self, column: str) -> str:
        """Whether a cell means missing here, in SQL."""
        # No list: DuckDB makes a join of a long one, and a join does not keep the order of rows.
        return f"regexp_full_match(lower({self.bare(column)}), {quoted(_GAPS)})"


_GAPS = "|".join(map(re.escape, sorted(OTHERWISE_MISSING)))
TEXT = Form("text")


def says_missing(cell: str) -> str:
    """Whether a text is one of MISSING, in SQL."""
    return f"regexp_full_match({cell}, {quoted('|'.join(map(re.escape, _MARKS)))})"


def present(cell: str) -> str:
    """The text in SQL, NULL where it is one of MISSING. Most show by their length or by how they
    begin that they are none: that is cheaper than to compare each cell of a file with all."""
    low, high = chr(ord(_WIDEST[0]) + 1), _WIDEST[1]
    behind = chr(ord(_LAST_FIRST) + 1)
    other = (
        f"strlen({cell}) > {_LONGEST_MARK} OR {cell} >= {quoted(behind)}"
        f" OR ({cell} >= {quoted(low)} AND {cell} < {quoted(high)})"
    )
    return f"CASE WHEN {other} THEN {cell} WHEN NOT {says_missing(cell)} THEN {cell} END"


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def quoted(text: str) -> str:
    """As a string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """As a name in SQL."""
    return '"' + name.replace('"', '""') + '"'
