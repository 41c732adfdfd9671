"""Uploads that nobody should trust: clear errors, and nothing left behind."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import httpx
import pytest

from secondlook.library.uploads import new_staging
from secondlook.server import uploads
from secondlook.server.jobs import Jobs, Placed, RunningJob
from tests.support.library_http import (
    HARBOUR,
    LIBRARY,
    OWN,
    documents,
    ended,
    followed,
    only,
    post,
    stored,
    uploaded,
)
from tests.support.serving import client_of, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient

    from secondlook.library.library import Library

OTHER = "The lighthouse was painted red by the harbour authority in 1931.\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def running(place: Path) -> Iterator[TestClient]:
    with (
        mock.patch("secondlook.server.uploads.FILES_PER_UPLOAD", 3),
        client_of(place, serve={"max_upload_mb": 1}) as client,
    ):
        yield client


@pytest.fixture
def client(running: TestClient, place: Path) -> Iterator[TestClient]:
    """A server whose library is empty again after each test."""
    yield running
    for item in documents(running).values():
        running.delete(f"{LIBRARY}/documents/{item['id']}")
    assert documents(running) == {}
    assert stored(place) == []


def test_the_same_name_again_is_a_new_version_and_a_broken_one_is_not(
    client: TestClient, place: Path
) -> None:
    first = only(uploaded(client, ("note.txt", OTHER)))
    second = only(uploaded(client, ("note.txt", HARBOUR)))
    assert second["status"] == "ready"
    assert second["document"] != first["document"]
    broken = only(uploaded(client, ("note.txt", b"")))
    assert broken["status"] == "failed"
    assert "the version before it is kept" in broken["reason"]
    held = [(one["id"], one["status"]) for one in documents(client).values()]
    assert held == [(second["document"], "ready")]
    assert stored(place) == ["note.txt"]
    assert (place / "library" / "uploads" / "note.txt").read_text("utf-8") == HARBOUR


def test_deleting_never_touches_a_file_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "note.txt"
    outside.parent.mkdir()
    outside.write_text(HARBOUR, "utf-8")
    with client_of(tmp_path, serve={"roots": [str(outside.parent)]}) as client:
        asked = client.post(f"{LIBRARY}/paths", json={"paths": [str(outside.parent)]})
        file = only(ended(client, asked.json()["id"]))
        assert (file["name"], file["status"]) == ("note.txt", "ready")
        assert documents(client)["note.txt"]["uploaded"] is False
        # The same text is uploaded too: one document that lies in two places.
        assert only(uploaded(client, ("copy.txt", HARBOUR)))["document"] == file["document"]
        client.delete(f"{LIBRARY}/documents/{file['document']}")
        assert documents(client) == {}
    assert outside.exists()
    assert stored(tmp_path) == []


def test_more_than_the_limit_is_refused(client: TestClient, place: Path) -> None:
    response = post(client, ("large.txt", b"x" * (1 << 20)), ("more.txt", b"x"))
    assert (response.status_code, response.json()["code"]) == (413, "upload_too_large")
    assert stored(place) == []
    response = post(client, *[(f"{at}.txt", b"x") for at in range(4)])
    assert (response.status_code, response.json()["code"]) == (413, "too_many_files")
    assert stored(place) == []
    assert documents(client) == {}


def _raw(*parts: bytes, boundary: str = "cut") -> dict[str, Any]:
    body = b"".join(b"--cut\r\n" + part + b"\r\n" for part in parts)
    kind = f"multipart/form-data; boundary={boundary}"
    return {"content": body, "headers": {**OWN, "Content-Type": kind}}


_PART = b'Content-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nsome text'


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (_raw(_PART), 422, "malformed_upload"),
        (_raw(b"no header at all"), 422, "malformed_upload"),
        ({"files": {"other": ("a.txt", b"x")}, "headers": OWN}, 422, "no_files"),
        ({"content": b"x", "headers": {**OWN, "Content-Type": "text/plain"}}, 415, None),
        ({"content": b"", "headers": _raw()["headers"]}, 422, "malformed_upload"),
    ],
)
def test_what_is_no_upload_is_told_so(
    client: TestClient, place: Path, sent: dict[str, Any], status: int, code: str | None
) -> None:
    response = client.post(f"{LIBRARY}/documents", **sent)
    assert response.status_code == status, response.text
    assert code in {response.json()["code"], None}
    assert stored(place) == []


def _begun(base_url: str) -> socket.socket:
    """An upload that has sent two of its files and a part of the third."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    head = (
        f"POST {LIBRARY}/documents HTTP/1.1\r\nHost: {host}:{port}\r\nX-Secondlook: 1\r\n"
        "Content-Type: multipart/form-data; boundary=cut\r\nContent-Length: 1000000\r\n\r\n"
    )
    connection = socket.create_connection((host, int(port)))
    part = b"--cut\r\n" + _PART + b"\r\n"
    connection.sendall(head.encode() + 2 * part + b"--cut\r\n" + _PART * 100)
    return connection


