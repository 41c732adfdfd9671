"""The runs of a server: so many at once, the others wait in the order they came."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
import time
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from secondlook.answer import Answer  # noqa: TC001
from secondlook.engine.ownership import Heartbeat
from secondlook.engine.record import RunStatus, RunStore, StoredRun
from secondlook.engine.secondlook import LoopThread
from secondlook.errors import RunMissing, RunStopped, SecondlookError, UsageError
from secondlook.events import Answered, RunStarted
from secondlook.server.events import EventLog, Queued, SeenEvent, Stopped
from secondlook.server.problems import Problem, ProblemDetails, problem_of
from secondlook.settings.sections import DEFAULT_LIBRARY, RunSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from secondlook.engine.secondlook import Secondlook
    from secondlook.roles.follow_up import Turn
    from secondlook.server.libraries import Libraries

SeenStatus = RunStatus | Literal["queued"]
CANCELLED = "it was stopped"
CLIENT_LEFT = "the client has left"
SERVER_STOPS = "the server is stopping"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, whichever door it came through."""

    question: str
    library: str = DEFAULT_LIBRARY
    workflow: str | None = None
    documents: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    filters: Mapping[str, object] = field(default_factory=dict)
    choices: Mapping[str, str] | Sequence[str] | None = None
    max_risk: float | None = None
    budget: Mapping[str, float] | None = None  # of this question, within the server's own
    web: bool | None = None  # none = as the server is set
    after: str | None = None  # the run before it in a conversation
    turns: tuple[Turn, ...] = ()  # what was said before, made from `after` or given

    def options(self) -> dict[str, Any]:
        same = {name: getattr(self, name) for name in ("workflow", "choices", "max_risk", "budget")}
        return same | {
            "documents": list(self.documents) or None,
            "trust": list(self.trust) or None,
            "filters": dict(self.filters) or None,
            "earlier": self.turns,
            "caller": {"library": self.library, "after": self.after},
        }


@dataclass(slots=True, eq=False)
class LiveRun:
    """A run of this process: waiting, going on, or ended not long ago."""

    id: str
    ask: Ask
    resumed: bool = False
    log: EventLog = field(default_factory=EventLog)
    status: SeenStatus = "queued"
    workflow: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    answer: Answer | None = None
    problem: ProblemDetails | None = None  # why it could not be carried out at all
    stopping: str = CANCELLED
    task: asyncio.Task[Any] | None = None
    engine: Secondlook | None = None  # that works on it
    noting: Future[None] | None = None  # done when a run that waits is recorded
    put_away: threading.Event = field(default_factory=threading.Event)  # nothing works on it now

    @property
    def ended(self) -> bool:
        return self.log.closed

    @property
    def position(self) -> int | None:
        last = self.log.last
        return last.position if self.status == "queued" and isinstance(last, Queued) else None

    def went_on(self, recorded: RunStatus) -> bool:
        """Whether it was left here and taken up by another process, as its record says."""
        left = self.ended and self.answer is None and self.put_away.is_set()
        return left and recorded != "interrupted"

    def see(self, event: SeenEvent) -> None:
        if isinstance(event, RunStarted):
            self.workflow = event.workflow
        if isinstance(event, Answered):
            self.answer = event.answer
            self.status = event.answer.status
        self.log.append(event, last=isinstance(event, Answered))

    def stop(self, why: str, problem: ProblemDetails | None = None) -> None:
        if not self.ended:
            self.status = "interrupted"
            self.problem = problem
            self.log.append(Stopped(run=self.id, why=why, problem=problem), last=True)

    async def answered(self) -> Answer:
        """The answer, once it is there; a `Problem` where none will come."""
        await self.until()
        if self.answer is not None:
            return self.answer
        raise self.failure()

    async def until(self, *kinds: type) -> None:
        async with aclosing(self.log.follow()) as entries:
            async for entry in entries:
                if entry is not None and isinstance(entry.event, kinds):
                    return

    def failure(self) -> Problem:
        if (known := self.problem) is not None:
            return Problem(known.status, known.code, known.detail, hint=known.hint)
        why = self.log.last.why if isinstance(self.log.last, Stopped) else CANCELLED
        said = f"the run {self.id!r} ended without an answer: {why}"
        status = 503 if why == SERVER_STOPS else 409
        return Problem(status, "run_stopped", said, hint=f"POST /api/runs/{self.id}/resume")


