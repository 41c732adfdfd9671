"""Whether what is stored is still what was stored: passages against the texts they were cut from,
the index against the catalog, every text and table against its checksum."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from secondlook.errors import LibraryDamaged, ModelError, ModelUnavailable, SecondlookError
from secondlook.files import digest, sealed, unsealed, write_whole
from secondlook.library.catalog import RESTORE, DocumentRow
from secondlook.library.commit import REBUILD, Stores
from secondlook.library.report import Progress
from secondlook.reading.weights import ModelName, find_weights, verify_weights
from secondlook.retrieval.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.document import Extracted
    from secondlook.retrieval.index.port import Entry

_MOST_CHARACTERS = 30_000_000
_FETCHED = 500
READ_AGAIN = "secondlook add --force PATH reads it again"
BY_ITSELF = "it is made anew by itself where it is needed"


class Texts:
    """The texts of a library's documents; those that were read last are at hand."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], tuple[Extracted, Outline]] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def read(self, stores: Stores, row: DocumentRow) -> tuple[Extracted, Outline]:
        key = row.sha256, row.parser
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        text = stores.texts.read(row)
        with self._lock:
            self._characters += 0 if key in self._held else len(text.text)
            self._held[key] = text, Outline(text)
            while self._characters > _MOST_CHARACTERS and len(self._held) > 1:
                _, (gone, _) = self._held.popitem(last=False)
                self._characters -= len(gone.text)
            return self._held[key]

    def compare(self, stores: Stores, row: DocumentRow, entry: Entry) -> None:
        """Raises where a passage is not what its document says at that place."""
        try:
            text, outline = self.read(stores, row)
        except LibraryDamaged:
            if _is_being_changed(stores, row):
                return
            raise
        if not _fits(entry, text, outline) and not _is_being_changed(stores, row):
            said = f"a passage of {row.title or row.id!r} is not what the stored document says"
            raise LibraryDamaged(f"the index is damaged: {said}", hint=REBUILD)


def _fits(entry: Entry, text: Extracted, outline: Outline) -> bool:
    place = outline.page(entry.start), outline.path(entry.start, entry.end)
    return text.text[entry.start : entry.end] == entry.text and (entry.page, entry.heading) == place


def _is_being_changed(stores: Stores, row: DocumentRow) -> bool:
    """Between the commit of an index and its rows in the catalog the two differ."""
    return bool(stores.catalog.journal()) or stores.catalog.document(row.id) != row


def compare_counts(stores: Stores) -> None:
    """Raises where the index lacks passages of the catalog, or has some that it does not know."""
    for _ in range(3):  # a commit in between changes both
        if stores.index.count() == stores.catalog.passages() or stores.catalog.journal():
            return
    raise LibraryDamaged("the index has not the passages that the catalog names", hint=REBUILD)


# The files of an index are never changed once they are written: each has its checksum.

SUMS = "sums.json"
_HINT = "latest_version_hint.json"  # Lance writes it anew, and looks itself where there is none


def remember_index(folder: Path) -> None:
    """Note the checksums of files that a writer has added below `folder`."""
    (folder / "index" / "_versions" / _HINT).unlink(missing_ok=True)
    known = _sums(folder)
    found = {file.relative_to(folder).as_posix(): file for file in _index_files(folder)}
    sums = {name: known.get(name) or digest(file) for name, file in sorted(found.items())}
    if sums != known:
        write_whole(folder / SUMS, sealed(sums))


def _sums(folder: Path) -> dict[str, str]:
    try:
        return unsealed((folder / SUMS).read_bytes())
    except (OSError, ValueError):
        return {}


def _has_sum(file: Path, known: str) -> bool:
    try:
        return known in {"", digest(file, anew=True)}
    except OSError:
        return False


def _is_changed(file: Path) -> bool:
    try:
        unsealed(file.read_bytes())
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return False


def _index_files(folder: Path) -> Iterator[Path]:
    files = (file for file in (folder / "index").rglob("*") if file.is_file())
    return (file for file in files if file.name != _HINT)


# All of it.


@dataclass(frozen=True, slots=True)
class Damage:
    what: str
    said: str
    remedy: str


def examine(stores: Stores, folder: Path, progress: Callable[[Progress], None]) -> Iterator[Damage]:
    """Everything of a library that is damaged; its index lies below `folder`."""
    for work in (stores.catalog.examine, lambda: compare_counts(stores)):
        try:
            work()
        except SecondlookError as error:
            yield Damage("library", error.message, error.hint or RESTORE)
    yield from _of_weights()
    for name, known in _sums(folder).items():
        # A writer may have taken it away meanwhile.
        if not _has_sum(folder / name, known) and _sums(folder).get(name) == known:
            yield Damage("index", f"{name} was changed or is gone", REBUILD)
    for file in (folder / SUMS, *stores.tables.folder.glob("*.profile.json")):
        if _is_changed(file):
            yield Damage(file.name, "it was changed", BY_ITSELF)
    texts, rows, passages = Texts(), stores.catalog.documents(), 0
    for done, row in enumerate(rows, 1):
        for said, remedy in (*_of_text(stores, row, texts), *_of_tables(stores, row)):
            yield Damage(row.title or row.id, said, remedy)
        passages += row.passages
        progress(Progress("checking", done, len(rows), passages))


def _of_weights() -> Iterator[Damage]:
    for model in get_args(ModelName):
        try:
            verify_weights(find_weights(model), anew=True)
        except ModelUnavailable:  # not installed, or it says so itself wherever it is loaded
            pass
        except ModelError as error:
            yield Damage("weights", error.message, error.hint or "")


def _of_text(stores: Stores, row: DocumentRow, texts: Texts) -> Iterator[tuple[str, str]]:
    try:
        texts.read(stores, row)
        ids = [f"{row.id}.{ordinal}" for ordinal in range(row.passages)]
        for start in range(0, len(ids), _FETCHED):
            for entry in stores.index.fetch(ids[start : start + _FETCHED]):
                texts.compare(stores, row, entry)
    except SecondlookError as error:
        yield error.message, error.hint or READ_AGAIN


def _of_tables(stores: Stores, row: DocumentRow) -> Iterator[tuple[str, str]]:
    for table in stores.tables.written(row.id):
        if not _has_sum(stores.tables.file(table.id), table.checksum):
            yield f"the stored table {table.title!r} was changed or is gone", READ_AGAIN
    if stores.tables.is_damaged(row.id):
        yield "the record of its tables was changed", READ_AGAIN
