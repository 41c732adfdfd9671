"""The journal of a run: every model reply, kept before it is used, so that none is paid twice.

Whoever asks a model computes a key from all that shapes the reply. A resumed run that comes to
the same call finds the reply here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal, Protocol

from secondlook.answer import CallUsage

Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One reply and what it took, its failed attempts included."""

    text: str
    finish: Finish
    node: str
    role: str
    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    seconds: float = 0.0
    cost: float | None = None
    calls: int = 1
    retries: int = 0
    parse_failures: int = 0

    @property
    def usage(self) -> CallUsage:
        return CallUsage(
            node=self.node,
            role=self.role,
            model=self.model,
            calls=self.calls,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            tokens_cached=self.tokens_cached,
            characters_in=self.characters_in,
            characters_out=self.characters_out,
            cost=self.cost,
            seconds=self.seconds,
            retries=self.retries,
            parse_failures=self.parse_failures,
        )


class Journal(Protocol):
    """Of one run. `put` returns when the entry is safe; the first entry of a key stays."""

    def get(self, key: str) -> JournalEntry | None: ...

    def put(self, key: str, entry: JournalEntry) -> None: ...


class NoJournal:
    """Remembers nothing: every call is made."""

    def get(self, key: str) -> JournalEntry | None:  # noqa: ARG002
        return None

    def put(self, key: str, entry: JournalEntry) -> None:
        """Forget it."""


class MemoryJournal:
    """For as long as the process lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, JournalEntry] = {}

    def get(self, key: str) -> JournalEntry | None:
        with self._lock:
            return self._entries.get(key)

    def put(self, key: str, entry: JournalEntry) -> None:
        with self._lock:
            self._entries.setdefault(key, entry)