def test_a_client_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as serving:
        uploads = tmp_path / "library" / "uploads"
        with _begun(serving.base_url):
            _until(lambda: any(uploads.glob(".incoming-*/2")))
        _until(lambda: stored(tmp_path) == [])


def test_uploads_that_stall_hold_neither_files_nor_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "_AT_ONCE", 2)
    monkeypatch.setattr(uploads, "_IDLE_SECONDS", 3.0)
    with served(tmp_path) as serving, httpx.Client(base_url=serving.base_url) as client:
        incoming = tmp_path / "library" / "uploads"
        with _begun(serving.base_url) as one, _begun(serving.base_url) as two:
            _until(lambda: len(list(incoming.glob(".incoming-*/2"))) == 2)
            links = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
            held = [link for link in links if link.startswith(f"{incoming}/")]
            assert len(held) == 2 * 2, held  # of each the open file and the lock
            refused = post(client, ("note.txt", HARBOUR))
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_uploads")
            for stalled in (one, two):
                stalled.settimeout(20)  # it is told at once, not after the rest was waited for
                assert b" 408 " in stalled.recv(100)
        assert only(uploaded(client, ("note.txt", HARBOUR)))["status"] == "ready"
        assert stored(tmp_path) == ["note.txt"]
        links = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
        assert not [link for link in links if link.startswith(f"{incoming}/")]


def test_a_job_with_too_many_passages_is_refused_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.server.jobs._MOST_PASSAGES", 20)
    with client_of(tmp_path) as client:
        job = uploaded(client, ("long.txt", "\n\n".join([HARBOUR] * 2000)))
        assert job["status"] == "failed"
        assert "more than 20 passages" in job["error"]


def _until(holds: Any) -> None:
    """Looks again and again; the machine may be busy."""
    for _ in range(3000):
        if holds():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


def test_a_server_takes_up_what_a_killed_one_left(tmp_path: Path) -> None:
    library = tmp_path / "library"
    arrived = new_staging(library)
    arrived.begin("note.txt").write(HARBOUR.encode())
    arrived.seal()
    arrived.leave()
    half = new_staging(library)
    half.begin("half.txt").write(b"hal")
    half.leave()
    with client_of(tmp_path) as client:
        assert not (library / "uploads" / half.folder.name).exists()
        for job in client.get(f"{LIBRARY}/documents").json()["jobs"]:
            ended(client, job["id"])
        assert list(documents(client)) == ["note.txt"]
        assert stored(tmp_path) == ["note.txt"]


class Waiting(Placed):
    """Work that goes on until it is let go or stopped."""

    def __init__(self) -> None:
        super().__init__([])
        self.began, self.go_on = threading.Event(), threading.Event()

    def run(self, library: Library, job: RunningJob) -> None:
        self.began.set()
        while not self.go_on.wait(0.01) and not job.stopping:
            pass


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
        assert client.delete(f"{LIBRARY}/jobs/{waiting['id']}").json()["status"] == "stopped"
        assert stored(tmp_path) == ["held.txt"]
        for job in jobs.active("default")[1:]:
            jobs.stop("default", job.id)
        first.go_on.set()
        seen = followed(client, blocking.id)
        assert seen[-1]["status"] == "done"
        assert client.get(f"{LIBRARY}/jobs/{blocking.id}").json() == seen[-1]
        assert list(documents(client)) == ["held.txt"]
