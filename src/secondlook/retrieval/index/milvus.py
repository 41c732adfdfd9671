"""Milvus, for libraries that one machine cannot hold: the same port, on a server of its own."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from secondlook.errors import LibraryBusy, LibraryError, LibraryFormat, LibraryMissing
from secondlook.retrieval.index import milvus_server as rows
from secondlook.retrieval.index.milvus_server import MOST_BYTES, PARTITIONS, Server, among
from secondlook.retrieval.index.port import (
    EVERYTHING,
    Entry,
    Filter,
    IndexStats,
    Scored,
    best,
    checked_vectors,
    distinct_ids,
    ranked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from secondlook.retrieval.index.port import Vectors

T = TypeVar("T")

REWRITTEN_UP_TO = 200_000  # passages that `compact` writes anew, for exact BM25
_PROBED = 128  # partitions that a search looks into unless it must be exact
_NAMES_AT_ONCE = 1000
_MANY_COMMITS = 32
_FEW_ROWS = 200
_NOTICEABLE = 0.15
_HEADS = "_head"
_UNSEEN_FOR = (0.01, 0.05, 0.2, 0.5)  # seconds between looks for a head that is not seen
_REBUILD = "secondlook rebuild makes it anew from the stored texts"


class MilvusIndex:
    """On collections whose names begin with `name`. Threads may share one; one writer at a time."""

    def __init__(self, server: Server, name: str, head: Head) -> None:
        self._server, self._name, self._dimensions = server, name, head.dimensions
        self._writing = threading.Lock()
        self._known = head
        self._counted: tuple[Head, dict[str, int]] | None = None

    @classmethod
    def open(
        cls,
        address: str,
        name: str,
        *,
        dimensions: int,
        token: str | None = None,
        create: bool = False,
    ) -> Self:
        """Open the index `name` at a server, or with `create` make it there if need be."""
        server = Server(address, token=token)
        heads = name + _HEADS
        head: Head | None = None
        if server.has(heads):
            if "said" not in server.fields(heads):
                raise LibraryFormat(
                    f"the collection {heads!r} at {server.address} is not one of ours",
                    hint='another database: library.index = "milvus:http://HOST:PORT/DATABASE"',
                )
            server.call("load_collection", heads)
            head = _read_head(server, heads)
            if head is not None and not server.has(head.collection):
                said = f"the collection {head.collection!r} at {server.address} is missing"
                raise LibraryFormat(said, hint=_REBUILD)
        if head is None:
            if not create:
                raise LibraryMissing(f"Milvus at {server.address} holds no index {name!r}")
            # The head comes last: until it is there, nothing is.
            head = Head(turn=1, collection=f"{name}_1", commit=0, dimensions=dimensions)
            server.drop(head.collection)
            server.create_rows(head.collection, dimensions)
            if not server.has(heads):
                server.create_heads(heads)
            _write_head(server, heads, head)
        if head.dimensions != dimensions:
            held = f"The index {name!r} holds vectors of {head.dimensions} dimensions"
            raise LibraryFormat(f"{held}, not {dimensions}", hint=_REBUILD)
        server.call("load_collection", head.collection)
        return cls(server, name, head)

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        replaced = {entry.document for entry in entries} | set(replacing)
        ids = distinct_ids(entries)
        checked = checked_vectors(vectors, len(entries), self._dimensions)
        with self._writing:
            head = self._ready()
            made = rows.rows(entries, checked, commit=head.commit + 1)
            self._server.insert(head.collection, made)
            self._commit(head, added=len(made), gone=self._doomed(head, replaced, ids))

    def delete(self, documents: Collection[str]) -> None:
        with self._writing:
            head = self._ready()
            if gone := self._doomed(head, documents, ()):
                self._commit(head, added=0, gone=gone)

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        query = checked_vectors(vector.reshape(1, -1), 1, self._dimensions)[0].tolist()

        def search(head: Head, limit: int) -> list[Scored]:
            found: list[tuple[str, float]] = []
            for probed in (PARTITIONS,) if exact else (_PROBED, PARTITIONS):
                # A filter may leave little in the partitions that are probed first.
                if len(found) < limit:
                    expression = _both(head, where)
                    found = self._server.search(
                        head.collection, "vector", query, limit, expression, nprobe=probed
                    )
            return ranked(found, digits=6)

        return self._reading(lambda head: best(lambda limit: search(head, limit), k, where))

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        query = rows.tokens(terms)
        if not query:
            return []

        def search(head: Head, limit: int) -> list[Scored]:
            expression = _both(head, where)
            found = self._server.search(head.collection, "weights", query, limit, expression)
            # Milvus Lite tells BM25 as a negative distance, Milvus as a score.
            scores = ((id_, abs(score)) for id_, score in found)
            return [hit for hit in ranked(scores, digits=5) if hit.score > 0]

        return self._reading(lambda head: best(lambda limit: search(head, limit), k, where))

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        held = self._held(ids, rows.ENTRY_FIELDS)
        return [rows.entry(held[id_]) for id_ in ids if id_ in held]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        held = self._held(ids, ("id", "vector"))
        return {id_: np.asarray(row["vector"], dtype=np.float32) for id_, row in held.items()}

    def documents(self) -> dict[str, int]:
        def count(head: Head) -> tuple[Head, dict[str, int]]:
            if self._counted is not None and self._counted[0].shows_what(head):
                return self._counted
            pages = self._server.pages(head.collection, head.visible, ["document"])
            return head, dict(Counter(row["document"] for page in pages for row in page))

        self._counted = self._reading(count)
        return dict(self._counted[1])

    def count(self) -> int:
        return sum(self.documents().values())

    def stats(self) -> IndexStats:
        held, head = self.documents(), self._newest()
        due = _why_compact(head)
        # Milvus does not say how many bytes it holds: what the vectors and keys take at least.
        size = head.rows * (4 * self._dimensions + 32)
        return IndexStats(sum(held.values()), len(held), size, bool(due), due)

    def compact(self, *, purge: bool = False) -> None:
        """Milvus deletes the files of a dropped collection when its own garbage collection comes
        to them; until then bytes of what was purged stay on its disks, out of anybody's reach."""
        with self._writing:
            head = self._ready()
            target = head.collection
            if purge or head.rows <= REWRITTEN_UP_TO:
                # All rows that count in a new collection, then the head points there.
                name, _, serial = head.collection.rpartition("_")
                target = f"{name}_{int(serial) + 1}"
                self._server.drop(target)
                self._server.create_rows(target, self._dimensions)
                for page in self._server.pages(head.collection, head.visible, rows.STORED_FIELDS):
                    self._server.insert(target, page)
            self._server.call("flush", target)
            if target == head.collection:
                self._server.call("compact", target)
            counts = {"added": 0, "removed": 0, "commits": 0}
            self._write(replace(head, turn=head.turn + 1, gone=(), collection=target, **counts))
            if target != head.collection:
                for other in self._server.names(f"{self._name}_"):
                    if other not in {target, self._name + _HEADS}:
                        self._server.drop(other)

    # Writing

    def _ready(self) -> Head:
        """The head, with everything finished or undone that a killed writer left."""
        head = self._newest()
        self._server.delete(head.collection, f"commit > {head.commit}")
        return self._cleared(head) if head.gone else head

    def _doomed(
        self, head: Head, documents: Collection[str], ids: Collection[str]
    ) -> tuple[int, ...]:
        """Keys of the rows that documents of these names hold, or that have one of these ids."""
        keys: set[int] = set()
        named = [("document_key", text) for text in sorted(documents)]
        for part in _parts([*named, *(("id_key", text) for text in sorted(ids))]):
            either = " or ".join(
                rows.any_of(field, [text for kind, text in part if kind == field])
                for field in ("document_key", "id_key")
            )
            expression = f"{head.visible} and ({either})"
            for page in self._server.pages(head.collection, expression, ["key"]):
                keys.update(row["key"] for row in page)
        return tuple(sorted(keys))

    def _commit(self, head: Head, *, added: int, gone: tuple[int, ...]) -> None:
        if added or gone:
            after = replace(
                head,
                turn=head.turn + 1,
                commit=head.commit + 1,
                gone=gone,
                rows=head.rows + added - len(gone),
                added=head.added + added,
                removed=head.removed + len(gone),
                commits=head.commits + 1,
            )
            self._write(after)
            if gone:
                self._cleared(after)

    def _cleared(self, head: Head) -> Head:
        self._server.delete_keys(head.collection, head.gone)
        return self._write(replace(head, turn=head.turn + 1, gone=()))

    def _write(self, head: Head) -> Head:
        _write_head(self._server, self._name + _HEADS, head)
        return head

    # Reading

    def _newest(self) -> Head:
        heads = self._name + _HEADS
        head = None
        try:
            head = _read_head(self._server, heads)
        except LibraryError:
            if self._server.has(heads):  # raises its own error where the server is away
                raise
        if head is None:
            said = f"Milvus at {self._server.address} holds no index {self._name!r} any more"
            raise LibraryFormat(said, hint=_REBUILD)
        return head

    def _reading(self, read: Callable[[Head], T]) -> T:
        """What `read` finds at the newest commit. If the head moved meanwhile, rows may have been
        deleted that it should have seen: it is done again."""
        head = self._known
        for _ in range(100):
            problem: LibraryError | None = None
            try:
                found = read(head)
            except LibraryError as error:
                problem = error
            newest = self._newest()
            if newest.shows_what(head):
                if problem:
                    raise problem
                return found
            self._known = head = newest
        raise LibraryBusy(f"the index {self._name!r} changes too fast to be read", hint="try again")

    def _held(self, ids: Sequence[str], fields: Sequence[str]) -> dict[str, dict[str, Any]]:
        def read(head: Head) -> dict[str, dict[str, Any]]:
            found = {}
            for part in _parts(sorted(set(ids))):
                expression = f"{head.visible} and {rows.any_of('id_key', part)}"
                for row in self._server.query(head.collection, expression, fields):
                    found[row["id"]] = row
            return found

        return self._reading(read) if ids else {}


