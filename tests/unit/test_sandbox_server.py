"""The fork server's loop, with processes of the test's own in place of forks of itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.sandbox import kernel as namespaces
from secondlook.sandbox import kernel as system
from secondlook.sandbox.inside import server as server_module
from secondlook.sandbox.server import ServerGone, StartedJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WAITING = "import sys; sys.stdin.read()"


class Family:
    """Processes that the server takes for its forks."""

    def __init__(self, code: str) -> None:
        self._code = code
        self.processes: list[subprocess.Popen[bytes]] = []

    def fork(self) -> int:
        child = subprocess.Popen([sys.executable, "-c", self._code], stdin=subprocess.PIPE)
        self.processes.append(child)
        return child.pid

    def forget(self) -> None:
        for child in self.processes:
            child.returncode = 0  # the server has waited for it
            assert child.stdin is not None
            child.stdin.close()


@contextmanager
def serving(fork: Callable[[], int]) -> Iterator[socket.socket]:
    """The program's end of the control socket of a server that runs until it is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    how: Any = None
    server = server_module._Server(theirs, how, None)
    server._fork = fork  # type: ignore[method-assign]

    def work() -> None:
        server.work()
        server.end_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield ours
    finally:
        ours.close()
        thread.join(20)
        assert not thread.is_alive()
        theirs.close()


def ask(control: socket.socket) -> StartedJob:
    nothing = os.open(os.devnull, os.O_RDWR)
    channel, channel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        socket.send_fds(control, [b"job"], [nothing, nothing, nothing, channel_end.fileno()])
    finally:
        channel_end.close()
    return StartedJob(nothing, os.dup(nothing), channel, 0)


def test_job_that_ends_by_itself() -> None:
    family = Family("raise SystemExit(7)")
    with serving(family.fork) as control:
        job = ask(control)
        job.wait_for_start(20)
        assert job.ended() is not None
        job.close()
        other = ask(control)
        other.wait_for_start(20)
        ended = other.ended()
        other.close()
    family.forget()
    assert ended is not None
    assert ended[0] == 7
    assert ended[1] > 1 << 20


def test_job_is_killed_when_nobody_waits_for_it() -> None:
    family = Family(WAITING)
    with serving(family.fork) as control:
        job = ask(control)
        job.wait_for_start(20)
        assert job.memory() >= 0
        job.kill()
        ended = job.ended()
        job.close()
    family.forget()
    assert ended is not None
    assert ended[0] == -signal.SIGKILL


def test_jobs_end_with_the_server() -> None:
    family = Family(WAITING)
    with serving(family.fork) as control:
        job = ask(control)
        job.wait_for_start(20)
    with pytest.raises(ProcessLookupError):
        os.kill(family.processes[0].pid, 0)
    ended = job.ended()
    job.close()
    assert ended is not None
    assert ended[0] == -signal.SIGKILL
    family.forget()


def test_machine_without_room_for_a_job_is_told() -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with serving(fork) as control:
        job = ask(control)
        with pytest.raises(Exception, match="Resource temporarily unavailable"):
            job.wait_for_start(20)
        assert job.memory() == 0
        job.close()


def test_server_that_is_gone_is_noticed() -> None:
    channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other.close()
    job = StartedJob(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_RDONLY), channel, 0)
    with pytest.raises(ServerGone):
        job.wait_for_start(20)
    job.kill()
    job.close()


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(server_module, "preload", lambda: None)
    yield codes
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_plain_server_gets_ready_and_ends_with_its_socket(ended: list[int]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(SystemExit):
        server_module.main("plain", theirs.detach())
    said, handles, _, _ = socket.recv_fds(ours, 100, 1)
    ours.close()
    assert (said, len(handles), ended) == (b"ready", 1, [0])
    os.close(handles[0])


def test_server_that_cannot_start_says_why(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> bool:
        raise PermissionError(1, "unshare: Operation not permitted")

    monkeypatch.setattr(namespaces, "leave_the_machine", refuse)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with pytest.raises(SystemExit):
            server_module.main("namespaces", theirs.detach())
        assert (
            ours.recv(100) == b"failed PermissionError: [Errno 1] unshare: Operation not permitted"
        )
    assert ended == []


def test_server_of_namespaces_moves_after_it_has_imported(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def step(name: str, value: object = None) -> Callable[..., Any]:
        def taken(*_: object) -> object:
            steps.append(name)
            return value

        return taken

    monkeypatch.setattr(namespaces, "leave_the_machine", step("leave", value=True))
    monkeypatch.setattr(server_module, "_continue_as_first_process", step("first"))
    monkeypatch.setattr(server_module, "preload", step("import"))
    monkeypatch.setattr(namespaces, "process_space", step("space", 9))
    monkeypatch.setattr(namespaces, "move_into", step("move"))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    how, home = server_module._settle("namespaces", theirs)
    ours.close()
    theirs.close()
    assert steps == ["leave", "first", "import", "space", "move"]
    assert (home, how.kind, how.nobody, ended) == (9, "namespaces", False, [])


def test_first_process_is_waited_for(ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(system, "die_with_parent", told.append)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    monkeypatch.setattr(os, "fork", lambda: 0)
    server_module._continue_as_first_process(theirs)
    assert told == [signal.SIGKILL]
    monkeypatch.setattr(os, "fork", lambda: 5)
    monkeypatch.setattr(os, "waitpid", lambda *_: (5, 3 << 8))
    with pytest.raises(SystemExit):
        server_module._continue_as_first_process(theirs)
    ours.close()
    assert ended == [3]


def test_job_keeps_only_its_own_descriptors() -> None:
    code = """
import os, sys
from secondlook.sandbox.inside.server import close_all_but
kept = os.open(os.devnull, os.O_RDONLY)
os.dup2(kept, 40)
close_all_but((0, 1, 2, 40))
print(sorted(os.listdir("/proc/self/fd"), key=int)[:4], len(os.listdir("/proc/self/fd")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['0', '1', '2', '3'] 5"  # 3 is the listing itself
