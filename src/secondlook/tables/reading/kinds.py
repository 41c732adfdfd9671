"""What kind of file it is: by what it holds, then by what it is called."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Literal

from secondlook.errors import Damaged, LimitExceeded, NoText, Unsupported

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["delimited", "json", "parquet", "sqlite", "workbook"]

SUFFIXES: dict[str, Kind] = {
    ".csv": "delimited", ".tsv": "delimited", ".tab": "delimited", ".psv": "delimited",
    ".parquet": "parquet", ".pq": "parquet",
    ".xlsx": "workbook", ".xlsm": "workbook", ".xlsb": "workbook", ".xls": "workbook",
    ".ods": "workbook",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".db3": "sqlite",
}  # fmt: skip
TABLE_SUFFIXES = frozenset(
    f"{suffix}{packed}" for suffix in SUFFIXES if suffix != ".json" for packed in ("", ".gz")
)
"""Files that are tables by their name. `.json` may hold anything, so it is read only on request."""
_GZIP = b"\x1f\x8b"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BLOCK = 1 << 20
_MOST_EXPANSION = 200
_ALWAYS_ALLOWED = 1 << 30


def suffix_of(name: str) -> str:
    """In lower case, without a `.gz` behind it."""
    lowered = name.lower().removesuffix(".gz")
    dot = lowered.rfind(".")
    return lowered[dot:] if dot > 0 else ""


def stem_of(name: str) -> str:
    """Without what tells its kind."""
    bare = name[: -len(".gz")] if name.lower().endswith(".gz") else name
    return bare.removesuffix(bare[len(bare) - len(suffix_of(bare)) :])


def kind_of(path: Path, suffix: str) -> Kind:
    with path.open("rb") as stream:
        head = stream.read(4096)
    if not head:
        raise NoText("the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"SQLite format 3\x00"):
        return "sqlite"
    if head.startswith((b"PK\x03\x04", _OLE)):
        return "workbook"
    return _kind_of_text(head, suffix)


def _kind_of_text(head: bytes, suffix: str) -> Kind:
    named = SUFFIXES.get(suffix)
    if head.startswith(b"%PDF"):
        raise Unsupported("it is a PDF, not a table")
    if named in {"parquet", "sqlite", "workbook"}:
        raise Damaged(f"its name ends in {suffix!r}, but its contents are something else")
    if named is None and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return "json"
    return named or "delimited"


def unpacked(path: Path, stage: Path, *, most_bytes: int) -> Path:
    """The file itself, or what a gzip file holds."""
    with path.open("rb") as stream:
        if not stream.read(2).startswith(_GZIP):
            return path
    allowed = min(most_bytes, max(_ALWAYS_ALLOWED, path.stat().st_size * _MOST_EXPANSION))
    target = stage / "unpacked"
    try:
        with gzip.open(path, "rb") as source, target.open("wb") as sink:
            written = 0
            while block := source.read(_BLOCK):
                written += len(block)
                if written > allowed:
                    raise LimitExceeded(
                        f"it expands to more than {allowed:,} bytes",
                        hint="a small file that grows this much is usually a decompression bomb",
                    )
                sink.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Damaged(f"its gzip data are damaged or cut off: {error}") from error
    return target
