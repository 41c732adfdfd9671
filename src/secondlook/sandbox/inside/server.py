"""The fork server: one process that has imported everything and forks itself for each job. It
parses nothing that a job says. A request is one packet with descriptors: request, reply, output, a
channel, tables. When the channel is closed, the job is killed; with the control socket, all."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from secondlook.sandbox import kernel
from secondlook.sandbox.inside.job import clean_environment, prepare_streams, serve
from secondlook.sandbox.inside.preload import preload, readable, readable_to_others
from secondlook.sandbox.port import Limits
from secondlook.sandbox.seccomp import Confinement, Kind, confine, plan

MOST_DESCRIPTORS = 250
_FIXED = 4  # request, reply, output, channel
_PACKET = 4096
_HIGHEST_DESCRIPTOR = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    pid: int
    handle: int
    channel: socket.socket


class _Server:
    def __init__(self, control: socket.socket, how: Confinement, home: int | None) -> None:
        self._control = control
        self._how = how
        self._home = home
        self._pid = os.getpid()
        self._jobs: dict[int, _Job] = {}  # by descriptor: each job's channel and handle
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def work(self) -> None:
        while True:
            for descriptor, event in self._poll.poll():
                if descriptor == self._control.fileno():
                    if not self._accept():
                        return
                elif (job := self._jobs.get(descriptor)) is None:
                    continue
                elif descriptor == job.handle:
                    self._ended(job)
                elif event:
                    # Its handle will tell when it is dead.
                    self._poll.unregister(job.channel)
                    del self._jobs[job.channel.fileno()]
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(job.handle, signal.SIGKILL)

    def end_all(self) -> None:
        for job in set(self._jobs.values()):
            signal.pidfd_send_signal(job.handle, signal.SIGKILL)
            self._ended(job)

    def _accept(self) -> bool:
        packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, MOST_DESCRIPTORS)
        if not packet:
            return False
        channel = socket.socket(fileno=descriptors[3])
        try:
            self._start(channel, descriptors)
        except OSError as error:
            with contextlib.suppress(OSError):
                channel.send(f"failed {error}".encode())
            channel.close()
        finally:
            for descriptor in (*descriptors[:3], *descriptors[_FIXED:]):
                os.close(descriptor)
        return True

    def _start(self, channel: socket.socket, descriptors: Sequence[int]) -> None:
        pid = self._fork()
        if pid == 0:
            _become_job(descriptors, self._how, self._pid)
        job = _Job(pid, os.pidfd_open(pid), channel)
        self._jobs[job.handle] = self._jobs[channel.fileno()] = job
        self._poll.register(job.handle, select.POLLIN)
        self._poll.register(channel, select.POLLIN)
        with contextlib.suppress(OSError):  # nobody waits any more: the poll will say so
            socket.send_fds(channel, [b"started"], [job.handle])

    def _fork(self) -> int:
        if self._home is None:
            return os.fork()
        return kernel.fork_into_new_process_space(self._home)

    def _ended(self, job: _Job) -> None:
        _, status, used = os.wait4(job.pid, 0)
        if self._jobs.pop(job.channel.fileno(), None):
            self._poll.unregister(job.channel)
        del self._jobs[job.handle]
        self._poll.unregister(job.handle)
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(OSError):
            job.channel.send(f"ended {code} {used.ru_maxrss * 1024}".encode())
        job.channel.close()
        os.close(job.handle)


def _become_job(descriptors: Sequence[int], how: Confinement, server: int) -> NoReturn:
    def give_up_rights(limits: Limits) -> None:
        confine(how, limits)
        if how.kind == "plain" and os.getppid() != server:
            os._exit(1)  # it died before the kernel was told to end us with it

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        request, reply, output, *tables = (*descriptors[:3], *descriptors[_FIXED:])
        prepare_streams(output)
        close_all_but((0, 1, 2, request, reply, *tables))
        clean_environment(how.scratch)
        serve(request, reply, tables, give_up_rights)
    finally:
        os._exit(1)


def close_all_but(kept: Sequence[int]) -> None:
    first = 0
    for descriptor in sorted(kept):
        if first < descriptor:  # of an empty range, some Pythons close everything
            os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, _HIGHEST_DESCRIPTOR)


def main(kind: Kind, control_file: int) -> None:
    """Started by the program, which keeps the other end of the control socket."""
    control = socket.socket(fileno=control_file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        how, home = _settle(kind, control)
    except Exception as error:  # noqa: BLE001 - the other side turns it into one that a person reads
        control.send(f"failed {type(error).__name__}: {error}".encode()[:_PACKET])
        control.close()
        sys.exit(1)
    socket.send_fds(control, [b"ready"], [os.pidfd_open(os.getpid())])
    server = _Server(control, how, home)
    try:
        server.work()
    finally:
        server.end_all()
        control.close()
        os._exit(0)


def _settle(kind: Kind, control: socket.socket) -> tuple[Confinement, int | None]:
    may_be_another = kernel.may_change_user()
    if kind == "plain":
        preload()
        folders = readable()
        return plan(kind, folders, nobody=may_be_another and readable_to_others(folders)), None
    within_user_namespace = kernel.leave_the_machine()
    _continue_as_first_process(control)
    preload()
    home = kernel.process_space()
    folders = readable()
    kernel.move_into(folders)
    return plan(kind, folders, nobody=may_be_another and not within_user_namespace), home


def _continue_as_first_process(control: socket.socket) -> None:
    """The new process space begins with a child. This process waits for it and ends with it."""
    pid = os.fork()
    if pid == 0:
        kernel.die_with_parent(signal.SIGKILL)
        return
    control.close()
    _, status = os.waitpid(pid, 0)
    os._exit(abs(os.waitstatus_to_exitcode(status)))


def give_up_all_rights(kind: Kind) -> None:
    """In a process of its own: takes every step that a job takes, and checks that they hold."""
    folders = (os.path.dirname(os.__file__), "/usr/lib")  # noqa: PTH120
    # The server asks the same of the places where the libraries are.
    nobody = kernel.may_change_user() and (kind == "namespaces" or readable_to_others(folders))
    if kind == "namespaces":
        nobody = not kernel.leave_the_machine() and nobody
        pid = os.fork()
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 1)
        home = kernel.process_space()
        kernel.move_into(folders)
        pid = kernel.fork_into_new_process_space(home)
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 1)
    confine(plan(kind, folders, nobody=nobody), Limits())
    try:
        socket.socket(socket.AF_INET)
    except PermissionError:
        os._exit(0)
    sys.exit("a socket could still be opened")
