"""The bytes of one file or member, and the budget that all members of a file share."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal

from secondlook.errors import (
    Damaged,
    Encrypted,
    ExtractionError,
    LimitExceeded,
    NoText,
    Unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.document import Extracted

PARSER_VERSION = "3"  # goes up whenever the same bytes would give another text


@dataclass(frozen=True, slots=True)
class ParseLimits:
    idle_seconds: float = 60  # a worker without a sign of life (a page, a member) is killed
    total_seconds: float = 900
    file_bytes: int = 1 << 30  # larger files are refused before they are read
    table_bytes: int = 64 << 30  # the same for tables, of which only the beginning is read here
    text_chars: int = 20_000_000  # of one file, the members of an archive together
    members: int = 10_000  # of one archive, the archives inside it included
    expanded_bytes: int = 2 << 30  # of everything that is decompressed out of one file
    pages: int = 50_000
    memory_bytes: int = 3 << 30  # address space of one worker, where the system can bound it
    ocr: Literal["auto", "off"] = "auto"  # auto: scans are read where OCR is installed
    ocr_language: str | None = None  # such as deu+eng; None: what the models know, or eng

    def most_bytes(self, suffix: str) -> int:
        return self.table_bytes if suffix in TABLES else self.file_bytes


DEFAULT_LIMITS = ParseLimits()


@dataclass(frozen=True, slots=True)
class Parsed:
    member: str  # "" for the file itself, "inner/path.txt" for what an archive or a mail carries
    sha256: str  # of the file's or member's bytes; "" when they were never read to the end
    bytes: int
    extracted: Extracted | None = None
    error: ExtractionError | None = None  # exactly one of both is set


# File name extensions: how text is read by name, and what is not worth opening.


def as_set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_KINDS = {
    "code": "py pyi pyx c h cc cpp cxx hpp hxx cs java kt kts scala groovy go rs swift m mm js mjs "
    "cjs jsx ts tsx vue svelte rb php pl pm lua r jl hs lhs ml mli fs fsx clj cljs ex exs erl hrl "
    "dart sh bash zsh fish ps1 psm1 bat cmd sql graphql proto thrift css scss sass less asm s v sv "
    "vhd vhdl f f90 f95 for pas d nim zig cu cl glsl hlsl tf hcl nix cmake mk gradle bzl el lisp "
    "scm rkt tcl vb vbs coffee elm sol vim awk sed sty",
    "text": "txt text log cfg conf ini toml env properties yaml yml nfo me rest asc adoc asciidoc "
    "org wiki textile po bib ris diff patch rst tex latex ltx",
    "markdown": "md markdown mdown mkd mdx qmd rmd",
    "html": "html htm xhtml xht",
    "mail": "mhtml mht eml",
    "json": "json geojson",
    "jsonl": "jsonl ndjson",
    "notebook": "ipynb",
    "xml": "xml rss atom",
    "csv": "csv tsv tab",
    "subtitles": "srt vtt",
}
TEXT_KINDS: dict[str, str] = {
    f".{suffix}": kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()
}
NAMES: dict[str, str] = dict.fromkeys(
    ("makefile", "dockerfile", "rakefile", "gemfile", "jenkinsfile"), "code"
)

BINARY_DOCUMENTS = as_set(
    ".pdf .docx .docm .dotx .pptx .pptm .potx .ppsx .xlsx .xlsm .xlsb .xls .ods .odt .odp .ott "
    ".otp .epub .msg .rtf .doc .ppt .zip .tar .gz .tgz .bz2 .xz .png "
    ".jpg .jpeg .tif .tiff .gif .bmp .parquet .pq .sqlite .sqlite3"
)
TABLES = as_set(".csv .tsv .tab .jsonl .ndjson .parquet .pq .sqlite .sqlite3 .db")
"""Read row by row: however large, they need little memory."""
IMAGES = as_set(".png .jpg .jpeg .tif .tiff .bmp .gif .webp")

UNSUPPORTED = as_set(
    ".webp .heic .heif .avif .ico .svg .psd .raw .cr2 .nef .xcf .ai .eps .mp4 .mkv .avi .mov .webm "
    ".wmv .flv .mpg .mpeg .m4v .3gp .mp3 .wav .flac .ogg .oga .opus .m4a .aac .wma .aiff .mid "
    ".midi .exe .dll .so .dylib .a .o .obj .lib .bin .class .jar .war .pyc .pyo .pyd .wasm .whl "
    ".egg .deb .rpm .apk .dmg .iso .img .msi .com .ttf .otf .woff .woff2 .eot .7z .rar .zst .lz4 "
    ".lzma .cab .arj .z .mdb .accdb .dbf .feather .arrow .h5 .hdf5 .npy .npz .pkl .pickle .mat "
    ".rds .rdata .dta .sav .safetensors .onnx .pt .pth .gguf .joblib .map .pages .key .numbers "
    ".djvu .ps .mobi .azw3"
)
"""In a folder these are not opened; named outright, the contents decide."""

IN_MEMORY_BYTES = 64 << 20
HEAD_BYTES = 64 << 10


_UNITS = {
    "members": "files", "expanded_bytes": "bytes when it is unpacked",
    "text_chars": "characters of text",
}  # fmt: skip


@dataclass(slots=True)
class Budget:
    """What is left of the limits of one file, spent by it and by everything inside it."""

    limits: ParseLimits = DEFAULT_LIMITS
    beat: Callable[[], None] = lambda: None
    spent: Counter[str] = field(default_factory=Counter)

    def spend(self, limit: str, count: int = 1) -> None:
        self.beat()
        self.spent[limit] += count
        most = getattr(self.limits, limit)
        if self.spent[limit] > most:
            raise LimitExceeded(f"it holds more than {most:,} {_UNITS[limit]}")

    def spend_pages(self, count: int) -> None:
        self.beat()
        if count > self.limits.pages:
            raise LimitExceeded(f"it has {count:,} pages, the limit is {self.limits.pages:,}")


@dataclass(slots=True)
class Source:
    """Bytes to parse. Small ones are held, so that hash and text speak of the same bytes."""

    name: str
    size: int
    sha256: str
    head: bytes
    budget: Budget = field(default_factory=Budget)
    data: bytes | None = None
    path: Path | None = None
    depth: int = 0  # how many archives it lies in

    @classmethod
    def of_bytes(cls, data: bytes, name: str, budget: Budget, *, depth: int = 0) -> Source:
        digest = hashlib.sha256(data).hexdigest()
        return cls(name, len(data), digest, data[:HEAD_BYTES], budget, data=data, depth=depth)

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - a name, not a path

    @property
    def is_large(self) -> bool:
        return self.size > IN_MEMORY_BYTES

    def open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        if self.path is None:
            raise Damaged(f"{self.name!r} has no contents")
        return self.path.open("rb")

    def read(self) -> bytes:
        if self.data is None:
            with self.open() as stream:
                self.data = stream.read()
        return self.data


def open_source(path: Path, budget: Budget) -> Source:
    """Hash a file and hold it if it is small. Refuses everything but readable regular files."""
    # Without O_NONBLOCK a FIFO that took the file's place just now would block forever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        _require_regular(path.stat().st_mode)
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as stream:
            status = os.fstat(stream.fileno())
            _require_regular(status.st_mode)
            most = budget.limits.most_bytes(path.suffix.lower())
            if status.st_size > most:
                raise LimitExceeded(
                    f"it has {status.st_size:,} bytes, the limit is {most:,}",
                    hint="split it, or raise the limit on the size of a file",
                )
            if status.st_size == 0:
                raise NoText("the file is empty")
            if status.st_size <= IN_MEMORY_BYTES:
                return Source.of_bytes(stream.read(status.st_size), path.name, budget)
            head = stream.read(HEAD_BYTES)
            stream.seek(0)
            digest = hashlib.sha256()
            left = status.st_size  # a log that grows while it is read must come to an end
            while left > 0 and (block := stream.read(min(left, (8 << 20)))):
                digest.update(block)
                left -= len(block)
                budget.beat()
            return Source(path.name, status.st_size, digest.hexdigest(), head, budget, path=path)
    except OSError as error:
        raise ExtractionError(f"it cannot be read: {error.strerror or error}") from error


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise Unsupported(f"it is {what}, not a file")


# Bytes to text, whatever the encoding; bytes that are no text are refused.

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16's mark, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 64 << 10
_TOLERATED_DAMAGE = 0.002  # share of bytes that may be broken in what is otherwise UTF-8
_LEGACY = (
    "cp1252", "cp932", "gb18030", "big5", "euc_jp", "cp949", "koi8_r",
    "cp1251", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256",
)  # fmt: skip
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_BINARY_SHARE = 0.01
_LATIN_WORD_HIGH = re.compile(rb"[A-Za-z][\xc0-\xff]|[\xc0-\xff][A-Za-z]")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{3,}")


def decode(data: bytes, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text, and notes about what was lost. Raises `Unsupported` for binary data."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], encoding)
    if wide := _wide_encoding(data):
        return _decode_as(data, wide)
    if looks_binary(data):
        raise Unsupported("it holds binary data, not text")
    for claimed in (declared, "utf-8"):
        with suppress(UnicodeError, LookupError):
            if claimed:
                return data.decode(claimed), ()
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    # Broken UTF-8 still shows more whole multi-byte characters than broken ones.
    whole = sum(ord(char) > 0x7F for char in text) - lost  # noqa: PLR2004 - end of ASCII
    if lost <= max(1, len(data) * _TOLERATED_DAMAGE) and whole > lost:
        return _decode_as(data, "utf-8")
    return _decode_as(data, _guess(data[: _SAMPLE * 4]))


def looks_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > _BINARY_SHARE * len(sample)


def is_text(data: bytes) -> bool:
    if any(data.startswith(mark) for mark, _ in _BOMS):
        return True
    return bool(_wide_encoding(data)) or not looks_binary(data)


def _decode_as(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = data.decode(encoding, "replace")
    lost = text.count("\ufffd")
    return text, (f"{lost:,} characters could not be decoded",) if lost else ()


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: bytes no other text has, and sense when read so."""
    sample = data[:_SAMPLE]
    if not sample or (0 not in sample and not looks_binary(sample)):
        return None
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        whole = sample[: len(sample) - len(sample) % width]
        if len(data) % width == 0 and _reads_well(whole, encoding):
            return encoding
    return None


