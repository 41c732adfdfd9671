"""The backend `bubblewrap`: each job in a fresh interpreter, in a world that `bwrap` makes for it.
Nothing is kept warm, so a job takes a second to begin."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import weakref
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from secondlook.errors import SandboxError, UsageError
from secondlook.processes import APART
from secondlook.sandbox import kernel
from secondlook.sandbox.forked import import_paths, server_environment, used_memory
from secondlook.sandbox.inside.preload import SYSTEM_PATHS
from secondlook.sandbox.kernel import SCRATCH
from secondlook.sandbox.outcomes import run_job
from secondlook.sandbox.port import READY, Limits, Verdict, missing_packages, trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Outcome, Sandbox, Supplied

_NAME = "bubblewrap"
_PROGRAM = "bwrap"
_INSTALL = "bubblewrap is not installed; for example: apt-get install bubblewrap"


def verdict() -> Verdict:
    missing = missing_packages()
    if missing:
        return Verdict(_NAME, usable=False, why=missing)
    return _of_the_machine(shutil.which(_PROGRAM))


def start(limits: Limits) -> Sandbox:
    program = shutil.which(_PROGRAM)
    if program is None:
        raise SandboxError(f"No sandbox can be made: {_INSTALL}.")
    return WrappingSandbox(program, limits)


@cache
def _of_the_machine(program: str | None) -> Verdict:
    if not kernel.supported():
        return Verdict(_NAME, usable=False, why="it needs Linux on x86-64 or ARM64")
    if program is None:
        return Verdict(_NAME, usable=False, why=_INSTALL)
    python = (sys.executable, "-s", "-P", "-c", _TRIAL, *import_paths())
    command = [*arguments(program, Limits()), *python]
    if problem := trial(command, environment=server_environment()):
        return Verdict(_NAME, usable=False, why=problem)
    known = kernel.version()
    files = f"Landlock {known}" if known else "no Landlock"
    return Verdict(_NAME, usable=True, why=f"{program}, {files}, seccomp")


class WrappingSandbox:
    """Holds nothing between jobs but the jobs that run."""

    name = _NAME

    def __init__(self, program: str, limits: Limits) -> None:
        self._program = program
        self._limits = limits
        self._lock = threading.Lock()
        self._running: weakref.WeakSet[_WrappedJob] = weakref.WeakSet()
        self._closed = False

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        return run_job(self._started, code, tables, limits or self._limits)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for job in self._running:
                job.kill()

    def _started(self, request: int, tables: Sequence[int], limits: Limits) -> _WrappedJob:
        if self._closed:
            raise UsageError("This sandbox has been closed.", hint="Open another one.")
        job = _start_job(self._program, request, tables, limits)
        with self._lock:
            self._running.add(job)
            if self._closed:
                job.kill()
        return job


# Starts `bwrap` with a job in it, and holds on to what it started.

_START_SECONDS = 120.0  # a cold disk under load; a second otherwise
_END_SECONDS = 10.0
_MOST_SAID = 2_000
_BY_SIGNAL = 128
_BOOT = (
    "import sys; sys.path += sys.argv[2:]; "
    "from secondlook.sandbox.inside.server import run_wrapped; run_wrapped(sys.argv[1])"
)
_TRIAL = (
    "import sys; sys.path += sys.argv[1:]; "
    "from secondlook.sandbox.inside.server import try_wrapped; try_wrapped()"
)


class _WrappedJob:
    def __init__(self, process: subprocess.Popen[bytes], said: BinaryIO) -> None:
        self._process = process
        self._said = said
        self._handle: int | None = None
        self._baseline = 0
        self.reply = -1
        self.output = -1

    def wait_until_ready(self, ready: int, info: int) -> None:
        """`bwrap` says which process it made, the job when it has imported what it needs."""
        told = b""
        while b"}" not in told and (part := _read_some(info)):
            told += part
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            self._handle = os.pidfd_open(json.loads(told)["child-pid"])
        if self._handle is None or _read_some(ready) != READY:
            self._process.kill()
            self._process.wait()
            self._said.seek(0)
            words = " ".join(self._said.read(_MOST_SAID).decode("utf-8", "replace").split())
            words = words or "it ended without a word"
            raise SandboxError(f"bubblewrap could not start a job ({words}).")
        self._baseline = used_memory(self._handle)

    def memory(self) -> int:
        return 0 if self._handle is None else max(0, used_memory(self._handle) - self._baseline)

    def kill(self) -> None:
        """The first process of its space: with it, all that is in there ends."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def ended(self) -> tuple[int, int] | None:
        """Most memory is known to the watcher alone."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        return (_BY_SIGNAL - code if code > _BY_SIGNAL else code), 0

    def close(self) -> None:
        self.kill()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        handle, self._handle = self._handle, None
        for descriptor in (self.reply, self.output, handle):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._said.close()


def _start_job(program: str, request: int, tables: Sequence[int], limits: Limits) -> _WrappedJob:
    """The descriptors stay the caller's. Returns when the job is about to run the code."""
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        pipes = [os.pipe() for _ in range(4)]
        for reading, writing in pipes:
            ours.callback(os.close, reading)
            theirs.callback(os.close, writing)
        (reply, reply_end), (output, output_end), (ready, ready_end), (info, info_end) = pipes
        numbers = [request, reply_end, output_end, ready_end, *tables]
        listed = ",".join(map(str, numbers))
        python = (sys.executable, "-s", "-P", "-c", _BOOT, listed, *import_paths())
        command = [*arguments(program, limits, info=info_end), *python]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the job
        process = subprocess.Popen(  # noqa: S603 - bubblewrap, our own interpreter and code
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=[*numbers, info_end],
            env=server_environment(),
            cwd="/",
            **APART,
        )
        theirs.close()
        job = _WrappedJob(process, said)
        try:
            job.wait_until_ready(ready, info)
            job.reply, job.output = os.dup(reply), os.dup(output)
        except BaseException:
            job.close()
            raise
        return job


