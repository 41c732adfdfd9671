"""Archives: what lies in them, one member after the other, never written to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any

from secondlook.errors import Damaged, ExtractionError, LimitExceeded
from secondlook.retrieval.parse.extract import Carried
from secondlook.retrieval.parse.source import BROKEN_ZIP, UNSUPPORTED, check_expansion, read_member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.retrieval.parse.source import Budget, Source

_BLOCK = 1 << 20
_HIDDEN = re.compile(r"(^|/)(__MACOSX/|\.[^/.])")
_COMPRESSIONS: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_BROKEN = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
_TAR_HEAD = 512
_TAR_MARK = slice(257, 262)


def open_zip(source: Source) -> tuple[None, Iterator[Carried]]:
    return None, _named_once(_zip_members(source))


def _zip_members(source: Source) -> Iterator[Carried]:
    with source.open() as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except BROKEN_ZIP as error:
            raise Damaged(f"it is not a readable zip file: {error}") from error
        with archive:
            check_expansion(archive, source.budget)
            for info in archive.infolist():
                if not info.is_dir() and not is_hidden(info.filename):
                    yield _zip_member(archive, info, source.budget)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> Carried:
    budget.spend_member()
    name = harmless(info.filename)
    if refusal := _too_large(info.file_size, name, budget):
        return refusal
    try:
        return Carried(name, read_member(archive, info, budget), size=info.file_size)
    except LimitExceeded:
        raise
    except ExtractionError as error:
        return Carried(name, error=error, size=info.file_size)


def open_tar(source: Source) -> tuple[None, Iterator[Carried]]:
    return None, _named_once(_tar_members(source))


def _tar_members(source: Source) -> Iterator[Carried]:
    with source.open() as stream:
        yield from _read_tar(stream, source.budget)


def _read_tar(stream: IO[bytes], budget: Budget) -> Iterator[Carried]:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                budget.beat()
                # Headers are counted too: what is skipped still had to be decompressed.
                budget.spend_expanded(_TAR_HEAD)
                if info.isreg() and not is_hidden(info.name):
                    yield _tar_member(archive, info, budget)
                elif info.isreg():
                    budget.spend_expanded(info.size)
    except _BROKEN as error:
        raise Damaged(f"the archive is damaged: {error}") from error


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo, budget: Budget) -> Carried:
    budget.spend_member()
    name = harmless(info.name)
    budget.spend_expanded(info.size)
    if refusal := _too_large(info.size, name, budget):
        return refusal
    stream = archive.extractfile(info)
    data = stream.read() if stream is not None else b""
    if len(data) < info.size:
        return Carried(name, error=Damaged("the archive ends in the middle of it"), size=info.size)
    return Carried(name, data, size=info.size)


def _too_large(size: int, name: str, budget: Budget) -> Carried | None:
    if size <= budget.limits.file_bytes:
        return None
    reason = f"it has {size:,} bytes, the limit is {budget.limits.file_bytes:,}"
    return Carried(name, error=LimitExceeded(reason), size=size)


def open_compressed(source: Source) -> tuple[None, Iterator[Carried]]:
    """A compressed tar is opened as one; anything else is a single file without its suffix."""
    kind = {b"\x1f\x8b": "gzip", b"BZ": "bzip2"}.get(source.head[:2], "xz")
    return None, _named_once(_decompressed(source, kind))


def _decompressed(source: Source, kind: str) -> Iterator[Carried]:
    with source.open() as packed, _COMPRESSIONS[kind](packed) as stream:
        try:
            head = stream.read(_TAR_HEAD)
            stream.seek(0)
        except _BROKEN as error:
            raise Damaged(f"its {kind} compression is damaged: {error}") from error
        if head[_TAR_MARK] == b"ustar":
            yield from _read_tar(stream, source.budget)
        else:
            yield _single(stream, source, kind)


def _single(stream: IO[bytes], source: Source, kind: str) -> Carried:
    source.budget.spend_member()
    blocks: list[bytes] = []
    try:
        while block := stream.read(_BLOCK):
            source.budget.spend_expanded(len(block))
            source.budget.beat()
            blocks.append(block)
    except _BROKEN as error:
        raise Damaged(f"its {kind} compression is damaged: {error}") from error
    name = re.sub(r"\.(gz|bz2|xz|z)$", "", source.name, flags=re.IGNORECASE)
    data = b"".join(blocks)
    return Carried(name, data, size=len(data))


def is_hidden(name: str) -> bool:
    """Hidden files, macOS's shadow files, and what no parser could read anyway."""
    clean = name.replace("\\", "/").lstrip("./") if not name.startswith(".") else name
    suffix = clean.rpartition(".")[2].lower() if "." in clean else ""
    return bool(_HIDDEN.search(clean)) or f".{suffix}" in UNSUPPORTED


def harmless(name: str) -> str:
    """A member's name as a plain relative path; it is only ever shown, never opened."""
    parts = name.replace("\\", "/").split("/")
    kept = [part for part in parts if part not in {"", ".", ".."} and not part.endswith(":")]
    path = "/".join(kept).encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x1f\x7f]", "_", path)[:1000] or "unnamed"


def _named_once(members: Iterator[Carried]) -> Iterator[Carried]:
    """Archives may hold two files of one name: the second becomes "name (2)"."""
    seen: dict[str, int] = {}
    for item in members:
        count = seen[item.name] = seen.get(item.name, 0) + 1
        yield item if count == 1 else _renamed(item, count)


def _renamed(item: Carried, count: int) -> Carried:
    stem, dot, suffix = item.name.rpartition(".")
    name = f"{stem} ({count}){dot}{suffix}" if stem else f"{item.name} ({count})"
    return Carried(name, item.data, item.error, item.size)
