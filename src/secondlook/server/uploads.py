"""How files get in: uploaded, or by path where that is allowed; and how far each job is. An upload
goes to the disk as it comes; its bytes are counted, whatever the client says about sizes."""

from __future__ import annotations

import asyncio
import errno
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi import Path as InPath
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from secondlook.library.library import samples_folder
from secondlook.library.publish import refuse_change
from secondlook.library.uploads import Arriving, Staging, new_staging, safe_name
from secondlook.retrieval.parse.source import DEFAULT_LIMITS, TABLES
from secondlook.server.jobs import Job, Placed, Rebuilt, RunningJob, Uploaded
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.server.problems import Problem
from secondlook.server.security import MEGABYTE, upload_too_large
from secondlook.server.state import FromServer  # noqa: TC001

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
FIELD = "files"
_ROOM_LEFT = 64 * MEGABYTE  # what an upload must leave on the disk: documents have to be stored too
_LOOKED_EVERY = 8 * MEGABYTE  # how often it looks: an upload may not say how large it is
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_MOST_PARTS = 1_000  # of a form: millions of tiny ones would take minutes to read
_SEND = "send multipart/form-data with one part named 'files' for each file"
FILES_PER_UPLOAD = 50
_IDLE_SECONDS = 30.0
_LEAST_RATE = 1_000  # bytes a second
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class UploadLimits:
    upload_bytes: int
    files: int
    file_bytes: int
    table_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> UploadLimits:
        upload, file = settings.serve.max_upload_mb, settings.ingest.max_file_mb
        tables = DEFAULT_LIMITS.table_bytes
        return cls(upload * MEGABYTE, FILES_PER_UPLOAD, file * MEGABYTE, tables)

    def most_of(self, name: str) -> int:
        is_table = any(name.lower().endswith(suffix) for suffix in TABLES)
        return min(self.upload_bytes, self.table_bytes if is_table else self.file_bytes)


async def receive(request: Request, library: Path, limits: UploadLimits) -> Staging:
    """Everything that the request carries, sealed. Whatever goes wrong, nothing is left behind."""
    header = request.headers.get("content-type", "")
    kind, options = parse_options_header(header)
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        said = f"an upload cannot be of the type {header[:80]!r}"
        raise Problem(415, "not_multipart", said, hint=_SEND)
    try:
        staging = await asyncio.to_thread(new_staging, library)
    except OSError as error:
        raise _unwritable(error) from error
    try:
        # Better told before a long upload than after it; without a length it is tried.
        declared = request.headers.get("content-length", "")
        _check_room(staging, int(declared) if declared.isdigit() else 0)
        receiver = _Receiver(staging, limits)
        parser = MultipartParser(boundary, receiver.callbacks())
        async for block in _in_time(request.stream()):
            await asyncio.to_thread(parser.write, block)
        parser.finalize()
        await asyncio.to_thread(receiver.seal)
    except asyncio.CancelledError:
        staging.discard()  # the loop is about to end, and would not wait for a thread
        raise
    except BaseException as error:
        await asyncio.shield(asyncio.to_thread(staging.discard))
        if isinstance(error, FormParserError):
            said = f"the upload cannot be read: {error}"
            raise Problem(422, "malformed_upload", said, hint=_SEND) from error
        if isinstance(error, ClientDisconnect):
            said = "the client went away before the upload was complete"
            raise Problem(400, "client_gone", said) from error
        if isinstance(error, OSError):
            raise _unwritable(error) from error
        raise
    return staging


