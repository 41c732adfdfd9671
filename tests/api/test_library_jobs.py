"""Jobs: one writer at a time, told as they go, stopped when asked, taken up by the next server."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from secondlook.library.library import Library
from secondlook.library.uploads import new_staging, sweep
from secondlook.server.jobs import Jobs, Placed, RunningJob, Uploaded
from secondlook.server.libraries import Libraries
from tests.support.library_http import (
    HARBOUR,
    LIBRARY,
    documents,
    followed,
    only,
    post,
    stored,
    uploaded,
)
from tests.support.serving import client_of, settings_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.library.uploads import Staging


class Waiting(Placed):
    """Work that goes on until it is let go or stopped."""

    def __init__(self, *, fails: Exception | None = None) -> None:
        super().__init__([])
        self.began, self.go_on = threading.Event(), threading.Event()
        self.ended: str | None = None
        self._fails = fails

    def names(self) -> list[str]:
        return ["a.txt"]

    def run(self, library: Library, job: RunningJob) -> None:
        self.began.set()
        while not self.go_on.wait(0.01) and not job.stopping:
            pass
        if self._fails:
            raise self._fails

    def drop(self) -> None:
        self.ended = "dropped"

    def leave(self) -> None:
        self.ended = "left"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    libraries = Libraries(settings_at(tmp_path))
    jobs = Jobs(libraries)
    yield jobs
    jobs.close()
    asyncio.run(libraries.aclose())


def _finish(job: RunningJob) -> str:
    async def last() -> str:
        return [form.status async for form in job.changes()][-1]

    return asyncio.run(last())


def test_one_works_and_the_others_wait_their_turn(jobs: Jobs) -> None:
    first, second = Waiting(), Waiting()
    one, two = jobs.start("default", first), jobs.start("default", second)
    assert first.began.wait(30)
    assert [job.form().status for job in jobs.active("default")] == ["running", "queued"]
    assert not second.began.is_set()
    first.go_on.set()
    second.go_on.set()
    assert (_finish(one), _finish(two)) == ("done", "done")
    assert jobs.active("default") == []
    assert jobs.get("default", one.id) is one


# How far a job is


# Uploads that are stopped


def _arrived(library: Path) -> Staging:
    staging = new_staging(library)
    for at in range(3):
        staging.begin(f"{at}.txt").write(f"{HARBOUR} {at}".encode())
    staging.seal()
    return staging


@pytest.mark.parametrize("leaving", [False, True])
def test_a_stopped_upload_is_deleted_and_one_of_a_stopping_server_is_taken_up(
    tmp_path: Path, leaving: bool
) -> None:
    with Library.open(tmp_path / "library", settings=settings_at(tmp_path)) as library:
        work = Uploaded(_arrived(library.path))
        job = RunningJob(work)
        job.stop(leaving=leaving)
        work.run(library, job)
        assert library.documents() == []
        if not leaving:
            assert stored(tmp_path) == []
            return
        (again,) = sweep(library.path)
        work = Uploaded(again)
        work.run(library, RunningJob(work))
        assert len(library.documents()) == 3
        assert stored(tmp_path) == ["0.txt", "1.txt", "2.txt"]


def test_a_job_over_http_is_followed_and_stopped(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        held = only(uploaded(client, ("held.txt", "The harbour is closed.")))["document"]
        jobs: Jobs = client.app.state.served.jobs  # type: ignore[attr-defined]
        first = Waiting()
        blocking = jobs.start("default", first)
        assert first.began.wait(30)
        waiting = post(client, ("note.txt", HARBOUR)).json()
        assert waiting["status"] == "queued"
        listed = client.get(f"{LIBRARY}/documents").json()["jobs"]
        assert [job["id"] for job in listed] == [blocking.id, waiting["id"]]
        assert client.get("/api/libraries").json()[0]["writing"] is True
        busy = client.delete(f"{LIBRARY}/documents/{held}")
        assert (busy.status_code, busy.json()["code"]) == (409, "library_busy")
        assert busy.headers["retry-after"]
        for _ in range(99):
            jobs.start("default", Placed([tmp_path / "gone.txt"]))
        assert post(client, ("more.txt", HARBOUR)).status_code == 429
        stopped = client.delete(f"{LIBRARY}/jobs/{waiting['id']}").json()
        assert stopped["status"] == "stopped"
        assert stored(tmp_path) == ["held.txt"]
        for job in jobs.active("default")[1:]:
            jobs.stop("default", job.id)
        first.go_on.set()
        seen = followed(client, blocking.id)
        assert seen[-1]["status"] == "done"
        assert client.get(f"{LIBRARY}/jobs/{blocking.id}").json() == seen[-1]
        assert list(documents(client)) == ["held.txt"]


# Files by path
