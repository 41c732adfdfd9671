"""The answer memory: research by the question that it was done for, beside the record of runs:
questions are their asker's own. An entry counts while the passages it cites say the same."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from secondlook.errors import RunMissing
from secondlook.processes import Closing
from secondlook.settings.sections import place_of
from secondlook.store.database import ALL, Kind, SqliteDatabase, open_database, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from secondlook.settings.sections import RunSettings
    from secondlook.store.database import Database, Row, Statements

MOST_KEPT = 1000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id $number_key, library TEXT NOT NULL, embedder TEXT NOT NULL,
    scope TEXT NOT NULL, manner TEXT NOT NULL, question TEXT NOT NULL, vector $bytes NOT NULL,
    run TEXT NOT NULL, created TEXT NOT NULL, cited TEXT NOT NULL, research TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_place ON answers (library, embedder, scope, manner);
CREATE INDEX IF NOT EXISTS answers_by_run ON answers (run);
"""
ANSWERS = Kind(
    name="answers",
    what="the answer memory",
    application_id=0x534C414D,
    schema=_SCHEMA,
    nothing_yet="nothing is remembered",
    begin='ask something: secondlook ask --workflow research "..."',
)
_ENTRY = "id, library, question, run, created, cited, research"

Entries = list["Entry"]


