"""The record of runs as answering sees it: it never fails, because an answer matters more.

Where a run cannot be recorded (no room, no rights, a damaged file) it goes on in memory, and the
answer carries a warning that says so. The next run tries again.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.answer import Answer, Trouble
from secondlook.errors import RunError, RunTaken
from secondlook.events import Answered, Event
from secondlook.memory.earlier import Earlier
from secondlook.memory.journal import Journal, JournalEntry, MemoryJournal
from secondlook.memory.runs import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.settings import RunSettings

T = TypeVar("T")
_FAILURES = (RunError, OSError, ValueError)
"""ValueError: text that no JSON can hold."""
_NODE = "record"
_CONSEQUENCE = "the run is not recorded, or not all of it"


@dataclass(slots=True)
class _Active:
    """What a run needs of its own record while it goes on, whatever becomes of the file."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    trouble: Trouble | None = None


class Recorder:
    """One for a process, for any number of runs at once. `runs.keep = 0` stores none."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: RunStore | None = None
        self._active: dict[str, _Active] = {}

    def start(
        self,
        run: str,
        *,
        question: str,
        workflow: str,
        created: str,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a run, or take up one that was interrupted. The one error is `RunTaken`: another
        process works on it, and two would pay twice."""
        self._active[run] = _Active()
        if not self._settings.keep:
            return

        def begin(store: RunStore) -> None:
            store.start(run, question=question, workflow=workflow, created=created, request=request)
            store.prune(self._settings.keep, before=oldest_kept(self._settings))

        try:
            self._guarded(run, lambda: begin(self._opened()), None, raising=RunTaken)
        except RunTaken:
            del self._active[run]
            raise

    def append(self, event: Event) -> None:
        """Take in an event. `Answered` says nothing that `finish` does not."""
        if not isinstance(event, Answered):
            self._written(event.run, lambda store: store.append(event), None)

    def finish(self, answer: Answer, *, at: float | None = None) -> Answer:
        """Store the answer, and return it with what went wrong with its record, if anything."""
        answer = _with(answer, self.trouble(answer.run))
        known = answer.warnings
        self._written(answer.run, lambda store: store.finish(answer, at=at), None)
        late = self.trouble(answer.run)
        self._let_go(answer.run)
        return answer if late in known else _with(answer, late)

    def leave(self, run: str) -> None:
        """The run stops here without an answer, and may be taken up again."""
        self._written(run, lambda store: store.leave(run), None)
        self._let_go(run)

    def discard(self, run: str) -> None:
        """Forget a run that turned out not to be one."""
        self._written(run, lambda store: store.remove(run), None)
        self._active.pop(run, None)

    def journal(self, run: str) -> Journal:
        return _BoundJournal(self, run)

    def reply(self, run: str, key: str) -> JournalEntry | None:
        """What the journal of a run holds under a key."""
        return self._of(run).journal.get(key) or self._written(
            run, lambda store: store.journal(run).get(key), None
        )

    def keep_reply(self, run: str, key: str, entry: JournalEntry) -> None:
        self._of(run).journal.put(key, entry)
        self._written(run, lambda store: store.journal(run).put(key, entry), None)

    def put_passages(self, run: str, passages: Iterable[Mapping[str, Any]]) -> None:
        kept = [dict(item) for item in passages]
        self._of(run).pages.update((item["id"], item) for item in kept)
        self._written(run, lambda store: store.put_passages(run, kept), None)

    def passages(self, run: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        here = self._of(run).pages
        found = {item: here[item] for item in ids if item in here}
        missing = [item for item in ids if item not in here]
        nothing: dict[str, dict[str, Any]] = {}
        if missing:
            return found | self._written(run, lambda store: store.passages(run, missing), nothing)
        return found

    def earlier(self, run: str) -> Earlier:
        """What earlier parts of a run leave to its account, for `Ledger.take_up`."""
        return self._written(run, lambda store: store.earlier(run), Earlier())

    def trouble(self, run: str) -> Trouble | None:
        """Why a run is not recorded; None = it is, or is not meant to be."""
        active = self._active.get(run)
        return active.trouble if active else None

    def close(self) -> None:
        with self._lock:
            store, self._store = self._store, None
        if store is None:
            return
        try:
            store.close()
        except _FAILURES:  # the answers are out: there is nobody left to tell
            return

    def _let_go(self, run: str) -> None:
        """A run that could not be recorded to its end is left: it must not seem to go on."""
        active = self._active.pop(run, None)
        if active is not None and active.trouble is not None and self._store is not None:
            with contextlib.suppress(*_FAILURES):
                self._store.leave(run)

    def _of(self, run: str) -> _Active:
        return self._active.setdefault(run, _Active())

    def _opened(self) -> RunStore:
        with self._lock:
            if self._store is None:
                self._store = RunStore.of(self._settings)
            return self._store

    def _written(self, run: str, work: Callable[[RunStore], T], otherwise: T) -> T:
        store = self._store
        if store is None or self.trouble(run):
            return otherwise
        return self._guarded(run, lambda: work(store), otherwise)

    def _guarded(
        self,
        run: str,
        work: Callable[[], T],
        otherwise: T,
        *,
        raising: type[RunError] | tuple[()] = (),
    ) -> T:
        try:
            return work()
        except raising:
            raise
        except _FAILURES as error:
            if self._store is not None:
                self._store.discard(run)
            self._of(run).trouble = Trouble(
                node=_NODE, error=type(error).__name__, message=str(error), consequence=_CONSEQUENCE
            )
            return otherwise


@dataclass(frozen=True, slots=True)
class _BoundJournal:
    recorder: Recorder
    run: str

    def get(self, key: str) -> JournalEntry | None:
        return self.recorder.reply(self.run, key)

    def put(self, key: str, entry: JournalEntry) -> None:
        self.recorder.keep_reply(self.run, key, entry)


def oldest_kept(settings: RunSettings) -> str | None:
    """When the oldest run began that `runs.keep_days` keeps; None = it says nothing."""
    if not settings.keep_days:
        return None
    return (datetime.now(UTC) - timedelta(days=settings.keep_days)).isoformat(timespec="seconds")


def _with(answer: Answer, trouble: Trouble | None) -> Answer:
    if trouble is None:
        return answer
    return answer.model_copy(update={"warnings": (*answer.warnings, trouble)})
