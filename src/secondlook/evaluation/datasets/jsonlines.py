"""Files with one JSON object per line, compressed or not; a broken line costs that line."""

from __future__ import annotations

import codecs
import errno
import gzip
import json
import zlib
from typing import IO, TYPE_CHECKING, Any, cast

from secondlook.errors import UsageError
from secondlook.evaluation.datasets.fields import Malformed, shown
from secondlook.evaluation.records import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GZIP_MARK = b"\x1f\x8b"
BROKEN_ARCHIVE = (EOFError, zlib.error, gzip.BadGzipFile)


def opened(path: Path) -> IO[bytes]:
    """Unpacked when its first bytes say that it is packed, whatever its name says."""
    if not path.is_file():  # a named pipe would wait for ever
        raise OSError(errno.EINVAL, "it is not a file")
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MARK)) == _GZIP_MARK
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every usable object with its line number, counted from 1; blank lines are nothing."""
    for line, data in numbered_lines(path, path.name, problems):
        try:
            if found := _parsed(data):
                yield line, found
        except Malformed as error:
            problems.append(Problem(path.name, line, error.message))


def first_object(path: Path) -> dict[str, Any]:
    """Empty when there is none."""
    return next((found for _, found in objects(path, [])), {})


def numbered_lines(path: Path, name: str, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, as far as the file can be read; `name` is for the problem."""
    line = 0
    try:
        with opened(path) as file:
            for line, data in enumerate(file, 1):
                yield line, data.removeprefix(codecs.BOM_UTF8) if line == 1 else data
    except BROKEN_ARCHIVE as error:
        reason = f"the compressed file is damaged from here on: {error}"
        problems.append(Problem(name, line + 1, reason))
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{str(path)!r} cannot be read: {error.strerror or error}",
        hint="check that it is a file and that you may read it",
    )


def _parsed(data: bytes) -> dict[str, Any] | None:
    if not data.strip():
        return None
    try:
        found = json.loads(data.decode().rstrip())
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 at byte {error.start + 1} of the line") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON that can be read: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise Malformed(f"not a JSON object but {shown(found)}")
    if not found:
        raise Malformed("an empty object")
    return found
