"""What reading a table gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.tables.table import Table

READER_VERSION = "2"
"""Goes up whenever the same bytes would give another table. It is part of a table's id."""


@dataclass(frozen=True, slots=True)
class Read:
    table: Table
    file: Path
    """Its Parquet file: `<id>.parquet`."""