MOST_KEPT: Final = 64  # ended runs that are watched without reading the record
QUESTION_CHARACTERS = 4000
_MOST_WAITING = 100  # questions that may wait; one more is refused (429)
_DRAIN_SECONDS = 20.0  # after SIGTERM, for each question to finish its step
_LOOKS = 0.1  # seconds between two looks at whether to hurry
_LOOKS_FOR_STOPS = 1.0  # seconds between two looks whether another server is asked to stop one
_PATIENCE = 5.0  # seconds that runs may take to put things away once they are stopped


class Runs:
    """Threads may share one. The engines work on an event loop of their own."""

    def __init__(self, settings: Settings, libraries: Libraries) -> None:
        self.record = Record(settings.runs)
        self.work = LoopThread()
        self._libraries = libraries
        self._at_once = settings.serve.concurrency or os.cpu_count() or 1
        self._lock = threading.RLock()
        self._waiting: deque[LiveRun] = deque()
        self._running: dict[str, LiveRun] = {}
        self._kept: dict[str, LiveRun] = {}
        self.ending = False
        self._hurried = threading.Event()
        self._looking = Heartbeat(self._stop_wanted, seconds=_LOOKS_FOR_STOPS)

    # Asking

    def start(self, ask: Ask) -> LiveRun:
        """A run of that question, begun or in the queue. Refuses what cannot be carried out."""
        self.check(ask)
        name = f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(6)}"
        return self._enqueued(LiveRun(id=name, ask=ask))

    def check(self, ask: Ask) -> None:
        if len(ask.question) > QUESTION_CHARACTERS:
            said = f"the question has more than {QUESTION_CHARACTERS} characters"
            raise UsageError(said, hint="ask for one thing at a time")
        if not ask.question.strip():
            raise UsageError("the question is empty", hint="say what you want to know")
        if ask.web and not self._libraries.settings(ask.library).web.enable_web_search:
            hint = "set web.enable_web_search where it runs"
            raise UsageError("searching the web is switched off on this server", hint=hint)

    def resume(self, run: str) -> LiveRun:
        """Take up a run that ended without an answer. Reads the record: call it in a thread."""
        live = self.here(run)
        if live is not None and (not live.ended or live.answer is not None):
            raise not_interrupted(run, live.status)
        stored = self.record.find(run)
        if live is None and stored is None:
            raise missing(run)
        # A run cancelled here a moment ago may not be recorded as such yet.
        if stored and stored.status != "interrupted" and (live is None or stored.answer):
            raise not_interrupted(run, stored.status)
        if stored is not None:
            events = EventLog(self.record.store(run).events(run))
            if live is None:
                library = self.library_of(stored.request)
                if library is None:
                    said = f"the run {stored.run!r} is about a library that is not served here"
                    raise Problem(409, "library_not_served", said, hint="serve that library")
                after = (stored.request.get("caller") or {}).get("after")
                ask = Ask(stored.question, library=library, after=after)
                live = LiveRun(stored.run, ask, workflow=stored.workflow, started=stored.created)
                live.log = events
            elif events.number > live.log.number:  # another process worked on it meanwhile
                live.log = events
        assert live is not None  # noqa: S101
        live.resumed = stored is not None  # it may have been stopped before it was recorded
        return self._enqueued(live)

    def library_of(self, request: Mapping[str, Any]) -> str | None:
        """What the library of a recorded run is called here. The path decides, not its old name."""
        path = request.get("settings", {}).get("library", {}).get("path", "")
        return self._libraries.named(path)

    # Looking

    def live(self, run: str) -> LiveRun | None:
        with self._lock:
            waiting = next((one for one in self._waiting if one.id == run), None)
            return self._running.get(run) or waiting or self._kept.get(run)

    def here(self, run: str) -> LiveRun | None:
        """The same, unless another process went on with it. Reads the record: use a thread."""
        live = self.live(run)
        if live is None or not live.ended or live.answer is not None:
            return live
        stored = self.record.find(run)
        return None if stored is not None and live.went_on(stored.status) else live

    def in_memory(self) -> list[LiveRun]:
        with self._lock:
            return [*self._kept.values(), *self._running.values(), *self._waiting][::-1]

    def answer(self, run: str) -> Answer:
        """The answer of a run, in memory or recorded. Reads the record: call it in a thread."""
        live = self.here(run)
        answer = live.answer if live is not None else self.record.get(run).answer
        if answer is not None:
            return answer
        hint = f"GET /api/runs/{run} says how far it is"
        raise Problem(409, "run_unfinished", f"the run {run!r} has no answer yet", hint=hint)

    def counts(self) -> tuple[int, int]:
        return len(self._running), len(self._waiting)

    # Stopping

    def cancel(self, run: str, why: str = CANCELLED) -> LiveRun:
        with self._lock:
            live = self.live(run)
            if live is None:
                raise missing(run)
            if live in self._waiting:
                self._waiting.remove(live)
                live.stop(why)
                self.work.submit(self._unnoted(live))
                self._keep(live)
                self._tell_positions()
            elif not live.ended:
                live.stopping = why
                self.work.submit(_cancelled(live))
        return live

    def _stop_wanted(self, runs: list[str]) -> None:
        with contextlib.suppress(SecondlookError):  # a record that cannot be read tells nothing
            for run in self.record.store().to_stop(runs):
                self.cancel(run)

    def forget(self, run: str) -> None:
        """Delete an ended run and every trace of it. Writes the record: call it in a thread."""
        live = self.here(run)
        with self._lock:
            if live is not None and not live.ended:
                raise not_interrupted(run, "running")
            self._kept.pop(run, None)
        stored = self.record.find(run)
        if stored is not None and stored.status == "running" and live is None:
            hint = f"POST /api/runs/{run}/cancel asks it to stop"
            said = f"another process works on the run {run!r}"
            raise Problem(409, "run_elsewhere", said, hint=hint)
        if stored is not None:
            self.record.store(run).remove(run)
        elif live is None:
            raise missing(run)

    def drain(self) -> None:
        """No run is begun; each finishes its step, if that does not take too long. In a thread."""
        with self._lock:
            self.ending = True
            running = list(self._running.values())
        self._libraries.drain()
        deadline = time.monotonic() + _DRAIN_SECONDS
        for live in running:
            while not (live.put_away.wait(_LOOKS) or self._hurried.is_set()):
                if time.monotonic() > deadline:
                    return

    def hurry(self) -> None:
        self._hurried.set()

    def stop(self) -> None:
        with self._lock:
            self.ending = True
            names = [live.id for live in (*self._waiting, *self._running.values())]
        for name in names:
            self.cancel(name, SERVER_STOPS)

    def close(self) -> None:
        """Let go of everything, the engines included. Call it in a thread."""
        self.stop()
        self._looking.close()
        deadline = time.monotonic() + _PATIENCE
        for live in list(self._running.values()):
            live.put_away.wait(max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(TimeoutError):  # a thread that hangs must not keep the server
            self.work.submit(self._libraries.aclose()).result(_PATIENCE)
        ending = threading.Thread(target=self.work.close, daemon=True)
        ending.start()
        ending.join(_PATIENCE)
        self.record.close()

    # How it is done

    def _enqueued(self, live: LiveRun) -> LiveRun:
        with self._lock:
            if self.ending:
                raise Problem(503, "server_stopping", SERVER_STOPS, headers={"Retry-After": "5"})
            if live.id in self._running or any(one.id == live.id for one in self._waiting):
                raise not_interrupted(live.id, "running")  # somebody else was faster
            waiting = len(self._waiting)
            if len(self._running) >= self._at_once and waiting >= _MOST_WAITING:
                said = f"too many questions: {len(self._running)} running, {waiting} waiting"
                later = {"Retry-After": "10"}
                raise Problem(429, "queue_full", said, hint="ask again later", headers=later)
            self._kept.pop(live.id, None)
            live.status, live.problem, live.stopping = "queued", None, CANCELLED
            live.log.reopen()
            self._waiting.append(live)
            self._looking.add(live.id)
            self._admit()
            if live.status == "queued" and not live.resumed:
                live.noting = self.work.submit(self._noted(live))
        return live

    async def _noted(self, live: LiveRun) -> None:
        """Recorded, so that it can be taken up if this process dies; on the loop of the runs."""
        ask = live.ask
        with contextlib.suppress(SecondlookError):  # told when its turn comes
            engine = await self._libraries.aengine(ask.library, web=ask.web)
            if live.status == "queued":
                engine.note(ask.question, run=live.id, **ask.options())

    async def _unnoted(self, live: LiveRun) -> None:
        with contextlib.suppress(SecondlookError):
            engine = await self._libraries.aengine(live.ask.library, web=live.ask.web)
            if live.ended:
                engine.unnote(live.id)

    def _admit(self) -> None:
        """Begin with as many as there is room for; tell the others where they stand."""
        while self._waiting and len(self._running) < self._at_once and not self.ending:
            live = self._waiting.popleft()
            live.status = "running"
            live.put_away.clear()
            self._running[live.id] = live
            self.work.submit(self._worked(live))
        self._tell_positions()

    def _tell_positions(self) -> None:
        for position, live in enumerate(self._waiting, 1):
            if live.position != position:
                live.log.append(Queued(run=live.id, position=position))

    async def _worked(self, live: LiveRun) -> None:
        live.task = asyncio.current_task()
        problem, ask = None, live.ask
        try:
            engine = live.engine = await self._libraries.aengine(ask.library, web=ask.web)
            stream = (
                engine.aresume_stream(live.id)
                if live.resumed
                else engine.astream(ask.question, run=live.id, **ask.options())
            )
            async with aclosing(stream) as events:
                async for event in events:
                    live.see(event)
        except RunStopped:
            live.stopping = SERVER_STOPS
        except Exception as error:  # noqa: BLE001  # the client gets it, whatever it was
            problem = problem_of(error)
        finally:
            with self._lock:
                del self._running[live.id]
                if problem is None:
                    live.stop(live.stopping)
                else:
                    live.stop(problem.detail, problem.details(f"/api/runs/{live.id}"))
                self._keep(live)
                self._admit()
            live.engine = None
            live.put_away.set()
        await self.let_go()

    async def let_go(self) -> None:
        """Of engines that changed settings have replaced, once no run needs them."""
        running = list(self._running.values())
        await self._libraries.let_go([live.engine for live in running if live.engine])

    def _keep(self, live: LiveRun) -> None:
        """Keep an ended run in memory, and drop the oldest beyond what may be kept."""
        self._looking.discard(live.id)
        self._kept[live.id] = live
        for name in list(self._kept)[:-MOST_KEPT]:
            del self._kept[name]


async def _cancelled(live: LiveRun) -> None:
    """On the loop of the run, after its first step: it is there to put things away."""
    if live.task is not None:
        live.task.cancel()


class Record:
    """Recorded runs, whoever recorded them. Every method reads a file: call it in a thread."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: RunStore | None = None

    def store(self, run: str = "") -> RunStore:
        """Where they are recorded, to look for that run."""
        with self._lock:
            if self._store is None:
                try:
                    self._store = RunStore(self._settings, create=False)
                except RunMissing:  # None has been recorded yet
                    raise missing(run) from None
            return self._store

    def get(self, run: str) -> StoredRun:
        """By its whole id."""
        stored = self.store(run).get(run)
        if stored.run != run:  # the command line takes a start of it, and `last`
            raise missing(run)
        return stored

    def find(self, run: str) -> StoredRun | None:
        try:
            return self.get(run)
        except RunMissing:
            return None

    def close(self) -> None:
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()


def missing(run: str) -> RunMissing:
    return RunMissing(f"there is no run {run!r}", hint="GET /api/runs lists them")


def not_interrupted(run: str, status: str) -> Problem:
    hint = f"GET /api/runs/{run} shows it"
    if status in {"running", "queued"}:
        return Problem(409, "run_in_progress", f"the run {run!r} has not ended", hint=hint)
    return Problem(409, "run_finished", f"the run {run!r} has its answer", hint=hint)
