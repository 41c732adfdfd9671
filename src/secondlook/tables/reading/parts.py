"""What a reader finds in a file: relations that DuckDB can read, each to become a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.tables.reading.forms import MISSING, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from secondlook.tables.reading.converting import Cells

_ORDINARY_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    relation: str
    """What stands behind FROM."""
    columns: Sequence[Cells]
    sheet: str = ""
    """Its name within the file; "" where the file is one table."""
    notes: list[str] = field(default_factory=list)
    otherwise: Callable[[], Part] | None = None
    """A slower way to read the same, for when DuckDB refuses this one."""


def csv_relation(
    path: Path,
    width: int,
    *,
    delimiter: str = ",",
    quote: str = '"',
    escape: str = '"',
    skip: int = 0,
    missing: Sequence[str] = MISSING,
    longest: int = 0,
) -> str:
    """Cells of a CSV file as text, `c0` and so on; nothing is guessed, no row is passed over.

    `longest`: bytes of its longest row, where that is known. DuckDB sets aside several times as
    much for each thread.
    """
    room = f", max_line_size = {longest * 2}, buffer_size = {longest * 4}"
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(width))
    markers = ", ".join(quoted(one) for one in missing)
    return (
        f"read_csv({quoted(str(path))}, auto_detect = false, header = false, skip = {skip}, "
        f"delim = {quoted(delimiter)}, quote = {quoted(quote)}, escape = {quoted(escape)}, "
        f"nullstr = [{markers}], columns = {{{columns}}}"
        f"{room if longest > _ORDINARY_LINE else ''})"
    )
