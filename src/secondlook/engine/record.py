"""The record of runs: question, events, replies and answer of each, in one database. Events are
written in batches. A run that is removed while it goes on stays removed."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from secondlook.answer import Answer, Status, StopReason, Trouble
from secondlook.engine.checkpoints import forget_checkpoints
from secondlook.engine.ownership import NOBODY, Heartbeat, Process, hear, lives, take_up
from secondlook.errors import RunError, RunMissing, RunTaken
from secondlook.events import EVENT, Answered, Event, NodeFinished, RunStarted, Token, Warned
from secondlook.models.budget import Earlier, earlier_of
from secondlook.models.journal import Journal, JournalEntry, MemoryJournal
from secondlook.processes import Closing
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import forget_runs
from secondlook.store.database import (
    ALL,
    RUNS,
    Database,
    Row,
    Safety,
    Statements,
    drop_runs,
    open_database,
    select_in,
    storable,
)
from secondlook.store.tables import forget_tables

Events = list[Event]
Names = list[str]
RunStatus = Status | Literal["running", "interrupted"]
LAST = "last"  # names the latest run wherever a run is asked for
_BATCH = 64
_FLUSHED_AT_ONCE = (RunStarted, NodeFinished, Warned)
_SUMMARY = "id, created, workflow, status, stop_reason, question, process, heard"
_NEWEST_FIRST = "ORDER BY created DESC, rowid DESC"
_NAMED = 5
_STOP = "cancelled"


@dataclass(frozen=True, slots=True)
class RunSummary:
    run: str
    created: str
    workflow: str
    status: RunStatus
    stop_reason: StopReason | None
    question: str


@dataclass(frozen=True, slots=True)
class StoredRun(RunSummary):
    request: dict[str, Any]
    answer: Answer | None  # None while it is running, and for good when it was interrupted


@dataclass(frozen=True, slots=True)
class ListedRun(RunSummary):
    short: str | None
    request: dict[str, Any]


ListedRuns = list[ListedRun]
Kept = list[dict[str, Any]]


class RunStore(Closing):
    """Every method may raise `RunError`; `Recorder` is the door that never does."""

    def __init__(self, runs: RunSettings, *, create: bool = True) -> None:
        self._settings = runs
        self._database = open_database(runs, RUNS, create=create)
        self._process = json.dumps(asdict(Process.current()))
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Event]] = {}
        self._heartbeat = Heartbeat(self._hear)

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> RunStore:
        return cls(RunSettings(path=path), create=create)

    def close(self) -> None:
        self._heartbeat.close()
        try:
            for run in [name for name, events in self._waiting.items() if events]:
                with self._writing(run, "NORMAL"):
                    pass
        finally:
            self._database.close()

    # Writing

    def start(
        self,
        run: str,
        *,
        question: str,
        workflow: str,
        created: str,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a run, or take up one that was interrupted. Of several that reach for one run, one
        gets it; the others get `RunTaken`."""
        asked, request = storable(question), request or {}
        row = (run, asked, workflow, created, json.dumps(request, default=str))
        with self._database.transaction("NORMAL") as db:
            now = self._database.now()
            begun = db.execute(
                "INSERT INTO runs (id, question, workflow, created, request, process, heard) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (*row, self._process, now),
            )
            if not begun.rowcount:
                about = {"question": asked, "workflow": workflow, "request": request}
                take_up(db, run, about, process=self._process, now=now)
        self._heartbeat.add(run)

    def begin(self, run: str, request: Mapping[str, Any]) -> None:
        with self._writing(run, "NORMAL") as db:
            text = json.dumps(request, default=str)
            db.execute("UPDATE runs SET request = ? WHERE id = ?", (text, run))

    def note(self, run: str, **said: str | None) -> None:
        """Keep what a person says of a run beside what its caller keeps with it."""
        with self._database.transaction("FULL") as db:
            found = db.execute("SELECT request FROM runs WHERE id = ?", (run,)).fetchall()
            if not found:
                raise RunMissing(f"the run {run!r} is not recorded", hint="runs.keep says how many")
            request = json.loads(found[0]["request"])
            request["caller"] = {**(request.get("caller") or {}), **said}
            text = json.dumps(request, default=str)
            db.execute("UPDATE runs SET request = ? WHERE id = ?", (text, run))

    def append(self, event: Event) -> None:
        if isinstance(event, Answered):
            self.finish(event.answer, at=event.at)
            return
        with self._lock:
            waiting = self._waiting.setdefault(event.run, [])
            last = waiting[-1] if waiting else None
            if isinstance(event, Token) and isinstance(last, Token):
                waiting[-1] = Token(run=last.run, at=last.at, text=last.text + event.text)
            else:
                waiting.append(event)
            full = len(waiting) >= _BATCH
        if full or isinstance(event, _FLUSHED_AT_ONCE):
            with self._writing(event.run, "NORMAL"):
                pass

    def leave(self, run: str) -> None:
        with self._writing(run, "NORMAL") as db:
            db.execute("UPDATE runs SET process = ? WHERE id = ?", (NOBODY, run))
        self._heartbeat.discard(run)

    def discard(self, run: str) -> None:
        with self._lock:
            self._waiting.pop(run, None)

    def finish(self, answer: Answer, *, at: float | None = None) -> None:
        row = (answer.status, answer.stop_reason, answer.model_dump_json(), at)
        with self._writing(answer.run, "FULL") as db:
            db.execute(
                "UPDATE runs SET status = ?, stop_reason = ?, answer = ?, "
                "answered_at = coalesce(?, answered_at) WHERE id = ?",
                (*row, answer.run),
            )
        self._heartbeat.discard(answer.run)

    def journal(self, run: str) -> RunJournal:
        return RunJournal(self._database, run, self._process)

    def ask_to_stop(self, run: str, *, withdrawn: bool = False) -> None:
        """Put the wish down where the process that works on the run will see it."""
        with self._database.transaction("NORMAL") as db:
            db.execute(
                "UPDATE runs SET stop_reason = ? WHERE id = ? AND answer IS NULL",
                (None if withdrawn else _STOP, run),
            )

    def to_stop(self, runs: Sequence[str]) -> Names:
        """Those of them that somebody wants stopped."""
        statement = "SELECT id FROM runs WHERE answer IS NULL AND stop_reason = ? AND id IN"
        return [row["id"] for row in select_in(self._database, statement, runs, _STOP)]

    def worker(self, run: str) -> str:
        rows = self._database.select("SELECT process FROM runs WHERE id = ?", run)
        with contextlib.suppress(ValueError, TypeError, IndexError):
            process = Process(**json.loads(rows[0]["process"]))
            return f"process {process.pid} on {process.host!r}"
        return "another process"

    def put_passages(self, run: str, passages: Iterable[Mapping[str, Any]]) -> None:
        rows = [(run, str(item["id"]), json.dumps(item), run) for item in passages]
        with self._database.transaction("NORMAL") as db:
            db.executemany(
                "INSERT INTO passages (run, id, passage) SELECT ?, ?, ? "
                "WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?) "
                "ON CONFLICT (run, id) DO UPDATE SET passage = excluded.passage",
                rows,
            )

    def remove(self, run: str) -> None:
        """Delete a run and every trace of it: its checkpoints, and what was remembered of it."""
        found = self._row(run, "id")["id"]
        forget_runs(self._settings, [found])
        self._drop([found])

    def prune(self, keep: int, *, before: str | None = None, dry: bool = False) -> list[str]:
        """Delete the oldest runs beyond `keep` and those begun before that time (ISO 8601), never
        one that is running; returns their ids. `dry`: delete nothing."""
        many = f"SELECT {_SUMMARY} FROM runs {_NEWEST_FIRST} LIMIT ? OFFSET ?"  # noqa: S608
        rows = self._database.select(many, ALL, keep)
        if before is not None:
            late = f"SELECT {_SUMMARY} FROM runs WHERE created < ? {_NEWEST_FIRST}"  # noqa: S608
            rows = [*rows, *self._database.select(late, before)]
        now = self._database.now()
        old = list(dict.fromkeys(row["id"] for row in rows if _status(row, now) != "running"))
        if old and not dry:
            self._drop(old)
        return old

    # Reading

    def get(self, run: str) -> StoredRun:
        """By id, by a start of it that no other run shares, or `last`."""
        row = self._row(run, "*")
        answer = _answer(row)
        return StoredRun(**self._summary(row), request=json.loads(row["request"]), answer=answer)

    def list(self, limit: int | None = 20) -> list[RunSummary]:
        rows = self._database.select(
            f"SELECT {_SUMMARY} FROM runs {_NEWEST_FIRST} LIMIT ?",  # noqa: S608
            ALL if limit is None else limit,
        )
        return [RunSummary(**self._summary(row)) for row in rows]

    def page(self, limit: int, *, short: bool = True) -> ListedRuns:
        """Newest first, with what a person knows them by; many are faster without `short`."""
        answer = "answer" if short else "NULL AS answer"
        rows = self._database.select(
            f"SELECT {_SUMMARY}, request, {answer} FROM runs {_NEWEST_FIRST} LIMIT ?",  # noqa: S608
            limit,
        )
        return [
            ListedRun(
                **self._summary(row),
                short=json.loads(row["answer"] or "{}").get("short"),
                request=json.loads(row["request"]),
            )
            for row in rows
        ]

    def judged(self, library: Path) -> Iterator[tuple[StoredRun, str]]:
        """Runs over a library that a person judged, and how, newest first."""
        for listed in self.page(ALL, short=False):
            feedback = (listed.request.get("caller") or {}).get("feedback")
            path = listed.request.get("settings", {}).get("library", {}).get("path")
            if feedback and path == str(library):
                yield self.get(listed.run), feedback

    def events(self, run: str, *, after: int = 0) -> Events:
        """In order, without the first so many, ending in `Answered` if the run was finished."""
        row = self._row(run, "id, answer, answered_at")
        statement = "SELECT event FROM events WHERE run = ? ORDER BY number LIMIT ? OFFSET ?"
        try:
            found = [
                EVENT.validate_json(item["event"])
                for item in self._database.select(statement, row["id"], ALL, after)
            ]
        except ValidationError as error:
            raise unreadable(row["id"], "events", error) from error
        answer = _answer(row)
        if answer is not None:
            found.append(Answered(run=row["id"], at=row["answered_at"] or 0.0, answer=answer))
        return found

    def passages(self, run: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        statement = "SELECT id, passage FROM passages WHERE run = ? AND id IN"
        rows = select_in(self._database, statement, ids, run)
        return {row["id"]: json.loads(row["passage"]) for row in rows}

    def kept(self, run: str) -> Kept:
        statement = "SELECT passage FROM passages WHERE run = ? ORDER BY id"
        return [json.loads(row["passage"]) for row in self._database.select(statement, run)]

    def earlier(self, run: str) -> Earlier:
        last = self._database.select("SELECT max(at) AS at FROM events WHERE run = ?", run)
        return earlier_of(self.journal(run).entries(), seconds=last[0]["at"] or 0.0)

    @contextlib.contextmanager
    def _writing(self, run: str, safety: Safety) -> Iterator[Statements]:
        """A transaction that begins with the events that wait; they wait on if it fails."""
        taken: Events = []
        try:
            with self._database.transaction(safety) as db:
                with self._lock:
                    taken = self._waiting.pop(run, [])
                hear(db, run, process=self._process, now=self._database.now())
                db.executemany(
                    "INSERT INTO events (run, at, event) SELECT ?, ?, ? "
                    "WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)",
                    [(run, event.at, event.model_dump_json(), run) for event in taken],
                )
                yield db
        except BaseException:
            with self._lock:
                self._waiting[run] = taken + self._waiting.get(run, [])
            raise

    def _hear(self, runs: Sequence[str]) -> None:
        """Nobody waits for it: what is wrong is told when there is something to write."""
        for run in runs:
            with contextlib.suppress(RunError), self._database.transaction("NORMAL") as db:
                hear(db, run, process=self._process, now=self._database.now())

    def _summary(self, row: Row) -> dict[str, Any]:
        told = {name: row[name] for name in ("created", "workflow", "question")}
        reason = row["stop_reason"] if row["status"] else None  # until then it may be a wish
        status = _status(row, self._database.now())
        return {"run": row["id"], "status": status, "stop_reason": reason, **told}

    def _row(self, run: str, columns: str) -> Row:
        if run == LAST:
            found = self._database.select(f"SELECT {columns} FROM runs {_NEWEST_FIRST} LIMIT 1")  # noqa: S608
        else:
            found = self._database.select(
                f"SELECT {columns}, id FROM runs WHERE substr(id, 1, ?) = ? {_NEWEST_FIRST}",  # noqa: S608
                len(run),
                run,
            )
            found = [row for row in found if row["id"] == run] or found
        if len(found) == 1:
            return found[0]
        if not found:
            said = "no run has been recorded" if run == LAST else f"there is no run {run!r}"
            raise RunMissing(said, hint="secondlook runs lists them")
        named = ", ".join(row["id"] for row in found[:_NAMED])
        said = f"{len(found)} runs begin with {run!r}: {named}" + (", ..." * (len(found) > _NAMED))
        raise RunMissing(said, hint="give more of the id")

    def _drop(self, runs: Sequence[str]) -> None:
        for run in runs:
            self.discard(run)
            self._heartbeat.discard(run)
        drop_runs(self._database, runs)
        forget_checkpoints(self._settings, *runs)
        forget_tables(self._settings.path, *runs)


def _status(row: Row, now: float) -> str:
    return str(row["status"] or ("running" if lives(row, now=now) else "interrupted"))


def _answer(row: Row) -> Answer | None:
    if row["answer"] is None:
        return None
    try:
        return Answer.model_validate_json(row["answer"])
    except ValidationError as error:
        raise unreadable(row["id"], "answer", error) from error


# The record of runs as answering sees it: it never fails, because an answer matters more.

T = TypeVar("T")
_FAILURES = (RunError, OSError, ValueError)  # ValueError: text that no JSON can hold
_CONSEQUENCE = "the run is not recorded, or not all of it"


@dataclass(slots=True)
class _Active:
    """What a run needs of its own record while it goes on, whatever becomes of the file."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    trouble: Trouble | None = None  # why it is not recorded; None = it is, or is not meant to be


class Recorder:
    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: RunStore | None = None
        self.active: defaultdict[str, _Active] = defaultdict(_Active)

    def start(self, run: str, **about: Any) -> None:
        """Record a run as `RunStore.start` does; one that this process holds already is recorded.
        The one error is `RunTaken`: another process works on it, and two would pay twice."""
        if run in self.active:
            return
        self.active[run] = _Active()
        settings = self._settings
        if not settings.keep:
            return
        try:
            with self._lock:
                if self._store is None:
                    self._store = RunStore(settings)
            store = self._store
            store.start(run, **about)
            store.prune(settings.keep, before=oldest_kept(settings) if settings.keep_days else None)
        except RunTaken:
            del self.active[run]
            raise
        except _FAILURES as error:
            self._fail(run, error)

    def begin(self, run: str, request: Mapping[str, Any]) -> None:
        self.do(run, lambda store: store.begin(run, request), None, raising=RunTaken)

    def append(self, event: Event) -> None:
        if not isinstance(event, Answered):
            self.do(event.run, lambda store: store.append(event), None)

    def finish(self, answer: Answer, *, at: float | None = None) -> Answer:
        self.do(answer.run, lambda store: store.finish(answer, at=at), None)
        trouble = self.active.pop(answer.run, _Active()).trouble
        if trouble is None:
            return answer
        self._leave(answer.run)
        return answer.model_copy(update={"warnings": (*answer.warnings, trouble)})

    def leave(self, run: str) -> None:
        self.do(run, lambda store: store.leave(run), None)
        if self.active.pop(run, _Active()).trouble is not None:
            self._leave(run)

    def discard(self, run: str) -> None:
        self.do(run, lambda store: store.remove(run), None)
        self.active.pop(run, None)

    def journal(self, run: str) -> Journal:
        return _BoundJournal(self, run)

    def put_passages(self, run: str, passages: Iterable[Mapping[str, Any]]) -> None:
        kept = [dict(item) for item in passages]
        self.active[run].pages.update((item["id"], item) for item in kept)
        self.do(run, lambda store: store.put_passages(run, kept), None)

    def passages(self, run: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        here = self.active[run].pages
        found = {item: here[item] for item in ids if item in here}
        missing = [item for item in ids if item not in here]
        nothing: dict[str, dict[str, Any]] = {}
        if missing:
            return found | self.do(run, lambda store: store.passages(run, missing), nothing)
        return found

    def earlier(self, run: str) -> Earlier:
        return self.do(run, lambda store: store.earlier(run), Earlier())

    def keeps(self, run: str) -> bool:
        active = self.active.get(run)
        return bool(self._settings.keep) and not (active and active.trouble)

    def close(self) -> None:
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            with contextlib.suppress(*_FAILURES):  # the answers are out: nobody is left to tell
                store.close()

    def _leave(self, run: str) -> None:
        """A run that could not be recorded to its end must not seem to go on."""
        if self._store is not None:
            with contextlib.suppress(*_FAILURES):
                self._store.leave(run)

    def do(
        self,
        run: str,
        work: Callable[[RunStore], T],
        otherwise: T,
        *,
        raising: type[RunError] | tuple[()] = (),
    ) -> T:
        if self._store is None or (run in self.active and self.active[run].trouble):
            return otherwise
        try:
            return work(self._store)
        except raising:
            raise
        except _FAILURES as error:
            self._fail(run, error)
            return otherwise

    def _fail(self, run: str, error: Exception) -> None:
        if self._store is not None:
            self._store.discard(run)
        self.active[run].trouble = Trouble(
            node="record", error=type(error).__name__, message=str(error), consequence=_CONSEQUENCE
        )


@dataclass(frozen=True, slots=True)
class _BoundJournal:
    recorder: Recorder
    run: str

    def get(self, key: str) -> JournalEntry | None:
        known = self.recorder.active[self.run].journal.get(key)
        return known or self.recorder.do(
            self.run, lambda store: store.journal(self.run).get(key), None
        )

    def put(self, key: str, entry: JournalEntry) -> None:
        self.recorder.active[self.run].journal.put(key, entry)
        self.recorder.do(self.run, lambda store: store.journal(self.run).put(key, entry), None)


def oldest_kept(settings: RunSettings) -> str | None:
    """When the oldest run began that `runs.keep_days` keeps; None = however old it is."""
    if not settings.keep_days:
        return None
    return (datetime.now(UTC) - timedelta(days=settings.keep_days)).isoformat(timespec="seconds")


# The journal of a run as its record holds it.

Entries = list[tuple[str, JournalEntry]]


@dataclass(frozen=True, slots=True)
class RunJournal:
    """A reply is on the disk when `put` returns. One that comes after all, when its run was left,
    is kept; one of a process from which another has taken the run over is not."""

    database: Database
    run: str
    process: str

    def get(self, key: str) -> JournalEntry | None:
        statement = "SELECT entry FROM journal WHERE run = ? AND key = ?"
        rows = self.database.select(statement, self.run, key)
        return _entry(self.run, rows[0]["entry"]) if rows else None

    def put(self, key: str, entry: JournalEntry) -> None:
        with self.database.transaction("FULL") as db:
            db.execute(
                "INSERT INTO journal (run, key, entry) SELECT ?, ?, ? WHERE EXISTS "
                "(SELECT 1 FROM runs WHERE id = ? AND process IN (?, '')) ON CONFLICT DO NOTHING",
                (self.run, key, json.dumps(asdict(entry)), self.run, self.process),
            )

    def entries(self) -> Entries:
        rows = self.database.select(
            "SELECT key, entry FROM journal WHERE run = ? ORDER BY rowid", self.run
        )
        return [(row["key"], _entry(self.run, row["entry"])) for row in rows]


def _entry(run: str, text: str) -> JournalEntry:
    try:
        return JournalEntry(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise unreadable(run, "journal", error) from error


def unreadable(run: str, what: str, error: Exception) -> RunError:
    return RunError(
        f"the {what} of run {run!r} cannot be read: {' '.join(str(error).split()[:40])}",
        hint="another version of Secondlook wrote it, or it is damaged; "
        f"secondlook runs remove {run} removes it",
    )


# A run as one piece of plain data, to be kept or looked into elsewhere (docs/runs.md).

FORMAT = "secondlook-run"
VERSION = 1
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def summary_form(run: RunSummary) -> dict[str, Any]:
    return {
        "id": run.run,
        "question": run.question,
        "workflow": run.workflow,
        "status": run.status,
        "started": run.created,
        "stop_reason": run.stop_reason,
    }


def exported(store: RunStore, run: str) -> dict[str, Any]:
    """All that the record knows of a run, and no secret: settings are recorded without their
    passwords, and an address is given without the name and password before its host."""
    found = store.get(run)
    events = [one for one in store.events(found.run) if not isinstance(one, Answered)]
    journal = store.journal(found.run).entries()
    return {
        "format": FORMAT,
        "version": VERSION,
        **summary_form(found),
        "request": _without_credentials(found.request),
        "events": [event.model_dump(mode="json") for event in events],
        "journal": [{"key": key, **asdict(entry)} for key, entry in journal],
        "passages": store.kept(found.run),
        "answer": None if found.answer is None else found.answer.model_dump(mode="json"),
    }


def _without_credentials(value: Any) -> Any:
    if isinstance(value, str):
        return _CREDENTIALS.sub("", value)
    if isinstance(value, dict):
        return {name: _without_credentials(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_credentials(one) for one in value]
    return value