def _reads_well(sample: bytes, encoding: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeError:
        return False
    # Real text has blanks, and hardly any control or unassigned character.
    odd = sum(not (char.isprintable() or char in "\r\n\t\f") for char in text)
    blanks = sum(char in " \n\r\t\u3000.,\u3002\u3001" for char in text)
    return bool(text) and odd <= len(text) * _BINARY_SHARE and blanks * 60 >= len(text)


def _guess(sample: bytes) -> str:
    # Accents between ASCII letters, never in long runs: detectors confuse these pages.
    high, in_words = len(_HIGH_BYTE.findall(sample)), len(_LATIN_WORD_HIGH.findall(sample))
    if not _HIGH_RUN.search(sample) and in_words * 2 >= high:
        return "cp1252"
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample, cp_isolation=list(_LEGACY)).best()
    return best.encoding if best is not None else "cp1252"


# Zip files that are read without trusting what they claim, and XML without entities.

_ENCRYPTED_FLAG = 0x1
TAR_MARK = slice(257, 262)
_BLOCK = 1 << 20
_MOST_TAGS = 5_000_000  # of one part: empty tags cost memory, not text
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError)


class Package:
    """An office file or book: parts by name, each checked against the budget as it is read."""

    def __init__(self, archive: zipfile.ZipFile, budget: Budget) -> None:
        self._archive = archive
        self._budget = budget
        self.names = frozenset(archive.namelist())

    def read(self, name: str) -> bytes:
        return read_member(self._archive, self._archive.getinfo(name), self._budget)

    def xml(self, name: str) -> Any:
        return parse_xml(self.read(name)) if name in self.names else None


