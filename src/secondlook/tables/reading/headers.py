"""Names for columns: as pandas would have them, and no two alike."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from secondlook.tables.reading.forms import BLANKS, MISSING
from secondlook.tables.reading.inferring import infer

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 500
_YEAR = re.compile(r"(?:1[6-9]|20|21)\d\d", re.ASCII)
_NUMERIC = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+%?", re.ASCII)


def named(cells: Sequence[str]) -> list[str]:
    """Blank names become `Unnamed: 3`, repeated ones `a.1`, as pandas names them. DuckDB does not
    tell `a` from `A`: those count as repeated too."""
    names: list[str] = []
    taken: set[str] = set()
    for position, cell in enumerate(cells):
        name = cell[:_LONGEST] if cell.strip(BLANKS) else f"Unnamed: {position}"
        unique, count = name, 0
        while unique.lower() in taken:
            count += 1
            unique = f"{name}.{count}"
        taken.add(unique.lower())
        names.append(unique)
    return names


def numbered(width: int) -> list[str]:
    return [f"column_{number}" for number in range(1, width + 1)]


def notes_of(cells: Sequence[str], names: Sequence[str]) -> list[str]:
    """What had to be changed that pandas would not have changed."""
    exact = _as_pandas(cells)
    changed = [(old, new) for old, new in zip(exact, names, strict=True) if old != new]
    return [f"column {old[:60]!r} is called {new[:60]!r}" for old, new in changed]


def _as_pandas(cells: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    names: list[str] = []
    for position, cell in enumerate(cells):
        name = cell if cell.strip(BLANKS) else f"Unnamed: {position}"
        unique, count = name, 0
        while unique in taken:
            count += 1
            unique = f"{name}.{count}"
        taken.add(unique)
        names.append(unique)
    return names


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns. It does unless it looks like the rows below: with
    numbers or dates wherever they have them. Years and 0, 1, 2, ... are names as well."""
    if not body:
        return True
    numeric = [cell for cell in first if _NUMERIC.fullmatch(cell.strip())]
    if any(not cell.strip(BLANKS) for cell in first) or _are_names(numeric):
        return True
    columns = [
        {row[at] for row in body if at < len(row) and row[at] not in MISSING}
        for at in range(len(first))
    ]
    alone = infer(columns)
    telling = [at for at, form in enumerate(alone) if form.pattern and columns[at]]
    if not telling:
        return not numeric or len(numeric) < len(first)
    return not all(alone[at].fits(first[at].strip(BLANKS)) for at in telling)


def _are_names(numeric: Sequence[str]) -> bool:
    """Numbers that a header may well hold: years, or positions as pandas counts them."""
    if len(numeric) < 2 or len(set(numeric)) < len(numeric):  # noqa: PLR2004
        return False
    if all(_YEAR.fullmatch(cell.strip()) for cell in numeric):
        return True
    return list(numeric) == [str(number) for number in range(len(numeric))]


def identifier_of(*parts: str) -> str:
    """A name for a table that is one in Python and SQL too: `sales_q1`."""
    joined = "_".join(part for part in parts if part)
    plain = re.sub(r"[^0-9a-zA-Z_]+", "_", _without_accents(joined)).strip("_").lower()
    plain = re.sub("_+", "_", plain)[:60].strip("_")
    is_name = plain.isidentifier() and not keyword.iskeyword(plain)
    return plain if is_name else f"table_{plain}".rstrip("_")


def _without_accents(text: str) -> str:
    import unicodedata

    apart = unicodedata.normalize("NFKD", text)
    return "".join(char for char in apart if not unicodedata.combining(char))
