"""The journal of a run: every reply that was paid for or worked for, kept before it is used.

`memory.calls` says how calls are named. A resumed run that comes to the same call finds the reply
here; what was sent and never answered is here too, because it may have been paid for.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from secondlook.answer import CallUsage

if TYPE_CHECKING:
    from secondlook.memory.caps import Reservation

Finish = Literal["stop", "length"]
Kind = Literal["model", "web", "sandbox", "budget"]
State = Literal["reply", "sent", "failed"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call and what it took: its reply, or that it was sent, or that it failed."""

    text: str
    """What was replied; of a call that was sent its idempotency key, of a failed one the reason."""
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
    kind: Kind = "model"
    state: State = "reply"
    most_tokens: int = 0
    """Where nobody heard the end of it: what it may be billed for at worst, in and out."""
    most_cost: float | None = None
    longest: int = 0
    """Tokens that its reply may have."""

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

    @classmethod
    def of(
        cls,
        usage: CallUsage,
        text: str,
        *,
        finish: Finish = "stop",
        state: State = "reply",
        promised: Reservation | None = None,
    ) -> JournalEntry:
        """A call of a model. What was `promised` to one without an end stays taken."""
        return cls(
            text=text,
            finish=finish,
            node=usage.node,
            role=usage.role,
            model=usage.model,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            characters_in=usage.characters_in,
            characters_out=usage.characters_out,
            seconds=usage.seconds,
            cost=usage.cost,
            calls=usage.calls,
            retries=usage.retries,
            parse_failures=usage.parse_failures,
            state=state,
            most_tokens=promised.tokens if promised else 0,
            most_cost=float(promised.cost) if promised and promised.price else None,
            longest=promised.max_tokens_out if promised else 0,
        )

    @classmethod
    def free(cls, text: str, *, kind: Kind, node: str) -> JournalEntry:
        """What no budget counts: a call of the web or of the sandbox, or that one was refused."""
        return cls(text, "stop", node, "", "", 0, 0, calls=0, kind=kind)


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