@contextmanager
def package(source: Source) -> Iterator[Package]:
    with source.open() as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except BROKEN_ZIP as error:
            raise Damaged(f"its zip container cannot be opened: {error}") from error
        with archive:
            check_expansion(archive, source.budget)
            yield Package(archive, source.budget)


def check_expansion(archive: zipfile.ZipFile, budget: Budget) -> None:
    """Refuses by the declared sizes, before anything is decompressed. Spends nothing."""
    declared = sum(info.file_size for info in archive.infolist())
    budget.spend("expanded_bytes", declared)
    budget.spent["expanded_bytes"] -= declared


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> bytes:
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise Encrypted("it is protected by a password")
    try:
        with archive.open(info) as stream:
            return read_expanded(stream, budget)
    except BROKEN_ZIP as error:
        raise Damaged(f"{info.filename!r} inside it is damaged: {error}") from error


def read_expanded(stream: IO[bytes], budget: Budget) -> bytes:
    """What is decompressed, counted while it comes: declared sizes may lie."""
    blocks: list[bytes] = []
    while block := stream.read(_BLOCK):
        budget.spend("expanded_bytes", len(block))
        blocks.append(block)
    return b"".join(blocks)


def parse_xml(data: bytes) -> Any:
    """The root element. Entities stay unresolved, nothing outside is ever loaded."""
    from lxml import etree

    if data.count(b"<") > _MOST_TAGS:
        raise LimitExceeded(f"one of its parts has more than {_MOST_TAGS:,} XML tags")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=len(data) > _BLOCK,
        remove_comments=True,
        remove_pis=True,
        recover=False,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        is_bomb = any(word in str(error) for word in ("Amplification", "entity loop", "depth"))
        kind = LimitExceeded if is_bomb else Damaged
        raise kind(f"its XML cannot be read: {error}") from error


def local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str | None:
    found = (v for key, v in element.attrib.items() if key.rpartition("}")[2] == name)
    return next(map(str, found), None)


def child_text(root: Any, name: str) -> str | None:
    found = (item for item in root.iter() if local(item) == name) if root is not None else iter(())
    element = next(found, None)
    return None if element is None else "".join(element.itertext()).strip() or None
