"""The tool `add`: documents that are handed over, and paths where the owner allows them."""

from __future__ import annotations

import asyncio
import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.api.library.works import Placed, Uploaded
from secondlook.api.mcp.forms import AddedFile, AddResult
from secondlook.errors import LimitExceeded, SecondlookError, UsageError
from secondlook.library.upload_names import safe_name
from secondlook.library.uploads import new_staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.mcpserver import Context

    from secondlook.api.library.job import RunningJob, Work
    from secondlook.api.library.job_forms import Job
    from secondlook.api.mcp.service import Service
    from secondlook.library.uploads import Staging

MOST_BYTES = 16 << 20
"""Of one document that comes as text or base64 in a message."""


def content(text: str | None, data: str | None) -> bytes:
    """What was handed over. Exactly one of them must be given."""
    if (text is None) == (data is None):
        raise UsageError(
            "give text or base64, one of them", hint="or paths, where they are allowed"
        )
    if len(text or data or "") > MOST_BYTES * 4 // 3 + 4:
        raise _too_large()
    found = text.encode("utf-8", "replace") if text is not None else _decoded(data or "")
    if len(found) > MOST_BYTES:
        raise _too_large()
    if not found:
        raise UsageError("the document is empty", hint="there is nothing to add")
    return found


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError(
            f"this is not base64: {error}", hint="plain text goes into text"
        ) from error


def _too_large() -> LimitExceeded:
    return LimitExceeded(
        f"the document has more than {MOST_BYTES >> 20} MB",
        hint="add it with secondlook add, or on the page",
    )


def allowed(paths: Sequence[str], roots: Sequence[Path]) -> list[Path]:
    """The paths, if every one lies under a folder that the owner has opened; links are followed
    first, so that none leads out of it."""
    if not roots:
        raise UsageError(
            "paths of this machine are not taken",
            hint="hand the document over as text or base64; its owner can allow folders with "
            "the setting serve.roots",
        )
    opened = [root.expanduser().resolve() for root in roots]
    return [_allowed(path, opened) for path in paths]


def _allowed(given: str, roots: Sequence[Path]) -> Path:
    try:
        path = Path(given).expanduser().resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{given!r} is no path: {error}") from error
    # What lies outside is not even said to exist.
    if not any(path.is_relative_to(root) for root in roots):
        raise UsageError(
            f"{given!r} lies in no folder that is allowed",
            hint=f"allowed: {', '.join(map(str, roots))}",
        )
    if not path.exists():
        raise UsageError(f"there is no {given!r}", hint="check the spelling")
    return path


async def add_content(
    service: Service, library: str, data: bytes, name: str, context: Context
) -> AddResult:
    staging = await asyncio.to_thread(_staged, service.libraries.path(library), data, name)
    return await _carried_out(service, library, Uploaded(staging), context)


async def add_paths(
    service: Service, library: str, paths: Sequence[Path], context: Context
) -> AddResult:
    roots = service.settings.serve.root_paths
    return await _carried_out(service, library, Placed(paths, within=roots), context)


def _staged(library: Path, data: bytes, name: str) -> Staging:
    try:
        staging = new_staging(library)
        try:
            staging.begin(safe_name(name)).write(data)
            staging.seal()
        except BaseException:
            staging.discard()
            raise
    except OSError as error:
        raise SecondlookError(
            f"the document cannot be stored: {error.strerror or error}",
            hint="check that there is room and that the library's folder can be written to",
        ) from error
    return staging


async def _carried_out(service: Service, library: str, work: Work, context: Context) -> AddResult:
    job = await asyncio.to_thread(service.jobs.start, library, work)
    try:
        return _result(await _ended(job, context))
    finally:
        if not job.ended:
            service.jobs.stop(library, job.id)


async def _ended(job: RunningJob, context: Context) -> Job:
    """Its end. The client is told how far it is; what it has not been told when there is news
    again is left out."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    count = 0

    def changed() -> None:
        loop.call_soon_threadsafe(news.set)

    with job.listening(changed):
        while not job.ended:
            count += 1
            form = job.form()
            await context.report_progress(count, message=f"{form.stage}: {form.share:.0%}")
            await news.wait()
            news.clear()
    return job.form()


def _result(job: Job) -> AddResult:
    files = [
        AddedFile(name=one.name, status=one.status, document=one.document, reason=one.reason)
        for one in job.files
    ]
    if job.status == "failed":
        raise SecondlookError(job.error or "nothing could be added")
    if files and all(one.status == "failed" for one in files):
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in files[:5])
        raise SecondlookError(f"nothing could be added: {reasons}")
    return AddResult(files=files)
