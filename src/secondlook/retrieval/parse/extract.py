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
    Budget,
    Parsed,
    ParseLimits,
    Source,
    decode,
    is_text,
    open_source,
    silent_beat,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.document import Extracted

_DEEPEST_ARCHIVE = 5
_LONGEST_REASON = 300


def extract(
    path: Path, limits: ParseLimits = DEFAULT_LIMITS, *, beat: Callable[[], None] = silent_beat
) -> list[Parsed]:
    """Every document in a file, each with its text or the reason why there is none."""
    budget = Budget(limits, beat)
    state = _state(path)
    try:
        source = open_source(path, budget)
    except ExtractionError as error:
        return [Parsed("", "", state[0], error=error)]
    parsed = _documents(source)
    if source.path is not None and _state(path) != state:
        changed = ExtractionError("it changed while it was being read", hint="add it again")
        return [Parsed("", "", source.size, error=changed)]
    return parsed


def extract_bytes(data: bytes, name: str, limits: ParseLimits = DEFAULT_LIMITS) -> list[Parsed]:
    """Like `extract`, for what was never a file: standard input, an upload, a download."""
    budget = Budget(limits)
    source = Source.of_bytes(data, name, budget)
    if len(data) > limits.file_bytes:
        reason = f"it has {len(data):,} bytes, the limit is {limits.file_bytes:,}"
        return [Parsed("", source.sha256, source.size, error=LimitExceeded(reason))]
    return _documents(source)


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


def _documents(source: Source, member: str = "") -> list[Parsed]:
    """The source itself and, where it is an archive or a mail, what it carries."""
    found: list[Parsed] = []
    error: ExtractionError | None = None
    try:
        kind = kind_of(source)
        _check_size(source, kind)
        if kind in CONTAINERS:
            _open_container(source, kind, member, found)
        else:
            own = finish(PARSERS[kind](source), source.name)
            found.append(Parsed(member, source.sha256, source.size, extracted=own))
    except Exception as caught:  # noqa: BLE001 - any parser may raise anything on hostile bytes
        error = as_extraction_error(caught)
    if error is not None:
        found.insert(0, Parsed(member, source.sha256, source.size, error=error))
    return found


def _check_size(source: Source, kind: str) -> None:
    """A name promises a table; the contents may be something that is read whole."""
    if source.size > source.budget.limits.file_bytes and kind not in STREAMED:
        raise LimitExceeded(f"it is named {source.suffix} but is no table, and too large to read")


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
    """Whatever a parser raised, as a reason that a person can read."""
    if isinstance(error, ExtractionError):
        return error
    if isinstance(error, MemoryError):
        return LimitExceeded("it needs more memory than a parser may have")
    if isinstance(error, RecursionError):
        return LimitExceeded("it is nested too deeply")
    reason = " ".join(str(error).split())[:_LONGEST_REASON]
    return Damaged(f"it could not be read ({type(error).__name__}{': ' if reason else ''}{reason})")


# Which function reads which kind of file. Parsers are imported when first needed.


@dataclass(frozen=True, slots=True)
class Carried:
    """A file inside another one: its bytes, or why they could not be had."""

    name: str
    data: bytes = b""
    error: ExtractionError | None = None
    size: int = 0


def _lazy(module: str, function: str) -> Callable[[Source], Any]:
    def call(source: Source) -> Any:
        found = import_module(f"secondlook.retrieval.parse.{module}")
        return getattr(found, function)(source)

    return call


