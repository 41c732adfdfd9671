"""An upload from the wire to the disk: multipart read as it comes, never held in memory.

What a client says about sizes is not believed: bytes are counted as they arrive. What a client
calls its files is not used as it is: `library.upload_names` makes a name of it.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from secondlook.api.limits import MEGABYTE, upload_too_large
from secondlook.api.problems import Problem
from secondlook.library.upload_names import safe_name
from secondlook.library.uploads import new_staging
from secondlook.retrieval.parse.suffixes import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import Request

    from secondlook.library.uploads import Arriving, Staging
    from secondlook.settings import Settings

FIELD = "files"
_ROOM_LEFT = 64 * MEGABYTE
"""What an upload must leave on the disk: documents have to be stored too."""
_LOOKED_EVERY = 8 * MEGABYTE
"""How often an upload looks whether it leaves that much: it may not say how large it is, and others
may be under way."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_MOST_PARTS = 1_000
"""Files and whatever else a form sends along: millions of tiny parts would take minutes to read."""
_SEND = "send multipart/form-data with one part named 'files' for each file"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    upload_bytes: int
    files: int
    file_bytes: int
    table_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> UploadLimits:
        return cls(
            upload_bytes=settings.serve.max_upload_mb * MEGABYTE,
            files=settings.serve.files_per_upload,
            file_bytes=settings.ingest.max_file_mb * MEGABYTE,
            table_bytes=settings.ingest.max_table_mb * MEGABYTE,
        )

    def most_of(self, name: str) -> int:
        is_table = any(name.lower().endswith(suffix) for suffix in TABLES)
        return min(self.upload_bytes, self.table_bytes if is_table else self.file_bytes)


async def receive(request: Request, library: Path, limits: UploadLimits) -> Staging:
    """Everything that the request carries, sealed. Whatever goes wrong, nothing is left behind."""
    boundary = _boundary(request)
    try:
        _check_room(library, request)
        staging = await asyncio.to_thread(new_staging, library)
    except OSError as error:
        raise _unwritable(error) from error
    try:
        receiver = _Receiver(staging, limits)
        parser = MultipartParser(boundary, receiver.callbacks())
        async for block in request.stream():
            await asyncio.to_thread(parser.write, block)
        parser.finalize()
        await asyncio.to_thread(receiver.seal)
    except BaseException as error:
        await asyncio.shield(asyncio.to_thread(staging.discard))
        raise _explained(error) from error
    return staging


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, FormParserError):
        return Problem(422, "malformed_upload", f"the upload cannot be read: {error}", hint=_SEND)
    if isinstance(error, ClientDisconnect):
        return Problem(400, "client_gone", "the client went away before the upload was complete")
    return _unwritable(error) if isinstance(error, OSError) else error


def _boundary(request: Request) -> bytes:
    header = request.headers.get("content-type", "")
    kind, options = parse_options_header(header)
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise Problem(
            415, "not_multipart", f"an upload cannot be of the type {header[:80]!r}", hint=_SEND
        )
    return boundary


def _check_room(library: Path, request: Request) -> None:
    """Better told before a long upload than after it; without a length it is tried."""
    declared = request.headers.get("content-length", "")
    there = next(place for place in (library, *library.parents) if place.exists())
    if declared.isdigit() and shutil.disk_usage(there).free < int(declared) + _ROOM_LEFT:
        raise OSError(errno.ENOSPC, "there is no room for it on the disk")


def _unwritable(error: OSError) -> Problem:
    if error.errno in _NO_ROOM:
        return Problem(
            507,
            "no_room",
            "there is no room on the server's disk for this upload",
            hint="make room on the disk that holds the library, and try again",
        )
    return Problem(
        500,
        "not_writable",
        f"the upload cannot be stored: {error.strerror or 'the disk failed'}",
        hint="check that the server may write to the library's folder",
    )


@dataclass(slots=True)
class _Receiver:
    """What the parser's events come to. A part that is no file is passed over."""

    staging: Staging
    limits: UploadLimits
    parts: int = 0
    files: int = 0
    received: int = 0
    looked: int = 0
    ended: bool = False
    current: Arriving | None = None
    header: bytes = b""
    value: bytes = b""
    disposition: bytes = b""

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._part_begins,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_ends,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._part_ends,
            "on_end": self._ends,
        }

    def seal(self) -> None:
        if not self.ended:
            raise Problem(422, "malformed_upload", "the upload is cut off", hint=_SEND)
        if not self.files:
            raise Problem(422, "no_files", "the upload holds no file", hint=_SEND)
        self.staging.seal()

    def _part_begins(self) -> None:
        self.parts += 1
        if self.parts > max(_MOST_PARTS, self.limits.files):
            raise self._too_many()
        self.header = self.value = self.disposition = b""
        self.current = None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def _header_ends(self) -> None:
        if self.header.strip().lower() == b"content-disposition":
            self.disposition = self.value
        self.header = self.value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self.disposition)
        if options.get(b"name") != FIELD.encode() or b"filename" not in options:
            return
        self.files += 1
        if self.files > self.limits.files:
            raise self._too_many()
        name = safe_name(options[b"filename"].decode("utf-8", "replace"))
        self.current = self.staging.begin(name)

    def _too_many(self) -> Problem:
        return Problem(
            413,
            "too_many_files",
            f"an upload may have at most {self.limits.files} files",
            hint="send them in several uploads; serve.files_per_upload sets how many",
        )

    def _data(self, data: bytes, start: int, end: int) -> None:
        self.received += end - start
        if self.received > self.limits.upload_bytes:
            raise upload_too_large("an upload", self.limits.upload_bytes, "serve.max_upload_mb")
        one = self.current
        if one is None:
            return
        self._check_room_left()
        if one.size + end - start > (most := self.limits.most_of(one.name)):
            raise upload_too_large(f"{one.name!r}", most, "ingest.max_file_mb")
        one.write(data[start:end])

    def _check_room_left(self) -> None:
        if self.received < self.looked + _LOOKED_EVERY:
            return
        self.looked = self.received
        if shutil.disk_usage(self.staging.folder).free < _ROOM_LEFT:
            raise OSError(errno.ENOSPC, "there is no room for it on the disk")

    def _part_ends(self) -> None:
        self.current = None

    def _ends(self) -> None:
        self.ended = True
