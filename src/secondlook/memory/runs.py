"""The record of runs: question, events, replies and answer of each, in one SQLite file.

Events are gathered and written in batches, one transaction each: when a node ends, when there is
a warning, when enough have come together, and with the answer. `Token` events that follow each
other are merged within a batch, so a run keeps all text that was streamed, not its rhythm.
A run that is removed while it goes on stays removed: what it still writes is left out.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from secondlook.answer import Answer, Status, StopReason, Usage
from secondlook.errors import RunError, RunMissing
from secondlook.events import EVENT, Answered, Event, NodeFinished, RunStarted, Token, Warned
from secondlook.memory.answers import forget_runs
from secondlook.memory.calls import spent_on
from secondlook.memory.checkpoints import forget
from secondlook.memory.database import Database, Safety
from secondlook.memory.handed_tables import forget_tables
from secondlook.memory.journal import Journal, JournalEntry
from secondlook.memory.ledger import Caps, Ledger
from secondlook.memory.process import Process

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

Events = list[Event]
RunStatus = Status | Literal["running", "interrupted"]
LAST = "last"
"""Names the latest run wherever a run is asked for."""
_BATCH = 64
_FLUSHED_AT_ONCE = (RunStarted, NodeFinished, Warned)
_SUMMARY = "id, created, workflow, status, stop_reason, question, process, heard"
_NEWEST_FIRST = "ORDER BY created DESC, rowid DESC"
_NAMED = 5


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
    answer: Answer | None
    """None while it is running, and for good when it was interrupted."""


@dataclass(frozen=True, slots=True)
class ListedRun(RunSummary):
    short: str | None
    request: dict[str, Any]


ListedRuns = list[ListedRun]


class RunStore:
    """Every method may raise `RunError`; `memory.recorder` is the door that never does."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._process = Process.current().to_json()
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Event]] = {}

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> RunStore:
        return cls(Database(path, create=create))

    @property
    def path(self) -> Path:
        return self._database.file

    def close(self) -> None:
        """Write what waits, then let go of the file."""
        try:
            for run in list(self._waiting):
                self.flush(run)
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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
        """Begin a run, or take up one that was interrupted."""
        request_json = json.dumps(request or {}, default=str)
        row = (run, _storable(question), workflow, created, request_json)
        with self._database.transaction("NORMAL") as db:
            begun = db.execute(
                "INSERT INTO runs (id, question, workflow, created, request, process, heard) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
                "SET process = excluded.process, heard = excluded.heard WHERE answer IS NULL",
                (*row, self._process, time.time()),
            )
            if not begun.rowcount:
                raise RunError(f"run {run!r} is finished: it cannot be started again")

    def append(self, event: Event) -> None:
        """Take in an event. `Answered` finishes the run."""
        if isinstance(event, Answered):
            self.finish(event.answer, at=event.at)
            return
        with self._lock:
            waiting = self._waiting.setdefault(event.run, [])
            _merge(waiting, event)
            full = len(waiting) >= _BATCH
        if full or isinstance(event, _FLUSHED_AT_ONCE):
            self.flush(event.run)

    def flush(self, run: str) -> None:
        """Write the events of a run that wait."""
        if self._waiting.get(run):
            with self._writing(run, "NORMAL"):
                pass

    def leave(self, run: str) -> None:
        """The run stops here without an answer: nobody works on it, though this process lives."""
        with self._writing(run, "NORMAL") as db:
            db.execute("UPDATE runs SET process = '' WHERE id = ?", (run,))

    def discard(self, run: str) -> None:
        """Let go of the events of a run that wait."""
        self._take(run)

    def finish(self, answer: Answer, *, at: float | None = None) -> None:
        """Store the answer; `at` is when it was there, in seconds since the run began."""
        row = (answer.status, answer.stop_reason, answer.model_dump_json(), at, time.time())
        with self._writing(answer.run, "FULL") as db:
            db.execute(
                "UPDATE runs SET status = ?, stop_reason = ?, answer = ?, "
                "answered_at = coalesce(?, answered_at), heard = ? WHERE id = ?",
                (*row, answer.run),
            )

    def journal(self, run: str) -> Journal:
        return RunJournal(self._database, run)

    def put_passages(self, run: str, passages: Iterable[Mapping[str, Any]]) -> None:
        """Keep passages that no library holds (web pages); each has an `id`."""
        rows = [(run, str(item["id"]), json.dumps(item), run) for item in passages]
        with self._database.transaction("NORMAL") as db:
            db.executemany(
                "INSERT OR REPLACE INTO passages SELECT ?, ?, ? "
                "WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)",
                rows,
            )

    def remove(self, run: str) -> None:
        """Delete a run and every trace of it: its checkpoints, and what was remembered of it."""
        found = self._row(run, "id")["id"]
        forget_runs(self.path, [found])
        self._drop([found])

    def prune(self, keep: int) -> list[str]:
        """Delete the oldest runs beyond `keep`, never one that is running; returns their ids."""
        rows = self._database.select(
            f"SELECT {_SUMMARY} FROM runs {_NEWEST_FIRST} LIMIT -1 OFFSET ?",  # noqa: S608
            keep,
        )
        old = [row["id"] for row in rows if _status(row) != "running"]
        if old:
            self._drop(old)
        return old

    # Reading

    def get(self, run: str) -> StoredRun:
        """By id, by a start of it that no other run shares, or `last`."""
        row = self._row(run, "*")
        answer = _answer(row)
        return StoredRun(**_summary(row), request=json.loads(row["request"]), answer=answer)

    def list(self, limit: int | None = 20) -> list[RunSummary]:
        """Newest first; no limit = all."""
        rows = self._database.select(
            f"SELECT {_SUMMARY} FROM runs {_NEWEST_FIRST} LIMIT ?",  # noqa: S608
            -1 if limit is None else limit,
        )
        return [RunSummary(**_summary(row)) for row in rows]

    def page(self, limit: int, offset: int = 0) -> ListedRuns:
        """Newest first, with what a person knows them by. No answer is read as a whole."""
        rows = self._database.select(
            f"SELECT {_SUMMARY}, request, answer FROM runs {_NEWEST_FIRST} LIMIT ? OFFSET ?",  # noqa: S608
            limit,
            offset,
        )
        return [
            ListedRun(
                **_summary(row),
                short=json.loads(row["answer"] or "{}").get("short"),
                request=json.loads(row["request"]),
            )
            for row in rows
        ]

    def events(self, run: str) -> Events:
        """In order, ending in `Answered` if the run was finished."""
        row = self._row(run, "id, answer, answered_at")
        statement = "SELECT event FROM events WHERE run = ? ORDER BY number"
        try:
            found = [
                EVENT.validate_json(item["event"])
                for item in self._database.select(statement, row["id"])
            ]
        except ValidationError as error:
            raise _unreadable(row["id"], "events", error) from error
        answer = _answer(row)
        if answer is not None:
            found.append(Answered(run=row["id"], at=row["answered_at"] or 0.0, answer=answer))
        return found

    def passages(self, run: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Those of `ids` that were kept, by id."""
        rows = self._database.select_in(
            "SELECT id, passage FROM passages WHERE run = ? AND id IN", ids, run
        )
        return {row["id"]: json.loads(row["passage"]) for row in rows}

    def spent(self, run: str) -> Usage:
        """What the run took so far, by its journal and events, for `Ledger.restore`."""
        rows = self._database.select(
            "SELECT key, entry FROM journal WHERE run = ? ORDER BY rowid", run
        )
        last = self._database.select("SELECT max(at) AS at FROM events WHERE run = ?", run)
        usages = tuple(spent_on((row["key"], _entry(run, row["entry"])) for row in rows))
        ledger = Ledger(Caps(), clock=lambda: 0.0)
        ledger.restore(Usage(by_node=usages, seconds=last[0]["at"] or 0.0))
        return ledger.usage()

    @contextlib.contextmanager
    def _writing(self, run: str, safety: Safety) -> Iterator[sqlite3.Connection]:
        """A transaction that begins with the events that wait; they wait on if it fails."""
        taken: Events = []
        try:
            with self._database.transaction(safety) as db:
                taken = self._take(run)
                db.execute("UPDATE runs SET heard = ? WHERE id = ?", (time.time(), run))
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

    def _take(self, run: str) -> Events:
        with self._lock:
            return self._waiting.pop(run, [])

    def _row(self, run: str, columns: str) -> sqlite3.Row:
        if run == LAST:
            rows = self._database.select(f"SELECT {columns} FROM runs {_NEWEST_FIRST} LIMIT 1")  # noqa: S608
        else:
            rows = self._database.select(
                f"SELECT {columns}, id FROM runs WHERE substr(id, 1, ?) = ? {_NEWEST_FIRST}",  # noqa: S608
                len(run),
                run,
            )
        return _only(rows, run)

    def _drop(self, runs: Sequence[str]) -> None:
        for run in runs:
            self.discard(run)
        self._database.drop_runs(runs)
        forget(self.path, *runs)
        forget_tables(self.path, *runs)


class RunJournal:
    """The journal of one run. A reply is on the disk when `put` returns."""

    def __init__(self, database: Database, run: str) -> None:
        self._database = database
        self._run = run

    def get(self, key: str) -> JournalEntry | None:
        statement = "SELECT entry FROM journal WHERE run = ? AND key = ?"
        rows = self._database.select(statement, self._run, key)
        return _entry(self._run, rows[0]["entry"]) if rows else None

    def put(self, key: str, entry: JournalEntry) -> None:
        with self._database.transaction("FULL") as db:
            db.execute(
                "INSERT OR IGNORE INTO journal SELECT ?, ?, ? "
                "WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)",
                (self._run, key, json.dumps(asdict(entry)), self._run),
            )


def _storable(text: str) -> str:
    """SQLite takes valid Unicode alone, and an argument of a shell may be anything."""
    return text.encode("utf-8", "replace").decode()


def _merge(waiting: list[Event], event: Event) -> None:
    last = waiting[-1] if waiting else None
    if isinstance(event, Token) and isinstance(last, Token):
        waiting[-1] = Token(run=last.run, at=last.at, text=last.text + event.text)
    else:
        waiting.append(event)


def _only(rows: list[sqlite3.Row], wanted: str) -> sqlite3.Row:
    exact = [row for row in rows if row["id"] == wanted]
    found = exact or rows
    if len(found) == 1:
        return found[0]
    if not found:
        raise RunMissing(
            "no run has been recorded" if wanted == LAST else f"there is no run {wanted!r}",
            hint="secondlook runs lists them",
        )
    named = ", ".join(row["id"] for row in found[:_NAMED])
    raise RunMissing(
        f"{len(found)} runs begin with {wanted!r}: {named}" + (", ..." * (len(found) > _NAMED)),
        hint="give more of the id",
    )


def _summary(row: sqlite3.Row) -> dict[str, Any]:
    same = ("created", "workflow", "stop_reason", "question")
    return {"run": row["id"], "status": _status(row), **{name: row[name] for name in same}}


def _status(row: sqlite3.Row) -> str:
    if row["status"]:
        return str(row["status"])
    with contextlib.suppress(ValueError, TypeError):
        if Process.from_json(row["process"]).lives(heard=row["heard"]):
            return "running"
    return "interrupted"


def _answer(row: sqlite3.Row) -> Answer | None:
    if row["answer"] is None:
        return None
    try:
        return Answer.model_validate_json(row["answer"])
    except ValidationError as error:
        raise _unreadable(row["id"], "answer", error) from error


def _entry(run: str, text: str) -> JournalEntry:
    try:
        return JournalEntry(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise _unreadable(run, "journal", error) from error


def _unreadable(run: str, what: str, error: Exception) -> RunError:
    return RunError(
        f"the {what} of run {run!r} cannot be read: {' '.join(str(error).split()[:40])}",
        hint="another version of Secondlook wrote it, or it is damaged; "
        f"secondlook runs remove {run} removes it",
    )
