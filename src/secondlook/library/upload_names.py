"""Names of uploaded files. A client may call its file anything; what is stored has a plain name
that every file system takes and that stays inside its folder."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

MOST_BYTES = 180
NAMELESS = "upload"
_LONGEST_SUFFIX = 20
_UNWANTED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of writing: `exe.fdp` would read as a PDF."""
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE)


def safe_name(given: str) -> str:
    """What is left of a name that a client gave; never empty, never a path."""
    base = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    base = "".join(char for char in base if unicodedata.category(char) not in _UNWANTED)
    base = _FORBIDDEN.sub("_", _TURNING.sub("", base))
    base = " ".join(base.split()).lstrip(". ").rstrip(". ")
    if _RESERVED.match(base):
        base = f"_{base}"
    return _shortened(base) or NAMELESS


def unlike(name: str, taken: Container[str]) -> str:
    """`report (2).pdf` where there is a `report.pdf`; `taken` holds names as `folded` makes
    them."""
    stem, suffix = _parts(name)
    number, found = 1, name
    while folded(found) in taken:
        number += 1
        mark = f" ({number})"
        found = f"{_cut(stem, MOST_BYTES - len(mark) - len(suffix.encode()))}{mark}{suffix}"
    return found


def folded(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _shortened(name: str) -> str:
    if len(name.encode()) <= MOST_BYTES:
        return name
    stem, suffix = _parts(name)
    return f"{_cut(stem, MOST_BYTES - len(suffix.encode()))}{suffix}"


def _parts(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    if not suffix or len(suffix.encode()) > _LONGEST_SUFFIX:
        return name, ""
    return name.removesuffix(suffix), suffix


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore").rstrip(". ")
