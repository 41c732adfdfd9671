"""Whether the original file still is what was read, where it still is there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from secondlook.answer import Citation
    from secondlook.verify.held import Held

_IN_NO_FILE = ("stdin:", "text:")
_INSIDE_ANOTHER = "!/"


def check_file(citation: Citation, where: str, held: Held, report: Report) -> None:
    path = citation.path
    if path is None or path.startswith(_IN_NO_FILE) or _INSIDE_ANOTHER in path:
        return  # what lies in an archive was hashed by itself
    if path not in held.hashes:
        held.hashes[path] = sha256_of(Path(path))
    found = held.hashes[path]
    if found is None:
        report.note(
            "file", where, f"{shown(path, width=200)} is not there any more{_now(citation, held)}"
        )
    elif found != citation.sha256:
        report.wrong("file", where, f"the file {shown(path, width=200)} has changed since")


def _now(citation: Citation, held: Held) -> str:
    paths = held.library.paths({citation.document}).get(citation.document, ())
    others = [path for path in paths if path != citation.path and Path(path).is_file()]
    return f"; a copy is at {shown(others[0], width=200)}" if others else ""


def sha256_of(path: Path) -> str | None:
    """Of the file there; None where there is none to read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):  # gone, a folder, not ours to read, or no path at all
        return None