def drop(address: str, name: str, *, token: str | None = None) -> None:
    server = Server(address, token=token)
    for collection in server.names(f"{name}_"):
        server.drop(collection)


def _both(head: Head, where: Filter) -> str:
    return " and ".join([head.visible, *rows.predicate(where)])


def _parts(named: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(named), _NAMES_AT_ONCE):
        yield named[start : start + _NAMES_AT_ONCE]


def _why_compact(head: Head) -> str:
    if head.commits > _MANY_COMMITS:
        return f"{head.commits} small commits are not merged yet"
    least = max(_FEW_ROWS, _NOTICEABLE * head.rows)
    if head.added > least:
        return f"{head.added} of {head.rows} passages came since the last compaction"
    if head.removed > least:
        return f"{head.removed} deleted passages may still count in the ranking by words"
    return ""


# Which rows of a Milvus collection count: what makes a commit whole or not there at all.

FORMAT = 1
_MOST_PARTS = 100_000


@dataclass(frozen=True, slots=True)
class Head:
    turn: int  # heads are written one after the other; the newest whole one is in force
    collection: str  # where the rows are
    commit: int  # the last commit that happened
    dimensions: int
    gone: tuple[int, ...] = ()  # keys of rows that do not count any more and may still be there
    rows: int = 0
    added: int = 0  # rows since the last compaction, as are the next two
    removed: int = 0
    commits: int = 0
    format: int = FORMAT

    @property
    def visible(self) -> str:
        shown = f"commit <= {self.commit}"
        return f"{shown} and not ({among('key', self.gone)})" if self.gone else shown

    def shows_what(self, other: Head) -> bool:
        """Whether a reader of either sees the same rows."""
        return (self.collection, self.commit) == (other.collection, other.commit)


