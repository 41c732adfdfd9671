"""What a person is told about a mistyped name or a wrong value."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ALIKE = 0.6  # names less alike than that were not meant: naming one would mislead

_PLAIN_WORDS = {
    "Value error, ": "",
    "Input should": "must",
    "String should": "must",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid tuple": "a list",
}
_TECHNICAL = re.compile("|".join(map(re.escape, _PLAIN_WORDS)))
_HOW_IT_FAILED = re.compile(r", (?:unable|got) .*")


def in_plain_words(message: str) -> str:
    """`Input should be a valid integer, unable to parse ...` as `must be a whole number`."""
    return _TECHNICAL.sub(lambda found: _PLAIN_WORDS[found[0]], _HOW_IT_FAILED.sub("", message))


def nearest(name: str, known: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=_ALIKE)
    return found[0] if found else None


def where_to_look(meant: str | None) -> str:
    # Not `secondlook config`: it stops at the same mistake.
    listed = "docs/settings.md lists all settings."
    return f"Did you mean {meant}? {listed}" if meant else listed


# How a person is told where something is.

_ADDRESS = "s3:/"


def place_of(path: Path) -> str:
    """A folder or file, or an address in object storage, of which a `Path` makes `s3:/...`."""
    told = str(path)
    return f"s3://{told.removeprefix(_ADDRESS)}" if told.startswith(_ADDRESS) else told
