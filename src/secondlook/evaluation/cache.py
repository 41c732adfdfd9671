"""Results that evaluations keep, in one file, and the time that having them saves."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import threading
import time
from contextvars import ContextVar
from dataclasses import asdict, astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from secondlook.answer import Usage
from secondlook.errors import UsageError
from secondlook.models.calls import Asker, Models
from secondlook.models.journal import Journal, JournalEntry, content_of
from secondlook.reading.languages import trained_for
from secondlook.reading.port import Choose, Embedder, Reader, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from secondlook.models.budget import Ledger
    from secondlook.settings.sections import Settings

    Vectors = NDArray[np.float32]

Made = TypeVar("Made")
Item = TypeVar("Item")
_SECONDS = struct.Struct("<d")  # before each value that `Memory.each` keeps
_AT_ONCE = 500  # keys of one query; SQLite takes no more than about a thousand


@dataclass(slots=True)
class Saved:
    """Seconds that one question did not take because something was remembered, by node."""

    by_node: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.by_node.values())


SAVED: ContextVar[Saved | None] = ContextVar("saved", default=None)
"""Of the question that is being answered; the nodes of its run inherit it."""


def save(seconds: float) -> None:
    """Counts for the question that is being answered; less than nothing where work was repeated."""
    from langgraph.config import get_config

    saved = SAVED.get()
    if saved is None:
        return
    try:
        node = str(get_config()["metadata"]["langgraph_node"])
    except (RuntimeError, KeyError):
        node = ""
    saved.by_node[node] = saved.by_node.get(node, 0.0) + seconds


@dataclass(slots=True)
class Counted:
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

    def passed(self, counted: Counted, many: int, work: Callable[[], Made]) -> tuple[Made, float]:
        """What comes of the work, alone on the machine, and the seconds that it took."""
        with self.passing:
            began = time.perf_counter()
            made = work()
            seconds = time.perf_counter() - began
            counted.seconds += seconds
            counted.made += many
        return made, seconds

    def each(
        self,
        counted: Counted,
        items: Mapping[bytes, Item],
        work: Callable[[list[Item]], Iterable[bytes]],
    ) -> dict[bytes, bytes]:
        """What comes of each item, by its key; only of those that are new is it made."""
        held = self.get([*items])
        save(sum(_SECONDS.unpack_from(value)[0] for value in held.values()))
        counted.remembered += len(held)
        if new := {key: item for key, item in items.items() if key not in held}:
            made, seconds = self.passed(counted, len(new), lambda: [*work([*new.values()])])
            took = _SECONDS.pack(seconds / len(new))
            fresh = {key: took + value for key, value in zip(new, made, strict=True)}
            self.put(fresh.items())
            held |= fresh
        return {key: value[_SECONDS.size :] for key, value in held.items()}

    def told(self, indexing: float, total: float) -> dict[str, float | None]:
        """Seconds and passes of models, and how the whole compares with those of small ones."""
        told = {"indexing_seconds": round(indexing, 3), "total_seconds": round(total, 3)}
        units = {"reader_pairs": self.reader, "embedder_texts": self.embedder}
        for unit, one in {**units, "model_calls": self.models}.items():
            name = unit.partition("_")[0]
            told |= {f"{name}_seconds": round(one.seconds, 3), unit: one.made}
            told[f"{name}_remembered"] = one.remembered
        small = self.reader.seconds + self.embedder.seconds
        return {**told, "ratio": round(total / small, 3) if small else None}

    def close(self) -> None:
        with self._lock:
            self._database.close()


def key_of(*parts: str) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()[:16]


# What small models and chat models said before, so that a second configuration pays only for
# what is new. What a remembered result once took is counted as if it had been paid again: a
# configuration must not look fast because it came second.


class RememberingReader:
    """A reader that reads no question and the same passages twice."""

    def __init__(self, reader: Reader, memory: Memory) -> None:
        self._reader, self._memory = reader, memory
        self.name, self.languages = reader.name, trained_for(reader)
        self.judges = bool(getattr(reader, "judges", False))

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        counted, key = self._memory.reader, key_of("read", self.name, question, *passages)
        if choose is not None:
            key = key_of("chosen", self.name, question, *passages)
        if known := self._memory.get([key]).get(key):
            seconds, glances, chosen, readings = json.loads(known)
            # A reader that does not glance asks for no choice.
            if choose is None or glances is None or [*choose(glances)] == chosen:
                counted.remembered += len(passages)
                save(seconds)
                return [Reading(*fields) for fields in readings]
        glances = chosen = None

        def watched(found: Sequence[float]) -> Sequence[int]:
            nonlocal glances, chosen
            assert choose is not None  # noqa: S101 - else nobody asks
            glances, chosen = [*found], [*choose(found)]
            return chosen

        def work() -> list[Reading]:
            return self._reader.read(question, passages, choose=watched if choose else None)

        made, seconds = self._memory.passed(counted, len(passages), work)
        told = [seconds, glances, chosen, [astuple(one) for one in made]]
        self._memory.put([(key, json.dumps(told, default=lambda one: one.item()).encode())])
        return made

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """Raw logits of support, as the reader gives them."""
        judge = getattr(self._reader, "judge", None)
        if judge is None:
            raise UsageError(f"the reader {self.name!r} does not judge support")
        keys = [key_of("judged", self.name, *pair) for pair in claims]
        held = self._memory.each(
            self._memory.reader,
            dict(zip(keys, claims, strict=True)),
            lambda new: map(_SECONDS.pack, judge(new)),
        )
        return [_SECONDS.unpack(held[key])[0] for key in keys]


class RememberingEmbedder:
    def __init__(self, embedder: Embedder, memory: Memory, *, passages: bool) -> None:
        self._embedder, self._memory, self._passages = embedder, memory, passages
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self.max_tokens, self.token_starts = embedder.max_tokens, embedder.token_starts

    def embed_query(self, text: str) -> Vectors:
        return self._remembered("query", [text])[0]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not self._passages or not texts:
            work = partial(self._embedder.embed_passages, texts)
            return self._memory.passed(self._memory.embedder, len(texts), work)[0]
        return np.stack(self._remembered("passage", texts))

    def _remembered(self, kind: str, texts: Sequence[str]) -> list[Vectors]:
        def work(new: list[str]) -> Iterable[bytes]:
            if kind == "query":
                return (self._embedder.embed_query(text).tobytes() for text in new)
            return (vector.tobytes() for vector in self._embedder.embed_passages(new))

        keys = [key_of("embedder", self.name, kind, text) for text in texts]
        items = dict(zip(keys, texts, strict=True))
        held = self._memory.each(self._memory.embedder, items, work)
        return [np.frombuffer(held[key], dtype=np.float32) for key in keys]


class RememberingModels(Models):
    """Chat models whose replies are kept for every run. Each repetition asks anew."""

    def __init__(
        self, settings: Settings, *, memory: Memory, repeat: int = 0, **options: Any
    ) -> None:
        super().__init__(settings, **options)
        self._memory = memory
        self._repeat = repeat

    def asker(self, *, ledger: Ledger, journal: Journal, **who: Any) -> Asker:
        kept = _KeptReplies(self._memory, ledger, journal, salt=f"{self._repeat}{self._files()}")
        return super().asker(ledger=ledger, journal=kept, **who)

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
        content = content_of(key)
        if known is not None or content is None:
            return known
        name = self._key(content)
        value = self.memory.get([name]).get(name)
        if value is None:
            return None
        entry = JournalEntry(**json.loads(value))
        self.memory.models.remembered += entry.calls
        self.ledger.restore(Usage(by_node=(entry.usage,)))
        save(entry.seconds)
        return entry

    def put(self, key: str, entry: JournalEntry) -> None:
        self.own.put(key, entry)
        if entry.state != "sent":
            self.memory.models.made += entry.calls
            self.memory.models.seconds += entry.seconds
        if (content := content_of(key)) is not None:
            self.memory.put([(self._key(content), json.dumps(asdict(entry)).encode())])

    def _key(self, content: str) -> bytes:
        return key_of("reply", self.salt, content)
