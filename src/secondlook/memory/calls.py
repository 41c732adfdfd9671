"""How the calls of a run are named in its journal, and what of them was paid for.

A call is named by the visit to a node that makes it and by a hash of all that shapes its reply:
`CONTENT@VISIT`. Under that name is the reply. Each time it is sent, `NAME/0`, `NAME/1`, ... says so
before it is, and `NAME/0/failed` that no reply will come of it. A call that is sent and has neither
was under way when the process died: it may have been paid for, so it counts, and it is sent once
more under the same idempotency key, by which a provider that knows such keys tells the two are one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from secondlook.memory.journal import JournalEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from secondlook.answer import CallUsage
    from secondlook.memory.caps import Reservation
    from secondlook.memory.journal import Journal


Ended = list[tuple[JournalEntry | None, JournalEntry | None]]
_VISIT = "@"
_SENT = "/"
_FAILED = "/failed"


def content_of(key: str) -> str | None:
    """The hash of what shapes a reply; None where a key does not name a reply."""
    return None if _SENT in key else key.partition(_VISIT)[0]


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that is on its way."""

    key: str
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one run."""

    run: str
    journal: Journal
    visit: Callable[[], str] = str
    """Names the visit to a node from which it is called; the same after a resume."""

    def key(self, *shaping: Any) -> str:
        """Of a call: what shapes its reply must be plain data."""
        content = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
        return f"{content}{_VISIT}{self.visit()}"

    def reply(self, key: str) -> JournalEntry | None:
        return self.journal.get(key)

    def keep(self, key: str, entry: JournalEntry) -> None:
        """The reply, before anybody sees it."""
        self.journal.put(key, entry)

    def refusal(self, key: str, kind: str) -> bool:
        """Whether a call was turned away for this reason: to send it again is no use."""
        return any(entry is not None and entry.text == kind for _, entry in self._sendings(key))

    def send(self, key: str, expected: CallUsage, promised: Reservation | None = None) -> Sent:
        """Put down that it is sent, what it is expected to take, and at worst."""
        before = [failure for _, failure in self._sendings(key)]
        failures = sum(failure is not None for failure in before)
        token = hashlib.sha256(f"{self.run} {key} {failures}".encode()).hexdigest()
        sending = f"{key}{_SENT}{len(before)}"
        self.journal.put(sending, JournalEntry.of(expected, token, state="sent", promised=promised))
        return Sent(sending, token)

    def failed(self, sent: Sent, entry: JournalEntry) -> None:
        """No reply comes of it; `entry` says why and what it took."""
        self.journal.put(f"{sent.key}{_FAILED}", replace(entry, state="failed"))

    def _sendings(self, key: str) -> Iterator[tuple[str, JournalEntry | None]]:
        """Each time that it was sent, with its failure if it had one."""
        number = 0
        while self.journal.get(sending := f"{key}{_SENT}{number}") is not None:
            yield sending, self.journal.get(f"{sending}{_FAILED}")
            number += 1


def spent_on(rows: Iterable[tuple[str, JournalEntry]]) -> list[CallUsage]:
    """What the calls of models took, out of a journal in the order it was written."""
    return [one.usage for sent, end in ended(rows) if (one := end or sent) is not None]


def ended(rows: Iterable[tuple[str, JournalEntry]]) -> Ended:
    """Each call of a model as it was sent and as it ended. What was under way when a process died
    comes last, without an end."""
    known: Ended = []
    under_way: dict[str, JournalEntry] = {}
    for key, entry in rows:
        if entry.kind != "model":
            continue
        if entry.state == "sent":
            under_way[key] = entry
            continue
        sending = key.removesuffix(_FAILED) if entry.state == "failed" else _last(under_way, key)
        known.append((under_way.pop(sending, None), entry))
    return known + [(entry, None) for entry in under_way.values()]


def _last(under_way: Iterable[str], key: str) -> str:
    """A reply is that of the last time it was sent."""
    return max((name for name in under_way if name.startswith(f"{key}{_SENT}")), default="")