def _read_head(server: Server, collection: str) -> Head | None:
    """Milvus Lite may look at the rows before a head is written and at the deletions after it,
    and then shows none for a moment: only a head that stays away is not there."""
    head = _shown_head(server, collection)
    for pause in _UNSEEN_FOR:
        if head:
            break
        time.sleep(pause)
        head = _shown_head(server, collection)
    return head


def _shown_head(server: Server, collection: str) -> Head | None:
    fields = ["turn", "part", "parts", "said"]
    turns: dict[int, dict[int, dict[str, Any]]] = {}
    for row in server.query(collection, "turn >= 0", fields):
        turns.setdefault(row["turn"], {})[row["part"]] = row
    for turn in sorted(turns, reverse=True):
        parts = turns[turn]
        if len(parts) == next(iter(parts.values()))["parts"]:
            return _head("".join(parts[part]["said"] for part in sorted(parts)), turn)
    return None


def _write_head(server: Server, collection: str, head: Head) -> None:
    """It is inserted before older ones are deleted, and the one before it stays: a server that
    looks at the rows before this write and at the deletions after it still shows a head."""
    said = json.dumps(asdict(head))
    texts = [said[start : start + MOST_BYTES] for start in range(0, len(said), MOST_BYTES)]
    shared = {"turn": head.turn, "parts": len(texts), "unused": [1.0, 0.0]}
    rows = [
        {"key": head.turn * _MOST_PARTS + part, "part": part, "said": text, **shared}
        for part, text in enumerate(texts)
    ]
    server.insert(collection, rows)
    server.delete(collection, f"turn < {head.turn - 1}")


def _head(said: str, turn: int) -> Head:
    found, head = None, None
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        raw = json.loads(said)
        found = raw.get("format")
        head = Head(**{**raw, "gone": tuple(raw["gone"])}) if found == FORMAT else None
    if head is None:
        raise LibraryFormat(
            f"what Milvus holds of this library has format {found!r} (turn {turn}); "
            f"this version reads {FORMAT}",
            hint=f"upgrade secondlook; or {_REBUILD}",
        )
    return head
