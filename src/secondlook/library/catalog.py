"""The catalog: which files were seen, which documents they hold, and what is half done. A document
is a content (its id is the start of its SHA-256); a file is a place where it was found. Several
files may hold one document. A file with a reason is one that failed."""

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from secondlook.document import Extracted, Heading, Page
from secondlook.errors import LibraryBusy, LibraryDamaged, LibraryError, SecondlookError, UsageError
from secondlook.files import write_whole

_SCHEMA_VERSION = 1
_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, parser TEXT NOT NULL,
    title TEXT NOT NULL, author TEXT, date TEXT, language TEXT, kind TEXT NOT NULL,
    pages INTEGER NOT NULL, passages INTEGER NOT NULL, characters INTEGER NOT NULL,
    notes TEXT NOT NULL, labels TEXT NOT NULL, added TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, document TEXT, container TEXT, sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, parser TEXT NOT NULL,
    folders TEXT NOT NULL, metadata TEXT NOT NULL, error TEXT, reason TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_document ON files (document);
CREATE INDEX IF NOT EXISTS files_by_container ON files (container);
CREATE TABLE IF NOT EXISTS journal (id TEXT PRIMARY KEY, change TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
COMMIT;
"""
_CANNOT_OPEN = sqlite3.SQLITE_CANTOPEN
_CANNOT_WRITE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR}
MAKE_ROOM = "check that the disk has room and that you may write there; nothing stored is lost"
RESTORE = (
    "restore a backup (secondlook restore FILE), or add the documents to a new library "
    "(--library PATH)"
)
# SQLite allows 999 or more variables in a statement, by build; stay below it.
_VARIABLES = 500


@dataclass(frozen=True, slots=True)
class DocumentRow:
    id: str
    sha256: str
    bytes: int
    parser: str
    title: str
    author: str | None
    date: str | None
    language: str | None
    kind: str
    pages: int
    passages: int
    characters: int
    notes: list[str]
    labels: list[str]
    added: str


@dataclass(frozen=True, slots=True)
class FileRow:
    path: str
    sha256: str
    bytes: int
    mtime_ns: int  # -1 when the time cannot be trusted to reveal the next change
    parser: str
    document: str | None = None
    container: str | None = None  # path of the archive or mail that holds it
    folders: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    error: str | None = None  # class of the error that made it fail
    reason: str | None = None


_SUM = "sum"  # last column of a row: the hash of the others
_HAS_SUM = f"SELECT 1 FROM pragma_table_info(?) WHERE name = '{_SUM}'"  # noqa: S608 - ours
Row = TypeVar("Row", DocumentRow, FileRow)
_TABLES: dict[type, str] = {DocumentRow: "documents", FileRow: "files"}
_JSON = {"notes", "labels", "folders", "metadata"}


class Catalog:
    """One SQLite file in WAL mode: one writer, any number of readers, in any process."""

    def __init__(self, file: Path, *, create: bool = True) -> None:
        self._lock = threading.RLock()
        self._file = file
        if not create and not file.exists():
            # SQLite would make an empty one, and everything would look forgotten.
            raise LibraryDamaged(f"the catalog {str(file)!r} is missing", hint=RESTORE)
        with self._explained():
            self._db = _connected(file, create=create)
            self._db.row_factory = sqlite3.Row
            if self._db.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA_VERSION:
                if not create:
                    raise sqlite3.DatabaseError("it is empty")
                self._db.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock, self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors as ours: a lack of room or rights is no damage."""
        try:
            yield
        except sqlite3.Error as error:
            file = f"the catalog {str(self._file)!r}"
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it is detail
            refused = code == sqlite3.SQLITE_CANTOPEN and self._file.exists()
            found: SecondlookError
            if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
                found = UsageError("the library is closed", hint="open it again with Library.open")
            elif code == sqlite3.SQLITE_BUSY:
                found = LibraryBusy(f"{file} is in use", hint="try again")
            elif code in _CANNOT_WRITE or refused:
                found = LibraryError(f"{file} cannot be written: {error}", hint=MAKE_ROOM)
            else:
                found = LibraryDamaged(f"{file} cannot be read: {error}", hint=RESTORE)
            raise found from error

    # Reading

    def document(self, document: str) -> DocumentRow | None:
        return next(iter(self.documents_by_id([document])), None)

    def documents_by_id(self, ids: Collection[str]) -> list[DocumentRow]:
        return self._among(DocumentRow, "id", ids)

    def documents(self) -> list[DocumentRow]:
        return self._rows(DocumentRow, "ORDER BY added, id")

    def files(self) -> list[FileRow]:
        return self._rows(FileRow, "ORDER BY path")

    def failed_files(self) -> list[FileRow]:
        return self._rows(FileRow, "WHERE reason IS NOT NULL ORDER BY path")

    def file(self, path: str) -> FileRow | None:
        return next(iter(self._rows(FileRow, "WHERE path = ?", path)), None)

    def files_of(self, documents: Collection[str]) -> list[FileRow]:
        return self._among(FileRow, "document", documents)

    def members_of(self, container: str) -> list[FileRow]:
        return self._rows(FileRow, "WHERE container = ?", container)

    def ids(self) -> set[str]:
        return {row.id for row in self.documents()}

    def passages(self) -> int:
        """How many the index must hold."""
        with self._lock, self._explained():
            return int(self._db.execute("SELECT total(passages) FROM documents").fetchone()[0])

    def examine(self) -> None:
        """Raises where SQLite finds its own file damaged, or a row is not as it was written."""
        with self._lock, self._explained():
            said = self._db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if said != "ok":
                raise sqlite3.DatabaseError(said)
            with closing(sqlite3.connect(":memory:")) as anew:
                anew.executescript(_SCHEMA)
                if _layout(anew) != _layout(self._db):
                    raise sqlite3.DatabaseError("its layout was changed")
        self.documents()
        self.files()

    def journal(self) -> dict[str, Any]:
        with self._lock, self._explained():
            rows = self._db.execute("SELECT id, change FROM journal ORDER BY id").fetchall()
        return {row["id"]: json.loads(row["change"]) for row in rows}

    # Writing

    def put_documents(self, rows: Iterable[DocumentRow]) -> None:
        self._put(rows, DocumentRow)

    def put_files(self, rows: Iterable[FileRow]) -> None:
        self._put(rows, FileRow)

    def drop_documents(self, ids: Iterable[str]) -> None:
        self._many("DELETE FROM documents WHERE id = ?", ((item,) for item in ids))

    def drop_files(self, paths: Iterable[str]) -> None:
        self._many("DELETE FROM files WHERE path = ?", ((item,) for item in paths))

    def write_journal(self, identifier: str, change: dict[str, Any]) -> None:
        self._many("INSERT INTO journal VALUES (?, ?)", [(identifier, json.dumps(change))])

    def clear_journal(self, identifier: str) -> None:
        self._many("DELETE FROM journal WHERE id = ?", [(identifier,)])

    def scrub(self) -> None:
        with self._lock, self._explained():
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, file: Path) -> None:
        target = sqlite3.connect(file)
        try:
            with self._lock, self._explained():
                self._db.backup(target)
        finally:
            target.close()

    def _put(self, rows: Iterable[DocumentRow] | Iterable[FileRow], kind: type[Any]) -> None:
        columns = tuple(kind.__dataclass_fields__)
        marks = ", ".join("?" for _ in (*columns, _SUM))
        into = f"{_TABLES[kind]} ({', '.join((*columns, _SUM))})"
        statement = f"INSERT OR REPLACE INTO {into} VALUES ({marks})"  # noqa: S608 - ours
        listed = ({name: _stored(name, getattr(row, name)) for name in columns} for row in rows)
        with self._lock, self._explained():
            for table in _TABLES.values():
                if not self._db.execute(_HAS_SUM, [table]).fetchone():  # made before there were any
                    self._db.execute(f"ALTER TABLE {table} ADD COLUMN {_SUM} TEXT")
        self._many(statement, ([*said.values(), _sum(said)] for said in listed))

    def _many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._lock, self._explained():
            self._db.executemany(statement, ([_stored("", value) for value in row] for row in rows))

    def _among(self, kind: type[Row], column: str, values: Collection[str]) -> list[Row]:
        listed, rows = list(values), list[Row]()
        for start in range(0, len(listed), _VARIABLES):
            part = listed[start : start + _VARIABLES]
            marks = ", ".join("?" for _ in part)
            rows += self._rows(kind, f"WHERE {column} IN ({marks})", *part)
        return rows

    def _rows(self, kind: type[Row], rest: str, *values: str) -> list[Row]:
        statement = f"SELECT * FROM {_TABLES[kind]} {rest}"  # noqa: S608 - ours
        with self._lock, self._explained():
            given = [value if value.isascii() else _stored("", value) for value in values]
            found = self._db.execute(statement, given).fetchall()
        rows = []
        for row in found:
            said = dict(row)
            if said.pop(_SUM, None) not in {None, _sum(said)}:
                table = _TABLES[kind]
                raise LibraryDamaged(
                    f"the catalog {str(self._file)!r} is damaged: a row of {table} was changed",
                    hint=RESTORE,
                )
            rows.append(kind(**{name: _read(name, value) for name, value in said.items()}))
        return rows


