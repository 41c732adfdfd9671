"""Results that evaluations keep, in one file, and the time that having them saves."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import threading
import time
from contextvars import ContextVar
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from secondlook.answer import Usage
from secondlook.errors import UsageError
from secondlook.models.calls import Models
from secondlook.models.journal import JournalEntry, content_of
from secondlook.reading.languages import trained_for
from secondlook.reading.port import Reading, glimpse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from secondlook.models.budget import Ledger
    from secondlook.models.calls import Asker
    from secondlook.models.journal import Journal
    from secondlook.reading.port import Choose, Embedder, Reader
    from secondlook.settings.sections import Settings

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


def save(seconds: float) -> None:
    """Counts for the question that is being answered; less than nothing where work was repeated."""
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


# What small models and chat models said before, so that a second configuration pays only for
# what is new. What a remembered result once took is counted as if it had been paid again: a
# configuration must not look fast because it came second.

if TYPE_CHECKING:
    Vectors = NDArray[np.float32]
    _Readings = dict[str, tuple[Reading, float]]

_READING = struct.Struct("<ddqqddq??dd")
_SUPPORT = struct.Struct("<dd")
Made = TypeVar("Made")


@dataclass(slots=True)
class _Known:
    """What is known of the passages of one question, and the seconds each reading took."""

    glances: _Readings
    looks: _Readings

    def at_once(self, text: str) -> bool:
        """Looked at by a reader that does not glance."""
        return text in self.looks and self.looks[text][0].glance is None


class RememberingReader:
    """A reader that reads no question and passage twice.

    Glances and looks are kept apart. Who chooses must see the glance at every passage, and one that
    is not chosen comes back glanced at, also where a look at it is known: with and without memory
    the results are equal.
    """

    def __init__(self, reader: Reader, memory: Memory) -> None:
        self._reader = reader
        self._memory = memory

    @property
    def name(self) -> str:
        return self._reader.name

    @property
    def languages(self) -> tuple[str, ...]:
        return trained_for(self._reader)

    @property
    def judges(self) -> bool:
        return bool(getattr(self._reader, "judges", False))

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        texts = list(dict.fromkeys(passages))
        known = _Known(*(self._kept(kind, question, texts) for kind in ("glanced", "looked")))
        if choose is None:
            new = [text for text in texts if text not in known.looks]
            self._spare(known, glanced=known.looks, looked=known.looks)
            self._read(question, new, _every, known)
            return [known.looks[text][0] for text in passages]
        chosen = self._chosen(question, passages, choose, known)
        return [
            (known.looks if text in chosen or known.at_once(text) else known.glances)[text][0]
            for text in passages
        ]

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """Raw logits of support, as the reader gives them."""
        judge = getattr(self._reader, "judge", None)
        if judge is None:
            raise UsageError(f"the reader {self.name!r} does not judge support")
        keys = {pair: key_of("support", self.name, *pair) for pair in claims}
        known = {
            key: _SUPPORT.unpack(value) for key, value in self._memory.get([*keys.values()]).items()
        }
        save(sum(seconds for _, seconds in known.values()))
        new = [pair for pair, key in keys.items() if key not in known]
        if new:
            logits, seconds = self._passed(len(new), lambda: judge(new))
            made = {
                keys[pair]: (one, seconds / len(new)) for pair, one in zip(new, logits, strict=True)
            }
            self._memory.put((key, _SUPPORT.pack(*value)) for key, value in made.items())
            known |= made
        return [known[keys[pair]][0] for pair in claims]

    def _chosen(
        self, question: str, passages: Sequence[str], choose: Choose, known: _Known
    ) -> Collection[str]:
        """The passages to look at, after which all is known that is wanted of any."""
        texts, before = list(dict.fromkeys(passages)), set(known.looks)
        blind = [text for text in texts if text not in known.glances and not known.at_once(text)]
        chosen: set[str] = set()

        def among(glances: Sequence[float]) -> list[int]:
            first = {text: one.relevance for text, (one, _) in known.glances.items()}
            first |= dict(zip(blind, glances, strict=True))
            chosen.update(passages[at] for at in choose([first[text] for text in passages]))
            new = chosen - before
            return [at for at, text in enumerate(blind) if text in new]

        if all(text in known.glances for text in texts):
            among(())
        glanced = set(known.glances)
        self._read(question, blind, among, known)
        spared = {text for text in before if text in chosen or known.at_once(text)}
        self._spare(known, glanced=glanced, looked=spared)
        late = [text for text in texts if text in chosen and text not in known.looks]
        # The glance at these is counted as spared; it is made again, to look on from it.
        save(-self._read(question, late, _every, known))
        return chosen

    def _spare(self, known: _Known, *, glanced: Iterable[str], looked: Iterable[str]) -> None:
        """Counts what did not have to be done."""
        glances = [known.glances[text][1] for text in glanced if text in known.glances]
        looks = [known.looks[text][1] for text in looked]
        self._memory.reader.remembered += max(len(glances), len(looks))
        save(sum(glances) + sum(looks))

    def _kept(self, kind: str, question: str, texts: Sequence[str]) -> _Readings:
        keys = {key_of(kind, self.name, question, text): text for text in texts}
        found = {}
        for key, value in self._memory.get([*keys]).items():
            *fields, glances, glance, seconds = _READING.unpack(value)
            read = replace(Reading(*fields), glance=glance if glances else None)
            found[keys[key]] = read, seconds
        return found

    def _read(self, question: str, texts: Sequence[str], choose: Choose, known: _Known) -> float:
        """Adds to what is known; returns the seconds that went into glances."""
        if not texts:
            return 0.0
        began = glancing = 0.0

        def watched(glances: Sequence[float]) -> Sequence[int]:
            """Tells glances from looks by when the reader asks for a choice."""
            nonlocal glancing
            glancing = time.perf_counter() - began
            return choose(glances)

        def work() -> list[Reading]:
            nonlocal began
            began = time.perf_counter()
            return self._reader.read(question, texts, choose=watched)

        readings, seconds = self._passed(len(texts), work)
        found = dict(zip(texts, readings, strict=True))
        each = (seconds - glancing) / max(1, sum(one.looked for one in readings))
        looks = {text: (one, each) for text, one in found.items() if one.looked}
        glances = {
            text: (glimpse(one.glance, windows=one.windows), glancing / len(texts))
            for text, one in found.items()
            if one.glance is not None
        }
        known.glances.update(glances)
        known.looks.update(looks)
        self._memory.put(
            (key_of(kind, self.name, question, text), _packed(*made))
            for kind, readings_ in (("glanced", glances), ("looked", looks))
            for text, made in readings_.items()
        )
        return glancing

    def _passed(self, count: int, work: Callable[[], Made]) -> tuple[Made, float]:
        """What comes of the work, alone on the machine, and the seconds that it took."""
        counted = self._memory.reader
        with self._memory.passing:
            began = time.perf_counter()
            made = work()
            seconds = time.perf_counter() - began
            counted.seconds += seconds
            counted.made += count
        return made, seconds


def _every(glances: Sequence[float]) -> Sequence[int]:
    return range(len(glances))


def _packed(reading: Reading, seconds: float) -> bytes:
    *fields, glance = astuple(reading)
    return _READING.pack(*fields, glance is not None, glance or 0.0, seconds)


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
            save(struct.unpack_from("<d", value)[0])
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
