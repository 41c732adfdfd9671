"""Results that evaluations keep, in one file, and the time that having them saves."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_AT_ONCE = 500
"""Keys of one query; SQLite takes no more than about a thousand."""


@dataclass(slots=True)
class Saved:
    """Seconds that one question did not take because something was remembered, by node."""

    by_node: dict[str, float] = field(default_factory=dict)

    def add(self, seconds: float) -> None:
        node = _current_node()
        self.by_node[node] = self.by_node.get(node, 0.0) + seconds

    @property
    def seconds(self) -> float:
        return sum(self.by_node.values())


SAVED: ContextVar[Saved | None] = ContextVar("saved", default=None)
"""Of the question that is being answered; the nodes of its run inherit it."""


def save(seconds: float) -> None:
    """Counts for the question that is being answered; less than nothing where work was repeated."""
    saved = SAVED.get()
    if saved is not None:
        saved.add(seconds)


def _current_node() -> str:
    from langgraph.config import get_config

    try:
        return str(get_config()["metadata"]["langgraph_node"])
    except (RuntimeError, KeyError):
        return ""


@dataclass(slots=True)
class Counted:
    """What one kind of model was asked in this process."""

    seconds: float = 0.0
    made: int = 0
    remembered: int = 0


class Memory:
    """Results by key, in one file that several processes may share."""

    def __init__(self, file: Path) -> None:
        self.reader = Counted()
        self.embedder = Counted()
        self.models = Counted()
        # The models use every core: two passes at once would only slow each other down, and
        # neither could say what it took.
        self.passing = threading.Lock()
        self._lock = threading.Lock()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=60, check_same_thread=False)
            self._database.executescript(
                "pragma journal_mode = wal; pragma synchronous = normal;"
                "create table if not exists results (key blob primary key, value blob not null)"
                " without rowid"
            )
        except (OSError, sqlite3.Error) as error:
            raise UsageError(
                f"what earlier evaluations found cannot be read from {str(file)!r}: {error}",
                hint="delete the file, or name another folder in SECONDLOOK_CACHE",
            ) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for first in range(0, len(keys), _AT_ONCE):
            part = keys[first : first + _AT_ONCE]
            asked = f"select key, value from results where key in ({','.join('?' * len(part))})"  # noqa: S608
            with self._lock:
                found.update(self._database.execute(asked, part).fetchall())
        return found

    def put(self, results: Iterable[tuple[bytes, bytes]]) -> None:
        with self._lock, self._database:
            self._database.executemany("insert or ignore into results values (?, ?)", results)

    def close(self) -> None:
        with self._lock:
            self._database.close()


def key_of(*parts: str) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()[:16]