def _layout(db: sqlite3.Connection) -> set[str]:
    """Its tables and indices as written, with or without checksums, whatever the blanks."""
    written = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {"".join(row[0].split()).replace(f",{_SUM}TEXT", "") for row in written}


def _connected(file: Path, *, create: bool) -> sqlite3.Connection:
    """To write, or where the disk is full or not ours to write, to read: then WAL needs a little
    help where no log is there."""
    there = file.absolute().as_uri()
    last = f"{there}?immutable=1"
    for address in (str(file), f"{there}?mode=ro", last):
        db = sqlite3.connect(
            address, uri=True, timeout=30, isolation_level=None, check_same_thread=False
        )
        try:
            if address == str(file):
                for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
                    db.execute(f"PRAGMA {pragma}")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            db.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if create or address == last or code not in {*_CANNOT_WRITE, _CANNOT_OPEN}:
                raise
        else:
            return db
    raise AssertionError  # the last one returned or raised


def _stored(column: str, value: Any) -> Any:
    """SQLite takes valid Unicode alone: a file name that is none is kept as its bytes."""
    if column in _JSON:
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def _read(column: str, value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogatepass")
    return json.loads(value) if column in _JSON else value


def _sum(said: Mapping[str, Any]) -> str:
    return hashlib.blake2b(repr(sorted(said.items())).encode(), digest_size=12).hexdigest()


def not_writable(what: str, place: Path, error: OSError) -> LibraryError:
    reason = error.strerror or error
    return LibraryError(f"the {what} {str(place)!r} cannot be written: {reason}", hint=MAKE_ROOM)


# The extracted text of every document with its maps, so that each quote can be checked later.


class TextStore:
    """The text of a document lies under its hash and the version of the parser that made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, sha256: str, parser: str) -> Path:
        return self._folder / sha256[:2] / f"{sha256}.{parser}.json.zst"

    def write(self, row: DocumentRow, extracted: Extracted) -> None:
        import zstandard

        target = self.file(row.sha256, row.parser)
        with suppress(LibraryDamaged):  # what cannot be read is written anew
            if target.exists() and self.read(row):
                return
        data = json.dumps(asdict(extracted), ensure_ascii=False).encode()
        try:
            write_whole(target, zstandard.ZstdCompressor(3, write_checksum=True).compress(data))
        except OSError as error:
            raise not_writable("text", target, error) from error

    def read(self, row: DocumentRow) -> Extracted:
        import zstandard

        try:
            data = self.file(row.sha256, row.parser).read_bytes()
            # What its checksum does not cover makes the frame longer or shorter.
            data = zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
            raw = json.loads(data)
            raw["pages"] = tuple(Page(**page) for page in raw["pages"])
            raw["headings"] = tuple(Heading(**heading) for heading in raw["headings"])
            return Extracted(**{**raw, "notes": tuple(raw["notes"])})
        except (OSError, ValueError, LookupError, TypeError, zstandard.ZstdError) as error:
            raise LibraryDamaged(
                f"the stored text of document {row.id!r} cannot be read: {error}",
                hint="secondlook add --force PATH extracts it again",
            ) from error

    def delete(self, sha256: str, parser: str) -> None:
        self.file(sha256, parser).unlink(missing_ok=True)

    def sweep(self, keep: Iterable[DocumentRow]) -> None:
        wanted = {self.file(row.sha256, row.parser) for row in keep}
        for file in self._folder.glob("*/*"):
            if file not in wanted:
                file.unlink(missing_ok=True)


# What a search can be narrowed by: facts of the document, its folders, and the user's own keys.

FOLDER = "folder"
RESERVED = frozenset({"kind", "language", "author", "year", FOLDER})


def storable(text: str) -> str:
    """Lone surrogates cannot be stored as text. One sign for one keeps positions right."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def label(key: object, value: object) -> str:
    """Keys and values compare without regard to case or outer white space."""
    return storable(f"{str(key).strip().casefold()}={str(value).strip().casefold()}")


def document_labels(extracted: Extracted) -> list[str]:
    facts = {"kind": extracted.kind, "language": extracted.language, "author": extracted.author}
    facts["year"] = (extracted.date or "")[:4]
    return [label(key, value) for key, value in facts.items() if value]


def all_labels(facts: Iterable[str], files: Iterable[FileRow]) -> list[str]:
    found = {item for item in facts if item.partition("=")[0] in RESERVED - {FOLDER}}
    for file in files:
        found.update(label(FOLDER, folder) for folder in file.folders)
        found.update(label(key, value) for key, value in file.metadata.items())
    return sorted(found)


def check_metadata(metadata: Mapping[str, str]) -> None:
    for key in metadata:
        is_reserved = key.strip().casefold() in RESERVED
        if not key.strip() or "=" in key or key.startswith("@") or is_reserved:
            raise UsageError(
                f"{key!r} cannot be a metadata key",
                hint="write --meta project=harbour; these are filled from the file itself: "
                f"{', '.join(sorted(RESERVED))}",
            )