def arguments(program: str, limits: Limits, *, info: int | None = None) -> list[str]:
    """A root of its own with read-only views of what Python needs, and nothing to talk to."""
    shown: list[str] = []
    for path in readable():
        if os.path.islink(path):  # noqa: PTH114 - /lib on most systems
            shown += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        else:
            shown += ["--ro-bind", path, path]
    return [
        program,
        "--unshare-all",
        "--unshare-user",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        *("--cap-drop", "ALL"),
        *("--cap-add", "CAP_SYS_ADMIN"),  # to bound its files; given up before the code runs
        *shown,
        *("--dev-bind", "/dev/null", "/dev/null"),
        *("--size", str(limits.scratch_bytes), "--tmpfs", SCRATCH),
        *("--remount-ro", "/"),
        *("--chdir", SCRATCH),
        *(("--info-fd", str(info)) if info is not None else ()),
        "--",
    ]


def readable() -> tuple[str, ...]:
    """Where the interpreter, libraries and their data lie; links on the way to it included."""
    links = []
    path = sys.executable
    while os.path.islink(path) and path not in links:  # noqa: PTH114
        links.append(path)
        path = os.path.join(os.path.dirname(path), os.readlink(path))  # noqa: PTH115, PTH118, PTH120
    standard = str(Path(sysconfig.get_path("stdlib")).parent)
    binaries = [sys.executable, f"{sys.prefix}/pyvenv.cfg", os.path.realpath(sys.executable)]
    wanted = dict.fromkeys([*SYSTEM_PATHS, standard, *import_paths(), *binaries, *links])
    present = [path for path in wanted if os.path.lexists(path)]
    links = [path for path in present if os.path.islink(path)]  # noqa: PTH114
    real = kernel.outermost([path for path in present if path not in links])
    return tuple(sorted([*real, *links], key=len))


def _read_some(descriptor: int) -> bytes:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return os.read(descriptor, 1 << 16) if waiting.poll(1000 * _START_SECONDS) else b""