PARSERS: dict[str, Callable[[Source], Extracted]] = {
    "pdf": _lazy("pdf", "parse_pdf"),
    "image": _lazy("pdf", "parse_image"),
    "docx": _lazy("docx", "parse_docx"),
    "pptx": _lazy("pptx", "parse_pptx"),
    "sheet": _lazy("sheets", "parse_sheets"),
    "csv": _lazy("sheets", "parse_csv"),
    "parquet": _lazy("sheets", "parse_parquet"),
    "sqlite": _lazy("sheets", "parse_sqlite"),
    "jsonl": _lazy("plain", "parse_json_lines"),
    "odt": _lazy("odf", "parse_odt"),
    "odp": _lazy("odf", "parse_odp"),
    "epub": _lazy("html", "parse_epub"),
    "rtf": _lazy("odf", "parse_rtf"),
    "html": _lazy("html", "parse_html"),
    "markdown": _lazy("markup", "parse_markdown"),
    "rst": _lazy("markup", "parse_rst"),
    "latex": _lazy("markup", "parse_latex"),
    "notebook": _lazy("markup", "parse_notebook"),
    "json": _lazy("plain", "parse_json"),
    "xml": _lazy("plain", "parse_xml"),
    "subtitles": _lazy("plain", "parse_subtitles"),
    "code": _lazy("plain", "parse_code"),
    "text": _lazy("plain", "parse_text"),
}

STREAMED = frozenset({"csv", "jsonl", "parquet", "sqlite"})
"""Kinds of which only the beginning is read where they are large."""

CONTAINERS: dict[str, Callable[[Source], tuple[Extracted | None, Iterator[Carried]]]] = {
    "zip": _lazy("archive", "open_zip"),
    "tar": _lazy("archive", "open_tar"),
    "gzip": _lazy("archive", "open_compressed"),
    "bzip2": _lazy("archive", "open_compressed"),
    "xz": _lazy("archive", "open_compressed"),
    "mail": _lazy("mail", "open_mail"),
    "msg": _lazy("mail", "open_msg"),
}


