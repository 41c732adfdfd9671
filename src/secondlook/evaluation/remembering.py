"""What small models and chat models said before, so that a second configuration pays only for
what is new. What a remembered result once took is counted as if it had been paid again: a
configuration must not look fast because it came second."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import threading
import time
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.answer import Usage
from secondlook.errors import UsageError
from secondlook.memory.journal import JournalEntry
from secondlook.models import Models
from secondlook.reading.port import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from secondlook.memory.journal import Journal
    from secondlook.memory.ledger import Ledger
    from secondlook.models import Asker
    from secondlook.reading.port import Embedder, Reader
    from secondlook.settings import Settings

    Vectors = NDArray[np.float32]

_READING = struct.Struct("<ddqqddqd")
_AT_ONCE = 500
"""Keys of one query; SQLite takes no more than about a thousand."""


@dataclass(slots=True)
class Saved:
    """Seconds that one question did not take because something was remembered, by node."""

    by_node: dict[str, float] = field(default_factory=dict)

    def add(self, seconds: float) -> None:
        node = _current_node()
        self.by_node[node] = self.by_node.get(node, 0.0) + seconds

    @property
    def seconds(self) -> float:
        return sum(self.by_node.values())


SAVED: ContextVar[Saved | None] = ContextVar("saved", default=None)
"""Of the question that is being answered; the nodes of its run inherit it."""


def _save(seconds: float) -> None:
    saved = SAVED.get()
    if saved is not None:
        saved.add(seconds)


def _current_node() -> str:
    from langgraph.config import get_config

    try:
        return str(get_config()["metadata"]["langgraph_node"])
    except (RuntimeError, KeyError):
        return ""


@dataclass(slots=True)
class Counted:
    """What one kind of model was asked in this process."""

    seconds: float = 0.0
    made: int = 0
    remembered: int = 0


class Memory:
    """Results by key, in one file that several processes may share."""

    def __init__(self, file: Path) -> None:
        self.reader = Counted()
        self.embedder = Counted()
        self.models = Counted()
        # The models use every core: two passes at once would only slow each other down, and
        # neither could say what it took.
        self.passing = threading.Lock()
        self._lock = threading.Lock()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=60, check_same_thread=False)
            self._database.executescript(
                "pragma journal_mode = wal; pragma synchronous = normal;"
                "create table if not exists results (key blob primary key, value blob not null)"
                " without rowid"
            )
        except (OSError, sqlite3.Error) as error:
            raise UsageError(
                f"what earlier evaluations found cannot be read from {str(file)!r}: {error}",
                hint="delete the file, or name another folder in SECONDLOOK_CACHE",
            ) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for first in range(0, len(keys), _AT_ONCE):
            part = keys[first : first + _AT_ONCE]
            asked = f"select key, value from results where key in ({','.join('?' * len(part))})"  # noqa: S608
            with self._lock:
                found.update(self._database.execute(asked, part).fetchall())
        return found

    def put(self, results: Iterable[tuple[bytes, bytes]]) -> None:
        with self._lock, self._database:
            self._database.executemany("insert or ignore into results values (?, ?)", results)

    def close(self) -> None:
        with self._lock:
            self._database.close()


def key_of(*parts: str) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()[:16]


class RememberingReader:
    """A reader that reads no question and passage twice."""

    def __init__(self, reader: Reader, memory: Memory) -> None:
        self._reader = reader
        self._memory = memory

    @property
    def name(self) -> str:
        return self._reader.name

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        keys = [key_of("reader", self.name, question, passage) for passage in passages]
        known = {key: _unpacked(value) for key, value in self._memory.get(keys).items()}
        counted = self._memory.reader
        counted.remembered += len(known)
        _save(sum(seconds for _, seconds in known.values()))
        new = {key: text for key, text in zip(keys, passages, strict=True) if key not in known}
        if new:
            known.update(self._read(question, new))
        return [known[key][0] for key in keys]

    def _read(
        self, question: str, passages: Mapping[bytes, str]
    ) -> dict[bytes, tuple[Reading, float]]:
        with self._memory.passing:
            began = time.perf_counter()
            readings = self._reader.read(question, list(passages.values()))
            seconds = time.perf_counter() - began
            self._memory.reader.seconds += seconds
            self._memory.reader.made += len(passages)
        each = seconds / len(passages)
        made = {key: (one, each) for key, one in zip(passages, readings, strict=True)}
        self._memory.put((key, _packed(one, each)) for key, one in zip(made, readings, strict=True))
        return made


class RememberingEmbedder:
    """An embedder that embeds no query twice, and no passage where that is asked for."""

    def __init__(self, embedder: Embedder, memory: Memory, *, passages: bool) -> None:
        self._embedder = embedder
        self._memory = memory
        self._passages = passages

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def token_starts(self, text: str) -> list[int]:
        return self._embedder.token_starts(text)

    def embed_query(self, text: str) -> Vectors:
        return self._remembered("query", [text])[0]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not self._passages or not texts:
            return self._embedded("passage", texts)[0]
        return np.stack(self._remembered("passage", texts))

    def _remembered(self, kind: str, texts: Sequence[str]) -> list[Vectors]:
        keys = [key_of("embedder", self.name, kind, text) for text in texts]
        known: dict[bytes, Vectors] = {}
        for key, value in self._memory.get(keys).items():
            _save(struct.unpack_from("<d", value)[0])
            known[key] = np.frombuffer(value, dtype=np.float32, offset=8)
        self._memory.embedder.remembered += len(known)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            vectors, seconds = self._embedded(kind, list(new.values()))
            took = struct.pack("<d", seconds / len(new))
            known.update(zip(new, vectors, strict=True))
            self._memory.put((key, took + known[key].tobytes()) for key in new)
        return [known[key] for key in keys]

    def _embedded(self, kind: str, texts: Sequence[str]) -> tuple[Vectors, float]:
        with self._memory.passing:
            began = time.perf_counter()
            if kind == "query":
                vectors = np.stack([self._embedder.embed_query(text) for text in texts])
            else:
                vectors = self._embedder.embed_passages(texts)
            seconds = time.perf_counter() - began
            self._memory.embedder.seconds += seconds
            self._memory.embedder.made += len(texts)
        return vectors, seconds


class RememberingModels(Models):
    """Chat models whose replies are kept by model, prompt and options, for every run. Each
    repetition asks anew."""

    def __init__(
        self, settings: Settings, *, memory: Memory, repeat: int = 0, **options: Any
    ) -> None:
        super().__init__(settings, **options)
        self._memory = memory
        self._repeat = repeat

    def asker(self, *, run: str, workflow: str, ledger: Ledger, journal: Journal) -> Asker:
        kept = _KeptReplies(self._memory, ledger, journal, salt=f"{self._repeat}{self._files()}")
        return super().asker(run=run, workflow=workflow, ledger=ledger, journal=kept)

    def _files(self) -> str:
        """What tells the model files of this evaluation from others at the same paths."""
        files = [
            Path(spec.model).expanduser()
            for spec in self.cast.specs()
            if spec.provider == "gguf" and spec.named
        ]
        return "".join(f"/{file.stat().st_size}" for file in files if file.is_file())


@dataclass(frozen=True, slots=True)
class _KeptReplies:
    memory: Memory
    ledger: Ledger
    own: Journal
    salt: str

    def get(self, key: str) -> JournalEntry | None:
        known = self.own.get(key)
        if known is not None:
            return known
        name = self._key(key)
        value = self.memory.get([name]).get(name)
        if value is None:
            return None
        entry = JournalEntry(**json.loads(value))
        self.memory.models.remembered += entry.calls
        self.ledger.restore(Usage(by_node=(entry.usage,)))
        _save(entry.seconds)
        return entry

    def put(self, key: str, entry: JournalEntry) -> None:
        self.own.put(key, entry)
        self.memory.models.made += entry.calls
        self.memory.models.seconds += entry.seconds
        self.memory.put([(self._key(key), json.dumps(asdict(entry)).encode())])

    def _key(self, key: str) -> bytes:
        return key_of("reply", self.salt, key)


def _packed(reading: Reading, seconds: float) -> bytes:
    return _READING.pack(
        reading.relevance,
        reading.answerable,
        reading.start,
        reading.end,
        reading.span_score,
        reading.null_score,
        reading.windows,
        seconds,
    )


def _unpacked(value: bytes) -> tuple[Reading, float]:
    *fields, seconds = _READING.unpack(value)
    return Reading(*fields), seconds