@dataclass(frozen=True, slots=True)
class CitedText:
    passage: str
    sha256: str

    @classmethod
    def of(cls, passage: str, text: str) -> CitedText:
        return cls(passage, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


@dataclass(frozen=True, slots=True)
class Entry:
    id: int
    library: str
    question: str  # without its choices
    run: str
    created: str
    cited: tuple[CitedText, ...]
    research: Mapping[str, Any] = field(repr=False)  # plain data, never a chosen letter


@dataclass(frozen=True, slots=True)
class Alike:
    entry: Entry
    similarity: float


@dataclass(frozen=True, slots=True)
class Asking:
    scope: str  # which documents were asked
    manner: str  # how: settings and models that shape the research


class AnswerMemory(Closing):
    """Threads may share one. It is opened when first needed, and made when something is first
    remembered. Every method may raise `RunError`."""

    def __init__(
        self,
        runs: RunSettings | None,
        *,
        library: str = "",
        embedder: Callable[[], str] = str,
        keep: int = MOST_KEPT,
    ) -> None:
        """`embedder` names whose vectors these are; those of another are never compared."""
        self._runs = runs
        self.library = library
        self._embedder = embedder
        self._keep = keep
        self._lock = threading.Lock()
        self._database: Database | None = None

    @classmethod
    def own(cls, runs: RunSettings, library: Path, *, embedder: Callable[[], str] = str) -> Self:
        told = place_of(library)
        address = told if told != str(library) else None
        folder = address or str(library.expanduser().resolve())
        return cls(runs, library=folder, embedder=embedder, keep=runs.keep)

    @classmethod
    def temporary(cls) -> Self:
        return cls(None)

    def close(self) -> None:
        with self._lock:
            database, self._database = self._database, None
        if database is not None:
            database.close()

    # Writing

    def put(
        self,
        question: str,
        vector: Sequence[float],
        *,
        asking: Asking,
        run: str,
        created: str,
        cited: Sequence[CitedText],
        research: Mapping[str, Any],
    ) -> int:
        """Remember it in place of what was known of the very same question; returns its id."""
        import numpy as np

        where = (self.library, self._embedder(), asking.scope, asking.manner, storable(question))
        quoted = json.dumps([[item.passage, item.sha256] for item in cited])
        row = (*where, np.asarray(vector, "<f4").tobytes(), run, created, quoted)
        with self._opened().transaction("FULL") as db:
            db.execute(
                "DELETE FROM answers WHERE library = ? AND embedder = ? AND scope = ? "
                "AND manner = ? AND question = ?",
                where,
            )
            made = db.execute(
                "INSERT INTO answers (library, embedder, scope, manner, question, vector, run, "
                "created, cited, research) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (*row, json.dumps(research)),
            ).fetchall()
            _prune(db, self._keep)
        return int(made[0]["id"])

    def forget(self, ids: Collection[int]) -> list[int]:
        return self._dropped("id = ? AND library = ?", [(one, self.library) for one in ids])

    def clear(self, *, every_library: bool = False) -> int:
        if every_library:
            return len(self._dropped("1 = 1", [()]))
        return len(self._dropped("library = ?", [(self.library,)]))

    def prune(self, keep: int) -> None:
        database = self._found()
        if database is not None:
            with database.transaction("NORMAL") as db:
                _prune(db, keep)

    def _dropped(self, which: str, values: Sequence[tuple[Any, ...]]) -> list[int]:
        database = self._found()
        if database is None:
            return []
        with database.transaction("FULL") as db:
            chosen = f"SELECT id FROM answers WHERE {which}"  # noqa: S608
            gone = [row["id"] for value in values for row in db.execute(chosen, value).fetchall()]
            db.executemany("DELETE FROM answers WHERE id = ?", [(one,) for one in gone])
        return gone

    # Reading

    def find(self, vector: Sequence[float], *, asking: Asking, most: int = 5) -> list[Alike]:
        import numpy as np

        database = self._found()
        if database is None:
            return []
        rows = database.select(
            f"SELECT {_ENTRY}, vector FROM answers WHERE library = ? AND embedder = ? "  # noqa: S608
            "AND scope = ? AND manner = ? AND length(vector) = ? ORDER BY id DESC",
            *(self.library, self._embedder(), asking.scope, asking.manner, 4 * len(vector)),
        )
        if not rows:
            return []
        held = np.frombuffer(b"".join(row["vector"] for row in rows), "<f4").reshape(len(rows), -1)
        likeness = held @ np.asarray(vector, "<f4")
        best = np.argsort(-likeness, kind="stable")[:most]
        return [Alike(_entry(rows[at]), float(likeness[at])) for at in best]

    def list(self) -> Entries:
        database = self._found()
        if database is None:
            return []
        rows = database.select(
            f"SELECT {_ENTRY} FROM answers WHERE library = ? ORDER BY id DESC",  # noqa: S608
            self.library,
        )
        return [_entry(row) for row in rows]

    def _found(self) -> Database | None:
        """None where nothing can have been remembered: looking alone makes nothing."""
        try:
            return self._opened(create=False)
        except RunMissing:
            return None

    def _opened(self, *, create: bool = True) -> Database:
        with self._lock:
            if self._database is None:
                if self._runs is not None:
                    self._database = open_database(self._runs, ANSWERS, create=create)
                elif create:
                    self._database = SqliteDatabase(None, kind=ANSWERS)
                else:
                    raise RunMissing(ANSWERS.nothing_yet)
            return self._database


def forget_runs(runs: RunSettings, names: Collection[str]) -> None:
    """Delete what was remembered of these runs, whose record is kept there."""
    try:
        database = open_database(runs, ANSWERS, create=False)
    except RunMissing:
        return
    try:
        with database.transaction("FULL") as db:
            db.executemany("DELETE FROM answers WHERE run = ?", [(name,) for name in names])
    finally:
        database.close()


def _prune(db: Statements, keep: int) -> None:
    db.execute(
        "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY id DESC LIMIT ? "
        "OFFSET ?)",
        (ALL, keep),
    )


def _entry(row: Row) -> Entry:
    told = {name: row[name] for name in ("id", "library", "question", "run", "created")}
    try:
        cited = tuple(CitedText(*item) for item in json.loads(row["cited"]))
        research = dict(json.loads(row["research"]))
    except (ValueError, TypeError):
        # What cannot be read is as good as what cites nothing: no question is answered with it.
        cited, research = (), {}
    return Entry(**told, cited=cited, research=research)
