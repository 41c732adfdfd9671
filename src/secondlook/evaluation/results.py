"""`results.json`: what an evaluation found, written whole and read again."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pydantic import ValidationError

from secondlook import __version__
from secondlook.errors import UsageError
from secondlook.evaluation.records import Results

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.settings import Settings

FILE = "results.json"
_ENGINES = ("langgraph", "onnxruntime", "pylance", "numpy")


def write(results: Results, folder: Path) -> Path:
    """Whole or not at all: a reader never sees half a file."""
    file = folder / FILE
    partial = folder / f".{FILE}.partial-{os.getpid()}"
    try:
        partial.write_text(results.model_dump_json() + "\n", encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(
            f"{str(file)!r} cannot be written: {error.strerror or error}",
            hint="make room, or name another folder with --out; no question is lost",
        ) from error
    return file


def read(place: Path) -> Results:
    """From a results file, or from the folder that holds one."""
    file = place / FILE if place.is_dir() else place
    try:
        return Results.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"there are no results at {str(file)!r}",
            hint="secondlook eval FOLDER --out DIR writes them",
        ) from None
    except (OSError, ValidationError, json.JSONDecodeError) as error:
        raise UsageError(
            f"{str(file)!r} does not hold the results of an evaluation: {_first_line(error)}",
            hint="name a results.json that `secondlook eval` of this version wrote",
        ) from error


def versions(settings: Settings, *, reader: str, embedder: str) -> dict[str, str]:
    """What the figures depend on."""
    known = {
        "secondlook": __version__,
        "python": platform.python_version(),
        "reader": reader,
        "embedder": embedder,
        "model": settings.models.default,
    }
    return known | {name: found for name in _ENGINES if (found := _installed(name))}


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _first_line(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error).partition("\n")[0]
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