# What kind of file it is: its first bytes decide, then its name.

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", "rtf"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"PAR1", "parquet"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"GIF8", "image"),
    (b"BM", "bmp"),
)
_FOREIGN: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x7fELF", "an executable"),
    (0, b"MZ", "an executable"),
    (0, b"\xfe\xed\xfa", "an executable"),
    (0, b"\xcf\xfa\xed\xfe", "an executable"),
    (0, b"\xca\xfe\xba\xbe", "an executable"),
    (0, b"\x00asm", "an executable"),
    (0, b"ARROW1", "an Arrow table"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstandard archive"),
    (0, b"ID3", "audio"),
    (0, b"OggS", "audio or video"),
    (0, b"fLaC", "audio"),
    (0, b"\x1aE\xdf\xa3", "video"),
    (4, b"ftyp", "video or an image"),
    (8, b"WAVE", "audio"),
    (8, b"AVI ", "video"),
    (8, b"WEBP", "an image"),
    (0, b"%!PS", "PostScript"),
    (0, b"AT&TFORM", "a DjVu document"),
    (0, b"wOFF", "a font"),
    (0, b"wOF2", "a font"),
    (0, b"\x00\x01\x00\x00", "a font"),
    (0, b"OTTO", "a font"),
)
_SHORT_MARKS = {"bmp", "parquet"}
"""A text may begin with the same letters."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_WITHIN = 1024
_TAR_MARK = slice(257, 262)
_HTML_START = re.compile(
    r"\s*(<!--.*?-->\s*)*(<!doctype html|<html|<head\b|<body\b)", re.IGNORECASE | re.DOTALL
)
_XHTML = re.compile(r"<html\b", re.IGNORECASE)
_MAIL_FIELD = re.compile(
    r"(from|to|subject|date|received|return-path|message-id|mime-version|delivered-to|x-[\w-]+):",
    re.IGNORECASE,
)
_ODF = {
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.text-template": "odt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.presentation-template": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "sheet",
    "application/vnd.oasis.opendocument.spreadsheet-template": "sheet",
    "application/epub+zip": "epub",
}
_OFFICE_PARTS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "sheet"), ("visio/", ""))
_LONGEST_MIMETYPE = 200


def kind_of(source: Source) -> str:
    """The parser to use. Raises `Unsupported`, `Damaged` or `Encrypted` with the reason."""
    head = source.head
    if not head:
        raise NoText("the file is empty")
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _kind_of_zip(source)
    if head.startswith(_OLE):
        return _kind_of_ole(source)
    for mark, kind in _MAGIC:
        if head.startswith(mark) and (kind not in _SHORT_MARKS or not is_text(head)):
            return "image" if kind == "bmp" else kind
    if head[_TAR_MARK] == b"ustar":
        return "tar"
    _refuse_foreign(source)
    return _kind_of_text(source)


def _refuse_foreign(source: Source) -> None:
    for offset, mark, what in _FOREIGN:
        at_place = source.head[offset : offset + len(mark)] == mark
        if at_place and not _plain_ascii(source.head):
            raise Unsupported(f"it is {what}{_despite_name(source)}, which holds no text to read")
    if not is_text(source.head):
        raise _unreadable(source)


def _plain_ascii(head: bytes) -> bool:
    """A letter to "MZ" or "ID3" is text all the same."""
    return is_text(head) and head.isascii()


def _despite_name(source: Source) -> str:
    return f" named {source.suffix}" if source.suffix in suffixes.DOCUMENTS else ""


def _unreadable(source: Source) -> Damaged | Unsupported:
    if source.suffix in suffixes.BINARY_DOCUMENTS:
        return Damaged(f"it is named {source.suffix} but its contents are not of that kind")
    return Unsupported("it holds binary data of no known kind")


def _kind_of_text(source: Source) -> str:
    text = _beginning(source.head)
    kind = suffixes.TEXT_KINDS.get(source.suffix) or suffixes.NAMES.get(source.name.lower())
    if kind is None or source.suffix in suffixes.BINARY_DOCUMENTS:
        return _sniffed(text, source)
    if kind == "xml" and _XHTML.search(text[:1000]):
        return "html"
    return kind


def _beginning(head: bytes) -> str:
    try:
        return decode(head)[0]
    except Unsupported:
        return head.decode("latin-1")


def _sniffed(text: str, source: Source) -> str:
    if _HTML_START.match(text):
        return "html"
    if text.lstrip().startswith("<?xml"):
        return "html" if _XHTML.search(text[:1000]) else "xml"
    if text.startswith("#!"):
        return "code"
    if source.suffix == ".msg" or _looks_like_mail(text):
        return "mail"
    return "text"


def _looks_like_mail(text: str) -> bool:
    lines = text.split("\n", 8)[:6]
    return len(lines) > 2 and sum(bool(_MAIL_FIELD.match(line)) for line in lines) >= 3  # noqa: PLR2004


def _kind_of_zip(source: Source) -> str:
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            return _kind_of_members(archive)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise Damaged(f"it begins like a zip file but cannot be opened: {error}") from error


def _kind_of_members(archive: zipfile.ZipFile) -> str:
    names = archive.namelist()
    if "mimetype" in names and archive.getinfo("mimetype").file_size < _LONGEST_MIMETYPE:
        declared = archive.read("mimetype").decode("ascii", "replace").strip()
        if declared in _ODF:
            return _ODF[declared]
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE_PARTS:
            if kind and any(name.startswith(folder) for name in names):
                return kind
    if "META-INF/container.xml" in names:
        return "epub"
    return "zip"


def _kind_of_ole(source: Source) -> str:
    import olefile

    with source.open() as stream:
        try:
            with olefile.OleFileIO(stream) as container:
                streams = {"/".join(path) for path in container.listdir(streams=True)}
        except (OSError, ValueError, IndexError) as error:
            raise Damaged(f"its Office container cannot be opened: {error}") from error
    return _kind_of_streams(streams)


def _kind_of_streams(streams: set[str]) -> str:
    if "__properties_version1.0" in streams:
        return "msg"
    if "EncryptedPackage" in streams:
        raise Encrypted("it is protected by a password", hint="save a copy without password")
    if "Workbook" in streams or "Book" in streams:
        return "sheet"
    if "WordDocument" in streams:
        raise Unsupported("the old Word format (.doc) is not read", hint="save it as .docx")
    if "PowerPoint Document" in streams:
        raise Unsupported("the old PowerPoint format (.ppt) is not read", hint="save it as .pptx")
    raise Unsupported("it is an Office container of no known kind")
