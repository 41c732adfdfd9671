"""The documents of a set as a library: made once for its contents, used by every configuration."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from filelock import FileLock

from secondlook.errors import LibraryDamaged, LibraryError, LibraryFormat, UsageError
from secondlook.evaluation.given_tables import GIVEN
from secondlook.evaluation.remembering import RememberingEmbedder, RememberingReader
from secondlook.library import Library
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.settings import APP_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.evaluation.datasets import EvalSet
    from secondlook.evaluation.remembering import Memory
    from secondlook.library.report import AddReport, Progress
    from secondlook.reading.port import Embedder, Reader
    from secondlook.settings import Settings
    from secondlook.tables.desk import Desk

TEXT_PREFIX = "text:"
"""Of the path under which the library knows a text that is in no file."""
_COMPLETE = "complete.json"
_FORM = 1
"""Counted up when sets are indexed differently."""


def cache_folder() -> Path:
    """Where evaluations keep what can be computed again."""
    chosen = os.environ.get("SECONDLOOK_CACHE")
    folder = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir(APP_NAME))
    return folder.absolute() / "eval"


class EvaluatedLibrary(Library):
    """A library whose models remember what they said."""

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
    """Equal for equal documents, indexed alike."""
    shaping = {
        "form": _FORM,
        "documents": data.fingerprint,
        # A person's own files are known by their paths.
        "place": str(data.path.absolute()) if data.form == "own" else "",
        "chunking": settings.chunking.model_dump(),
        "embedding": [settings.embedding.model, settings.embedding.base_url],
        "language": settings.library.language,
        "ingest": [settings.ingest.ocr, settings.ingest.ocr_language],
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
            library = _opened(folder, settings)
            library.memory = memory
            if data.has_corpus and not (folder / _COMPLETE).exists():
                report = _fill(library, data, progress)
                (folder / _COMPLETE).write_text(json.dumps(_told(report)), encoding="utf-8")
    except OSError as error:
        raise LibraryError(
            f"the documents of {data.name!r} cannot be indexed under {str(folder)!r}: {error}",
            hint="make room there, or name another folder in SECONDLOOK_CACHE",
        ) from error
    return library


def _opened(folder: Path, settings: Settings) -> EvaluatedLibrary:
    try:
        return EvaluatedLibrary.open(folder, settings=settings)
    except (LibraryDamaged, LibraryFormat) as error:
        raise LibraryError(
            error.message, hint=f"delete the folder {str(folder)!r}: it is made again"
        ) from error


def not_indexed(data: EvalSet, settings: Settings) -> dict[str, str]:
    """Documents of the set that could not be read when it was indexed, and why."""
    try:
        told = json.loads((_folder(data, settings) / _COMPLETE).read_text("utf-8"))
    except FileNotFoundError:  # no configuration indexed it with these very settings
        return {}
    return {_name_in_set(path, data): reason for path, reason in told["failed"].items()}


def names_by_document(library: EvaluatedLibrary, data: EvalSet) -> dict[str, tuple[str, ...]]:
    """What the set calls each document of the library; equal texts share one document."""
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


def _told(report: AddReport) -> dict[str, Any]:
    return {
        "seconds": report.seconds,
        "passages": report.passages,
        "failed": {change.path: change.reason for change in report.failed},
    }
