"""Finding the document a person means by an id, a path, a file name or a title."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.library.report import DocumentInfo

_SHORTEST_PREFIX = 4
_NAMED = 5


def find(name: str, documents: Sequence[DocumentInfo]) -> DocumentInfo:
    """The first way of reading `name` that fits any document decides."""
    wanted = name.strip()
    folded = wanted.casefold()
    readings: list[Callable[[DocumentInfo], bool]] = [
        lambda d: d.id == folded,
        lambda d: wanted in d.paths or _absolute(wanted) in d.paths,
        lambda d: any(_file_name(path) == folded for path in d.paths),
        lambda d: d.title.casefold() == folded,
        lambda d: len(folded) >= _SHORTEST_PREFIX and d.id.startswith(folded),
        lambda d: bool(folded) and folded in d.title.casefold(),
    ]
    for fits in readings:
        found = [document for document in documents if fits(document)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(name, found)
    raise UsageError(
        f"the library holds no document {name!r}",
        hint="secondlook list shows what it holds; a document is named by id, path, "
        "file name or title",
    )


def _ambiguous(name: str, found: Sequence[DocumentInfo]) -> UsageError:
    listed = ", ".join(f"{document.id} ({document.title})" for document in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return UsageError(
        f"{name!r} fits {len(found)} documents: {listed}{more}", hint="name one by its id"
    )


def _absolute(name: str) -> str:
    import os

    return os.path.abspath(os.path.expanduser(name))  # noqa: PTH100, PTH111


def _file_name(path: str) -> str:
    """Also of what lies in no file: its path is stdin:NAME or text:NAME."""
    return PurePath(path.removeprefix("stdin:").removeprefix("text:")).name.casefold()
