"""How a person is told where something is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = "s3:/"


def place_of(path: Path) -> str:
    """A folder or file, or an address in object storage, of which a `Path` makes `s3:/...`."""
    told = str(path)
    return f"s3://{told.removeprefix(_ADDRESS)}" if told.startswith(_ADDRESS) else told
