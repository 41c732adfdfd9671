"""Jobs: how far each is, as it happens, and stopping one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator  # noqa: TC003  # FastAPI reads it
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent

from secondlook.api.library.job import RunningJob
from secondlook.api.library.job_forms import ENDED, Job
from secondlook.api.library.opened import OpenedLibrary  # noqa: TC001  # FastAPI reads it
from secondlook.api.problems import responses

router = APIRouter(prefix="/api/libraries/{library}/jobs", tags=["library"])
JobId = Annotated[str, Path(description="Id of a job.", max_length=40)]


def found_job(opened: OpenedLibrary, job: JobId) -> RunningJob:
    return opened.jobs.get(opened.name, job)


FoundJob = Annotated[RunningJob, Depends(found_job)]


@router.get("/{job}", summary="How far a job is", responses=responses(404))
async def show_job(opened: OpenedLibrary, job: JobId) -> Job:
    """Ended jobs can be asked for until the server stops, the latest of them."""
    return opened.jobs.get(opened.name, job).form()


@router.get(
    "/{job}/events",  # noqa: FAST003 - the dependency takes it, so that a 404 is one
    summary="A job as it happens",
    response_class=EventSourceResponse,
    responses=responses(404),
)
async def follow_job(found: FoundJob) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events named `job`, each with the whole job; the last one says how it ended.
    A reader that is slow gets fewer of them, never old ones."""
    number = 0
    async for form in changes(found):
        number += 1
        yield ServerSentEvent(event="job", id=str(number), data=form.model_dump(mode="json"))


@router.delete("/{job}", summary="Stop a job", responses=responses(404))
async def stop_job(opened: OpenedLibrary, job: JobId) -> Job:
    """What is stored already stays; files that are not are deleted. It ends a moment later."""
    stopped = await asyncio.to_thread(opened.jobs.stop, opened.name, job)
    return stopped.form()


async def changes(job: RunningJob) -> AsyncIterator[Job]:
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended with its server
            loop.call_soon_threadsafe(woken.set)

    sent: Job | None = None
    with job.listening(wake):
        while sent is None or sent.status not in ENDED:
            woken.clear()
            form = job.form()
            if form == sent:
                await woken.wait()
            else:
                sent = form
                yield form