async def _in_time(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A client that sends nothing for a while, or next to nothing, holds the room of others."""
    begun, seen = time.monotonic(), 0
    try:
        while True:
            left = begun + seen / _LEAST_RATE - time.monotonic()
            async with asyncio.timeout(_IDLE_SECONDS + min(0.0, left)):
                block = await anext(blocks)
            seen += len(block)
            yield block
    except StopAsyncIteration:
        return
    except TimeoutError as late:
        said = f"nothing came of the upload for {_IDLE_SECONDS:g} seconds"
        shut = {"Connection": "close"}
        raise Problem(408, "upload_stalled", said, hint="send it again", headers=shut) from late


def _check_room(staging: Staging, size: int = 0) -> None:
    if shutil.disk_usage(staging.folder).free < size + _ROOM_LEFT:
        raise OSError(errno.ENOSPC, "there is no room for it on the disk")


def _unwritable(error: OSError) -> Problem:
    if error.errno in _NO_ROOM:
        said = "there is no room on the server's disk for this upload"
        return Problem(507, "no_room", said, hint="make room there, and try again")
    said = f"the upload cannot be stored: {error.strerror or 'the disk failed'}"
    return Problem(500, "not_writable", said, hint="check the library's folder")


@dataclass(slots=True)
class _Receiver:
    """Takes the parser's events. A part that is no file is passed over."""

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
        names = "part_begin header_field header_value header_end headers_finished part_data"
        called = [*names.split(), "part_end", "end"]
        return {f"on_{name}": getattr(self, f"_{name}") for name in called}

    def seal(self) -> None:
        if not self.ended:
            raise Problem(422, "malformed_upload", "the upload is cut off", hint=_SEND)
        if not self.files:
            raise Problem(422, "no_files", "the upload holds no file", hint=_SEND)
        self.staging.seal()

    def _part_begin(self) -> None:
        self.parts += 1
        if self.parts > max(_MOST_PARTS, self.limits.files):
            raise self._too_many()
        self.header = self.value = self.disposition = b""
        self.current = None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def _header_end(self) -> None:
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
        said = f"an upload may have at most {self.limits.files} files"
        return Problem(413, "too_many_files", said, hint="send them in several uploads")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self.received += end - start
        if self.received > self.limits.upload_bytes:
            raise upload_too_large("an upload", self.limits.upload_bytes, "serve.max_upload_mb")
        one = self.current
        if one is None:
            return
        if self.received >= self.looked + _LOOKED_EVERY:
            self.looked = self.received
            _check_room(self.staging)
        if one.size + end - start > (most := self.limits.most_of(one.name)):
            raise upload_too_large(f"{one.name!r}", most, "ingest.max_file_mb")
        one.write(data[start:end])

    def _part_end(self) -> None:
        if self.current is not None:
            self.current.close()
        self.current = None

    def _end(self) -> None:
        self.ended = True


_FILES = {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
_SCHEMA = {"type": "object", "required": [FIELD], "properties": {FIELD: _FILES}}
_BODY: Any = {"required": True, "content": {"multipart/form-data": {"schema": _SCHEMA}}}


class Paths(BaseModel, extra="forbid", strict=True):
    paths: list[str] = Field(min_length=1, max_length=100, examples=[["/srv/papers"]])


@router.post("/documents", status_code=202, openapi_extra={"requestBody": _BODY})
async def upload(request: Request, opened: OpenedLibrary, state: FromServer) -> Job:
    """Takes parts named `files`. A file with the name of an earlier upload is a new version of it.
    What cannot be read fails alone, with the reason, and is not stored."""
    refuse_change(opened.library.path)
    limits, mark = UploadLimits.of(state.settings), object()
    if len(state.receiving) >= _AT_ONCE:
        said = f"{_AT_ONCE} uploads are on their way already"
        hint = "send several files in one upload, or try again when one has ended"
        raise Problem(429, "too_many_uploads", said, hint=hint, headers={"Retry-After": "10"})
    state.receiving.add(mark)
    try:
        staging = await receive(request, opened.library.path, limits)
    finally:
        state.receiving.discard(mark)
    try:
        return opened.jobs.start(opened.name, Uploaded(staging)).form()
    except BaseException:
        await asyncio.to_thread(staging.discard)
        raise


@router.post("/paths", status_code=202)
async def add_paths(opened: OpenedLibrary, asked: Paths, state: FromServer) -> Job:
    """Only under the folders that `serve.roots` names; without any, nothing."""
    roots = state.settings.serve.root_paths
    places = await asyncio.to_thread(allowed_places, asked.paths, roots)
    return opened.jobs.start(opened.name, Placed(places, within=roots)).form()


@router.post("/samples", status_code=202)
async def add_samples(opened: OpenedLibrary) -> Job:
    """The documents that come with Secondlook, to try it with."""
    return opened.jobs.start(opened.name, Placed([samples_folder()])).form()


@router.post("/rebuild", status_code=202)
async def rebuild(opened: OpenedLibrary, state: FromServer) -> Job:
    """Passages and index anew from the stored texts, in the language that is set."""
    return opened.jobs.start(opened.name, Rebuilt(state.libraries.settings(opened.name))).form()


def allowed_places(paths: Sequence[str], roots: Sequence[Path]) -> list[Path]:
    """With links followed. Of one that is not allowed nothing is said, not even that it exists."""
    if not roots:
        hint = "upload the files, or name folders in serve.roots"
        raise Problem(403, "paths_off", "this server takes no paths", hint=hint)
    allowed = [root.expanduser().resolve() for root in roots]
    places = []
    for path in paths:
        try:
            place = Path(path).resolve()
            absolute = Path(path).is_absolute()
        except (OSError, ValueError, RuntimeError):  # a null byte, a loop of links
            absolute = False
        if not absolute or not any(place.is_relative_to(root) for root in allowed):
            said = f"{path[:200]!r} is not under a folder that this server may add from"
            hint = "give an absolute path under one of serve.roots"
            raise Problem(403, "path_not_allowed", said, hint=hint)
        if not place.exists():
            raise Problem(422, "path_missing", f"there is nothing at {path[:200]!r}")
        places.append(place)
    return places


# Jobs: how far each is, as it happens, and stopping one.

JobId = Annotated[str, InPath(description="Id of a job.", max_length=40)]


def found_job(opened: OpenedLibrary, job: JobId) -> RunningJob:
    return opened.jobs.get(opened.name, job)


@router.get("/jobs/{job}")
async def show_job(opened: OpenedLibrary, job: JobId) -> Job:
    """The latest ended jobs can be asked for until the server stops."""
    return opened.jobs.get(opened.name, job).form()


@router.get("/jobs/{job}/events", response_class=EventSourceResponse)
async def follow_job(
    found: Annotated[RunningJob, Depends(found_job)],
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events named `job`, each with the whole job as it is; the last says the end."""
    number = 0
    async for form in found.changes():
        number += 1
        yield ServerSentEvent(event="job", id=str(number), data=form.model_dump(mode="json"))


@router.delete("/jobs/{job}")
async def stop_job(opened: OpenedLibrary, job: JobId) -> Job:
    """What is stored already stays; files that are not are deleted. It ends a moment later."""
    return (await asyncio.to_thread(opened.jobs.stop, opened.name, job)).form()
