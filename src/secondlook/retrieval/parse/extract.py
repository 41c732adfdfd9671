"""From a file to its documents, in this process. Workers call this; so do tests."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from secondlook.errors import (
    Damaged,
    Encrypted,
    ExtractionError,
    LimitExceeded,
    NoText,
    Unsupported,
)
from secondlook.retrieval.parse import source as suffixes
from secondlook.retrieval.parse.compose import finish
from secondlook.retrieval.parse.source import (
    DEFAULT_LIMITS,
    TAR_MARK,
    Budget,
    Parsed,
    ParseLimits,
    Source,
    decode,
    is_text,
    open_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.document import Extracted

_DEEPEST_ARCHIVE = 5


def extract(
    path: Path, limits: ParseLimits = DEFAULT_LIMITS, *, beat: Callable[[], None] = lambda: None
) -> list[Parsed]:
    state = _state(path)
    try:
        source = open_source(path, Budget(limits, beat))
    except ExtractionError as error:
        return [Parsed("", "", state[0], error=error)]
    parsed = _documents(source)
    if source.path is not None and _state(path) != state:
        changed = ExtractionError("it changed while it was being read", hint="add it again")
        return [Parsed("", "", source.size, error=changed)]
    return parsed


def extract_bytes(data: bytes, name: str, limits: ParseLimits = DEFAULT_LIMITS) -> list[Parsed]:
    return _documents(Source.of_bytes(data, name, Budget(limits)))


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


def _documents(source: Source, member: str = "") -> list[Parsed]:
    found: list[Parsed] = []
    try:
        kind = kind_of(source)
        if source.size > source.budget.limits.file_bytes and kind not in {
            "csv",
            "jsonl",
            "parquet",
            "sqlite",
        }:
            # A name promised a table; the contents are something that is read whole.
            raise LimitExceeded("it is no table, and too large to read")  # noqa: TRY301
        if kind in CONTAINERS:
            _open_container(source, kind, member, found)
        else:
            own = finish(PARSERS[kind](source), source.name)
            found.append(Parsed(member, source.sha256, source.size, extracted=own))
    except Exception as caught:  # noqa: BLE001 - any parser may raise anything on hostile bytes
        error = as_extraction_error(caught)
        found.insert(0, Parsed(member, source.sha256, source.size, error=error))
    return found


def _open_container(source: Source, kind: str, member: str, found: list[Parsed]) -> None:
    """Appends as it goes: what was read before a limit broke is kept."""
    if source.depth >= _DEEPEST_ARCHIVE:
        raise LimitExceeded(f"archives are nested more than {_DEEPEST_ARCHIVE} deep")
    own, carried = CONTAINERS[kind](source)
    if own is not None:
        own = finish(own, source.name)
        found.append(Parsed(member, source.sha256, source.size, extracted=own))
    for item in carried:
        place = f"{member}/{item.name}" if member else item.name
        if item.error is not None:
            found.append(Parsed(place, "", item.size, error=item.error))
            continue
        inner = Source.of_bytes(item.data, item.name, source.budget, depth=source.depth + 1)
        found.extend(_documents(inner, place))
    if not found:
        raise NoText("the archive holds no files")


def as_extraction_error(error: BaseException) -> ExtractionError:
    if isinstance(error, ExtractionError):
        return error
    if isinstance(error, MemoryError):
        return LimitExceeded("it needs more memory than a parser may have")
    if isinstance(error, RecursionError):
        return LimitExceeded("it is nested too deeply")
    reason = " ".join([f"{type(error).__name__}:", *str(error).split()])[:300]
    return Damaged(f"it could not be read ({reason})")


# Which function reads which kind of file. Parsers are imported when first needed.


@dataclass(frozen=True, slots=True)
class Carried:
    name: str
    data: bytes = b""
    error: ExtractionError | None = None
    size: int = 0


def _lazy(module: str, function: str) -> Callable[[Source], Any]:
    def call(source: Source) -> Any:
        found = import_module(f"secondlook.retrieval.parse.{module}")
        return getattr(found, function)(source)

    return call


_MODULES = {
    "pdf": "pdf image",
    "office": "docx pptx odt odp rtf",
    "sheets": "sheets csv parquet sqlite",
    "html": "html epub",
    "text": "markdown notebook json json_lines xml subtitles code text",
}
PARSERS: dict[str, Callable[[Source], Extracted]] = {
    {"sheets": "sheet", "json_lines": "jsonl"}.get(name, name): _lazy(module, f"parse_{name}")
    for module, names in _MODULES.items()
    for name in names.split()
}
CONTAINERS: dict[str, Callable[[Source], tuple[Extracted | None, Iterator[Carried]]]] = {
    **dict.fromkeys(("zip", "tar", "gzip", "bzip2", "xz"), _lazy("containers", "open_archive")),
    "mail": _lazy("containers", "open_mail"),
    "msg": _lazy("containers", "open_msg"),
}


# What kind of file it is: its first bytes decide, then its name.

_MAGIC: dict[bytes, str] = {
    b"{\\rtf": "rtf", b"SQLite format 3\x00": "sqlite", b"\x1f\x8b": "gzip", b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz", b"\x89PNG\r\n\x1a\n": "image", b"\xff\xd8\xff": "image",
    b"II*\x00": "image", b"MM\x00*": "image", b"GIF8": "image",
}  # fmt: skip
_SHORT_MAGIC = {b"BM": "image", b"PAR1": "parquet"}  # a text may begin with the same letters
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML_START = re.compile(
    r"\s*(<!--.*?-->\s*)*(<!doctype html|<html|<head\b|<body\b)", re.IGNORECASE | re.DOTALL
)
_XHTML = re.compile(r"<html\b", re.IGNORECASE)
_MAIL_FIELD = re.compile(
    r"(from|to|subject|date|received|return-path|message-id|mime-version|delivered-to|x-[\w-]+):",
    re.IGNORECASE,
)
_ODF = "application/vnd.oasis.opendocument."
_ODF_KINDS = {"text": "odt", "presentation": "odp", "spreadsheet": "sheet"}
_OFFICE_PARTS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "sheet"))
_LONGEST_MIMETYPE = 200


def kind_of(source: Source) -> str:
    head = source.head
    if not head:
        raise NoText("the file is empty")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", _OLE)):
        return _kind_of_zip(source) if head.startswith(b"PK") else _kind_of_ole(source)
    if head[TAR_MARK] == b"ustar":
        return "tar"
    marks = _MAGIC if is_text(head) else _MAGIC | _SHORT_MAGIC
    kind = next((kind for mark, kind in marks.items() if head.startswith(mark)), None)
    if kind or b"%PDF-" in head[:1024]:
        return kind or "pdf"
    if is_text(head):
        return _kind_of_text(source)
    if source.suffix in suffixes.BINARY_DOCUMENTS:
        raise Damaged(f"it is named {source.suffix} but its contents are not of that kind")
    raise Unsupported("this file type isn't supported")


def _kind_of_text(source: Source) -> str:
    try:
        text = decode(source.head)[0]
    except Unsupported:
        text = source.head.decode("latin-1")
    is_xhtml = bool(_XHTML.search(text[:1000]))
    kind = suffixes.TEXT_KINDS.get(source.suffix) or suffixes.NAMES.get(source.name.lower())
    if kind is None or source.suffix in suffixes.BINARY_DOCUMENTS:
        lines = text.split("\n", 8)[:6]
        fields = sum(bool(_MAIL_FIELD.match(line)) for line in lines)
        kind = "text"
        if _HTML_START.match(text):
            kind = "html"
        elif text.lstrip().startswith("<?xml"):
            kind = "xml"
        elif text.startswith("#!"):
            kind = "code"
        elif source.suffix == ".msg" or (len(lines) > 2 and fields >= 3):  # noqa: PLR2004
            kind = "mail"
    return "html" if kind == "xml" and is_xhtml else kind


def _kind_of_zip(source: Source) -> str:
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            if "mimetype" in names and archive.getinfo("mimetype").file_size < _LONGEST_MIMETYPE:
                declared = archive.read("mimetype").decode("ascii", "replace").strip()
                if declared == "application/epub+zip":
                    return "epub"
                odf = declared.removeprefix(_ODF).removesuffix("-template")
                if declared.startswith(_ODF) and odf in _ODF_KINDS:
                    return _ODF_KINDS[odf]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise Damaged(f"it begins like a zip file but cannot be opened: {error}") from error
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE_PARTS:
            if any(name.startswith(folder) for name in names):
                return kind
    return "epub" if "META-INF/container.xml" in names else "zip"


def _kind_of_ole(source: Source) -> str:
    import olefile

    with source.open() as stream:
        try:
            with olefile.OleFileIO(stream) as container:
                streams = {"/".join(path) for path in container.listdir(streams=True)}
        except (OSError, ValueError, IndexError) as error:
            raise Damaged(f"its Office container cannot be opened: {error}") from error
    if "__properties_version1.0" in streams:
        return "msg"
    if "EncryptedPackage" in streams:
        raise Encrypted("it is protected by a password", hint="save a copy without password")
    if "Workbook" in streams or "Book" in streams:
        return "sheet"
    raise Unsupported(
        "old Office formats (.doc, .ppt) are not read", hint="save it as .docx or .pptx"
    )
