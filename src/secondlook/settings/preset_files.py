"""Sets of values that belong together: shipped with Secondlook, a person's own, or any file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from secondlook.errors import SettingsError
from secondlook.settings.mistakes import nearest

SHIPPED = Path(__file__).parent / "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    """As it was asked for."""
    file: Path
    trusted: bool
    """Shipped, or put among the person's own settings; else it may have come with a folder."""


def names(own: Path) -> tuple[str, ...]:
    """Of the shipped presets and of those in the folder `own`."""
    return tuple(sorted({*_names(SHIPPED), *_names(own)}))


def find(given: str, *, own: Path, cwd: Path) -> Preset:
    """By its name, or by the path of a TOML file: `./fast.toml`."""
    if _is_path(given):
        file = cwd / Path(given).expanduser()
        return Preset(given, file, trusted=_same_folder(file.parent, own))
    places = [folder / f"{given}.toml" for folder in (SHIPPED, own) if given in _names(folder)]
    if len(places) > 1:
        raise SettingsError(
            f"{places[1]} has the name of a preset that is shipped: {given!r}",
            hint=f"Rename the file, or give it as --preset {places[1]}.",
        )
    if not places:
        raise _unknown(given, names(own))
    return Preset(given, places[0], trusted=True)


def place(given: str, *, own: Path, cwd: Path) -> Path:
    """Where a preset of that name, or path, belongs if it is to be made."""
    if _is_path(given):
        return cwd / Path(given).expanduser()
    if not _NAME.fullmatch(given):
        raise SettingsError(
            f"{given!r} is no name for a preset",
            hint="Use letters, digits, - and _; or give a path that ends with .toml.",
        )
    if given in _names(SHIPPED):
        raise SettingsError(f"{given!r} is a preset that is shipped", hint="Take another name.")
    return own / f"{given}.toml"


def _is_path(given: str) -> bool:
    return given.endswith(".toml") or "/" in given or "\\" in given


def _names(folder: Path) -> list[str]:
    files = folder.glob("*.toml") if folder.is_dir() else ()
    return [file.stem for file in files if _NAME.fullmatch(file.stem)]


def _same_folder(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _unknown(given: str, known: tuple[str, ...]) -> SettingsError:
    meant = nearest(given, known)
    guess = f"Did you mean {meant!r}? " if meant else ""
    return SettingsError(
        f"there is no preset {given!r}",
        hint=f"{guess}There are {', '.join(known)}; a file is given by its path, ./NAME.toml.",
    )
