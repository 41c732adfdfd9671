"""What a library is called, which folders it is kept in step with (`about.json`), and the libraries
that lie beside it."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from secondlook.errors import LibraryDamaged, LibraryMissing, UsageError
from secondlook.files import write_whole
from secondlook.library import manifest, publish
from secondlook.settings.sections import LIBRARY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filelock import BaseFileLock

FILE_NAME = "about.json"
LIBRARIES: Final = "libraries"  # the folder of those beside the usual one
_LONGEST_TITLE = 100
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class About:
    title: str = ""
    watched: tuple[str, ...] = ()


def about(library: Path) -> About:
    file = library / FILE_NAME
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return About(str(said["title"]), tuple(map(str, said["watched"])))
    except (FileNotFoundError, NotADirectoryError):
        return About()
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "delete it, and say again what the library is called and which folders it watches"
        raise LibraryDamaged(f"{str(file)!r} cannot be read: {error}", hint=hint) from error


def entitle(library: Path, title: str) -> str:
    """The title as it is kept: one line without control characters."""
    plain = checked_title(title)
    with _changing(library):
        _write(library, replace(about(library), title=plain))
    return plain


def checked_title(title: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    if not plain or len(plain) > _LONGEST_TITLE:
        said = f"the name of a library has 1 to {_LONGEST_TITLE} characters"
        raise UsageError(said, hint="such as: Tax papers 2024")
    return plain


def keep_in_step(library: Path, folders: Sequence[Path], *, on: bool = True) -> About:
    """Watch these folders from now on, or no longer. What was read of them stays."""
    given = [Path(os.path.abspath(folder.expanduser())) for folder in folders]  # noqa: PTH100 - links stay
    for folder in given if on else ():
        if not folder.is_dir():
            hint = "check how it is written; a single file is added, not watched"
            raise UsageError(f"there is no folder {str(folder)!r} to watch", hint=hint)
        if library.absolute() in (folder, *folder.parents):
            raise UsageError("a library cannot watch its own folder", hint="name your papers")
    with _changing(library):
        now = about(library)
        new = dict.fromkeys(map(str, given))
        others = tuple(one for one in now.watched if Path(one) not in given)
        changed = replace(now, watched=(*others, *new) if on else others)
        _write(library, changed)
    return changed


def _changing(library: Path) -> BaseFileLock:
    publish.refuse_change(library)
    if not library.is_dir():
        raise LibraryMissing(f"there is no library at {str(library)!r}")
    import filelock

    return filelock.FileLock(library / "about.lock", timeout=10)


def _write(library: Path, told: About) -> None:
    write_whole(library / FILE_NAME, json.dumps(asdict(told), indent=2).encode())


# Libraries that a person made beside the usual one. The folder of each is its name for good; what
# it is called is its title.


def libraries_beside(library: Path) -> dict[str, Path]:
    if publish.names_bucket(library):
        return {}
    home = library.absolute().parent / LIBRARIES
    found = sorted(file.parent for file in home.glob(f"*/{manifest.FILE_NAME}"))
    named = {path.name: path for path in found if path != library.absolute()}
    return {name: path for name, path in named.items() if LIBRARY_NAME.fullmatch(name)}


def named_library(library: Path, wanted: str) -> Path | None:
    """The one beside `library` that has this name or title."""
    for name, path in libraries_beside(library).items():
        if wanted in (name, about(path).title):
            return path
    return None


def new_place(library: Path, title: str, taken: Sequence[str]) -> Path:
    """Where a library of that title may be made beside `library`."""
    if publish.names_bucket(library):
        raise UsageError("beside a published copy no library is made", hint="use one on this disk")
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    stem = _NOT_IN_A_NAME.sub("-", plain)[:_LONGEST_NAME].strip("-") or "library"
    home, number, name = library.absolute().parent / LIBRARIES, 1, stem
    while name in taken or (home / name).exists():
        number += 1
        name = f"{stem}-{number}"
    return home / name
