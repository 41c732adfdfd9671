"""The documents of a set as a library: made once for its contents, used by every configuration."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from filelock import FileLock

from secondlook.errors import LibraryDamaged, LibraryError, LibraryFormat, UsageError
from secondlook.evaluation.cache import Memory, RememberingEmbedder, RememberingReader
from secondlook.library.library import Library
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.reading.weights import find_weights
from secondlook.retrieval.parse.source import PARSER_VERSION
from secondlook.settings.sections import APP_NAME, Settings
from secondlook.tables.desk import Desk
from secondlook.tables.read import read_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.evaluation.datasets.evalset import EvalSet, TableFile
    from secondlook.library.report import AddReport, Progress
    from secondlook.reading.port import Embedder, Reader
    from secondlook.tables.worker import Worker

TEXT_PREFIX = "text:"  # of the path under which the library knows a text that is in no file
_COMPLETE = "complete.json"
_FORM = 1  # counted up when sets are indexed differently


def cache_folder() -> Path:
    chosen = os.environ.get("SECONDLOOK_CACHE")
    folder = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir(APP_NAME))
    return folder.absolute() / "eval"


class EvaluatedLibrary(Library):
    memory: Memory | None = None

    def embedder(self) -> Embedder:
        embedder = super().embedder()
        # Its passages are stored with it; only queries come again.
        return (
            RememberingEmbedder(embedder, self.memory, passages=False) if self.memory else embedder
        )

    def reader(self) -> Reader:
        reader = super().reader()
        return RememberingReader(reader, self.memory) if self.memory else reader

    def desk(self, **scope: Any) -> Desk:
        """The tables that the question was given; else those of the library."""
        return GIVEN.get() or super().desk(**scope)


def library_key(data: EvalSet, settings: Settings) -> str:
    shaping = {
        "form": _FORM,
        "documents": data.fingerprint,
        # A person's own files are known by their paths.
        "place": str(data.path.absolute()) if data.form == "own" else "",
        "chunking": settings.chunking.model_dump(),
        "embedding": [settings.embedding.model, settings.embedding.base_url],
        "embedder": find_weights("embedder").identity
        if settings.embedding.model == "embedded"
        else "",
        "language": settings.library.language,
        "ingest": settings.ingest.ocr,
        "parser": PARSER_VERSION,
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16]


def open_indexed(
    data: EvalSet,
    settings: Settings,
    memory: Memory,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> EvaluatedLibrary:
    """The set's documents, indexed now if they never were. Interrupted, it goes on next time."""
    folder = _folder(data, settings)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            library = EvaluatedLibrary.open(folder, settings=settings)
            library.memory = memory
            if data.has_corpus and not (folder / _COMPLETE).exists():
                report = _fill(library, data, progress)
                failed = {change.path: change.reason for change in report.failed}
                told = {"seconds": report.seconds, "passages": report.passages, "failed": failed}
                (folder / _COMPLETE).write_text(json.dumps(told), encoding="utf-8")
    except (LibraryDamaged, LibraryFormat) as error:
        raise LibraryError(
            error.message, hint=f"delete the folder {str(folder)!r}: it is made again"
        ) from error
    except OSError as error:
        raise LibraryError(
            f"the documents of {data.name!r} cannot be indexed under {str(folder)!r}: {error}",
            hint="make room there, or name another folder in SECONDLOOK_CACHE",
        ) from error
    return library


def not_indexed(data: EvalSet, settings: Settings) -> dict[str, str]:
    """Documents of the set that could not be read when it was indexed, and why."""
    try:
        told = json.loads((_folder(data, settings) / _COMPLETE).read_text("utf-8"))
    except FileNotFoundError:  # no configuration indexed it with these very settings
        return {}
    return {_name_in_set(path, data): reason for path, reason in told["failed"].items()}


def names_by_document(library: EvaluatedLibrary, data: EvalSet) -> dict[str, tuple[str, ...]]:
    ids = [document.id for document in library.documents()]
    return {
        document: tuple(_name_in_set(path, data) for path in paths)
        for document, paths in library.paths(ids).items()
    }


def _folder(data: EvalSet, settings: Settings) -> Path:
    return cache_folder() / "libraries" / library_key(data, settings)


def _name_in_set(path: str, data: EvalSet) -> str:
    if data.form != "own":
        return path.removeprefix(TEXT_PREFIX)
    file = path.partition(MEMBER_SEPARATOR)[0]  # what an archive holds is known by the archive
    return Path(file).relative_to(data.path).as_posix()


def _fill(
    library: EvaluatedLibrary, data: EvalSet, progress: Callable[[Progress], None] | None
) -> AddReport:
    if data.form == "own":
        report = library.add(data.documents, progress=progress)
    else:
        report = library.add_texts(data.texts(), progress=progress)
    if report.interrupted:
        raise KeyboardInterrupt
    if not library.documents():
        raise UsageError(f"none of the documents of {data.name!r} could be indexed")
    return report


# The table of each question: read and profiled once, used by every configuration. A question sees
# its own table alone.

GIVEN: ContextVar[Desk | None] = ContextVar("given", default=None)
"""The tables of the question that is being answered; the nodes of its run inherit it."""


@contextmanager
def given(desk: Desk | None) -> Iterator[None]:
    token = GIVEN.set(desk)
    try:
        yield
    finally:
        GIVEN.reset(token)


@dataclass(slots=True)
class GivenTables:
    read_table: Callable[[str], TableFile]
    folder: Path
    worker: Callable[[], Worker]
    _desks: dict[str, Desk] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def desk(self, name: str) -> Desk:
        """With this table alone, read now if it never was."""
        with self._lock:
            if name not in self._desks:
                self._desks[name] = self._read(self.read_table(name))
            return self._desks[name]

    def _read(self, table: TableFile) -> Desk:
        digest = hashlib.sha256(table.file.encode() + b"\0" + table.content).hexdigest()
        place = self.folder / digest[:32]
        try:
            place.mkdir(parents=True, exist_ok=True)
            with FileLock(place.with_suffix(".lock")):
                (place / table.file).write_bytes(table.content)
                read = read_tables(place / table.file, place, worker=self.worker())
        except OSError as error:
            raise LibraryError(
                f"the table {table.file!r} cannot be kept under {str(place)!r}: {error}",
                hint="make room there, or name another folder in SECONDLOOK_CACHE",
            ) from error
        desk = Desk([(one.table, one.file) for one in read], folder=place, worker=self.worker())
        for one in read:
            desk.profile(one.table.id)  # no configuration pays for what the first one would
        return desk
