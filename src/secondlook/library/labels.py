"""What a search can be narrowed by: facts of the document, its folders, and the user's own keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from secondlook.document import Extracted
    from secondlook.library.catalog import FileRow

FOLDER = "folder"
RESERVED = frozenset({"kind", "language", "author", "year", FOLDER})


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Lone surrogates, which file names and some formats let through, cannot be stored as text.
    One sign for one, so that positions in the text stay right."""
    return _HALF_CHARACTER.sub("\ufffd", text)


def label(key: object, value: object) -> str:
    """Keys and values compare without regard to case or outer white space."""
    return storable(f"{str(key).strip().casefold()}={str(value).strip().casefold()}")


def document_labels(extracted: Extracted) -> list[str]:
    facts = {
        "kind": extracted.kind,
        "language": extracted.language,
        "author": extracted.author,
        "year": extracted.date[:4] if extracted.date else None,
    }
    return [label(key, value) for key, value in facts.items() if value]


def all_labels(facts: Iterable[str], files: Iterable[FileRow]) -> list[str]:
    """The document's own labels and those of every file that holds it."""
    found = {item for item in facts if item.partition("=")[0] in RESERVED - {FOLDER}}
    for file in files:
        found.update(label(FOLDER, folder) for folder in file.folders)
        found.update(label(key, value) for key, value in file.metadata.items())
    return sorted(found)


def check_metadata(metadata: Mapping[str, str]) -> None:
    for key in metadata:
        if not key.strip() or "=" in key or key.startswith("@"):
            raise UsageError(
                f"{key!r} cannot be a metadata key", hint="write --meta project=harbour"
            )
        if key.strip().casefold() in RESERVED:
            raise UsageError(
                f"the metadata key {key!r} is filled from the file itself",
                hint=f"choose another key than {', '.join(sorted(RESERVED))}",
            )
