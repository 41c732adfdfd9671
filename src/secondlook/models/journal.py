"""The journal of a run: every reply that was paid for or worked for, kept before it is used. What
was sent and never answered is here too, because it may have been paid for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from secondlook.answer import CallUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from secondlook.models.prices import Reservation

Finish = Literal["stop", "length"]
Kind = Literal["model", "web", "sandbox", "budget"]
State = Literal["reply", "sent", "failed"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call and what it took: its reply, or that it was sent, or that it failed."""

    text: str  # the reply; of a call that was sent its idempotency key, of a failed one the reason
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
    saved: float = 0.0
    calls: int = 1
    retries: int = 0
    parse_failures: int = 0
    kind: Kind = "model"
    state: State = "reply"
    most_tokens: int = 0  # where nobody heard the end of it: what may be billed, in and out
    most_cost: float | None = None
    longest: int = 0  # tokens that its reply may have

    @property
    def usage(self) -> CallUsage:
        return CallUsage(**{name: getattr(self, name) for name in CallUsage.model_fields})

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
            **usage.model_dump(),
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


@dataclass(slots=True)
class MemoryJournal:
    """For as long as the process lives. One step of a dict is safe in threads."""

    entries: dict[str, JournalEntry] = field(default_factory=dict)

    def get(self, key: str) -> JournalEntry | None:
        return self.entries.get(key)

    def put(self, key: str, entry: JournalEntry) -> None:
        self.entries.setdefault(key, entry)


# How the calls of a run are named in its journal, and what of them was paid for.

_VISIT = "@"
_SENT = "/"
_FAILED = "/failed"


def content_of(key: str) -> str | None:
    """The hash of what shapes a reply; None where a key does not name a reply."""
    return None if _SENT in key else key.partition(_VISIT)[0]


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one run."""

    run: str
    journal: Journal
    visit: Callable[[], str] = str  # names the visit to a node; the same after a resume

    def key(self, *shaping: Any) -> str:
        """Of a call: what shapes its reply must be plain data."""
        content = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
        return f"{content}{_VISIT}{self.visit()}"

    def refusal(self, key: str, kind: str) -> bool:
        """Whether a call was turned away for this reason: to send it again is no use."""
        return any(entry is not None and entry.text == kind for entry in self._failures(key))

    def send(
        self, key: str, expected: CallUsage, promised: Reservation | None = None
    ) -> tuple[str, str]:
        """Put down that it is sent, what it is expected to take, and at worst; returns what it is
        called while it is on its way, and its idempotency key."""
        before = self._failures(key)
        failures = sum(failure is not None for failure in before)
        token = hashlib.sha256(f"{self.run} {key} {failures}".encode()).hexdigest()
        sending = f"{key}{_SENT}{len(before)}"
        self.journal.put(sending, JournalEntry.of(expected, token, state="sent", promised=promised))
        return sending, token

    def failed(self, sending: str, entry: JournalEntry) -> None:
        """No reply comes of it; `entry` says why and what it took."""
        self.journal.put(f"{sending}{_FAILED}", replace(entry, state="failed"))

    def _failures(self, key: str) -> list[JournalEntry | None]:
        """For each time that it was sent, its failure if it had one."""
        found: list[JournalEntry | None] = []
        while self.journal.get(sending := f"{key}{_SENT}{len(found)}") is not None:
            found.append(self.journal.get(f"{sending}{_FAILED}"))
        return found


def ended(
    rows: Iterable[tuple[str, JournalEntry]],
) -> list[tuple[JournalEntry | None, JournalEntry | None]]:
    """Each call of a model as it was sent and as it ended; what was under way comes last."""
    known: list[tuple[JournalEntry | None, JournalEntry | None]] = []
    under_way: dict[str, JournalEntry] = {}
    for key, entry in rows:
        if entry.kind != "model":
            continue
        if entry.state == "sent":
            under_way[key] = entry
            continue
        sending = key.removesuffix(_FAILED)
        if entry.state == "reply":  # that of the last time it was sent
            sent = (name for name in under_way if name.startswith(f"{key}{_SENT}"))
            sending = max(sent, default="")
        known.append((under_way.pop(sending, None), entry))
    return known + [(entry, None) for entry in under_way.values()]
