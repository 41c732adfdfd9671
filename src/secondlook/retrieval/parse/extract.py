"""From a file to its documents, in this process. Workers call this; so do tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import (
    Damaged,
    ExtractionError,
    LimitExceeded,
    NoText,
)
from secondlook.retrieval.parse.detect import kind_of
from secondlook.retrieval.parse.finish import finish
from secondlook.retrieval.parse.limits import DEFAULT_LIMITS, Parsed, ParseLimits
from secondlook.retrieval.parse.registry import CONTAINERS, PARSERS, STREAMED
from secondlook.retrieval.parse.source import Budget, Source, open_source, silent_beat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_DEEPEST_ARCHIVE = 5
_LONGEST_REASON = 300


def extract(
    path: Path, limits: ParseLimits = DEFAULT_LIMITS, *, beat: Callable[[], None] = silent_beat
) -> list[Parsed]:
    """Every document in a file, each with its text or the reason why there is none."""
    budget = Budget(limits, beat)
    state = _state(path)
    try:
        source = open_source(path, budget)
    except ExtractionError as error:
        return [Parsed("", "", state[0], error=error)]
    parsed = _documents(source)
    if source.path is not None and _state(path) != state:
        changed = ExtractionError("it changed while it was being read", hint="add it again")
        return [Parsed("", "", source.size, error=changed)]
    return parsed


def extract_bytes(data: bytes, name: str, limits: ParseLimits = DEFAULT_LIMITS) -> list[Parsed]:
    """Like `extract`, for what was never a file: standard input, an upload, a download."""
    budget = Budget(limits)
    source = Source.of_bytes(data, name, budget)
    if len(data) > limits.file_bytes:
        reason = f"it has {len(data):,} bytes, the limit is {limits.file_bytes:,}"
        return [Parsed("", source.sha256, source.size, error=LimitExceeded(reason))]
    return _documents(source)


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


def _documents(source: Source, member: str = "") -> list[Parsed]:
    """The source itself and, where it is an archive or a mail, what it carries."""
    found: list[Parsed] = []
    error: ExtractionError | None = None
    try:
        kind = kind_of(source)
        _check_size(source, kind)
        if kind in CONTAINERS:
            _open_container(source, kind, member, found)
        else:
            own = finish(PARSERS[kind](source), source.name)
            found.append(Parsed(member, source.sha256, source.size, extracted=own))
    except Exception as caught:  # noqa: BLE001 - any parser may raise anything on hostile bytes
        error = as_extraction_error(caught)
    if error is not None:
        found.insert(0, Parsed(member, source.sha256, source.size, error=error))
    return found


def _check_size(source: Source, kind: str) -> None:
    """A name promises a table; the contents may be something that is read whole."""
    if source.size > source.budget.limits.file_bytes and kind not in STREAMED:
        raise LimitExceeded(f"it is named {source.suffix} but is no table, and too large to read")


def _open_container(source: Source, kind: str, member: str, found: list[Parsed]) -> None:
    """Appends as it goes: what was read before a limit broke is kept."""
    if source.depth >= _DEEPEST_ARCHIVE:
        raise LimitExceeded(f"archives are nested more than {_DEEPEST_ARCHIVE} deep")
    own, carried = CONTAINERS[kind](source)
    if own is not None:
        own = finish(own, source.name)
        found.append(Parsed(member, source.sha256, source.size, extracted=own))
    for item in carried:
        place = f"{member}/{item.name}" if member else item.name
        if item.error is not None:
            found.append(Parsed(place, "", item.size, error=item.error))
            continue
        inner = Source.of_bytes(item.data, item.name, source.budget, depth=source.depth + 1)
        found.extend(_documents(inner, place))
    if not found:
        raise NoText("the archive holds no files")


def as_extraction_error(error: BaseException) -> ExtractionError:
    """Whatever a parser raised, as a reason that a person can read."""
    if isinstance(error, ExtractionError):
        return error
    if isinstance(error, MemoryError):
        return LimitExceeded("it needs more memory than a parser may have")
    if isinstance(error, RecursionError):
        return LimitExceeded("it is nested too deeply")
    reason = " ".join(str(error).split())[:_LONGEST_REASON]
    return Damaged(f"it could not be read ({type(error).__name__}{': ' if reason else ''}{reason})")
