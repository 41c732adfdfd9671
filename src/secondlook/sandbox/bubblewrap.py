"""The backend `bubblewrap`: each job in a fresh interpreter, in a world that `bwrap` makes for it.

Independent of the other two in how namespaces and mounts are made; system calls and files are
restricted by the same filters. Nothing is kept warm, so a job takes a second to begin.
"""

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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from secondlook.errors import SandboxError, UsageError
from secondlook.processes import APART
from secondlook.sandbox import kernel
from secondlook.sandbox.inside.preload import SYSTEM_PATHS
from secondlook.sandbox.kernel import SCRATCH
from secondlook.sandbox.outcomes import new_request, opened, outcome_of, request_file, watch
from secondlook.sandbox.port import READY, Limits, Verdict
from secondlook.sandbox.probe import missing_packages
from secondlook.sandbox.server import import_paths, server_environment, used_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Outcome, Request, Sandbox, Supplied

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
    problem = trial(program)
    if problem:
        return Verdict(_NAME, usable=False, why=problem)
    known = kernel.version()
    files = f"Landlock {known}" if known else "no Landlock"
    return Verdict(_NAME, usable=True, why=f"{program}, {files}, seccomp")


class WrappingSandbox:
    """Holds nothing between jobs but the jobs that run."""

    def __init__(self, program: str, limits: Limits) -> None:
        self._program = program
        self._limits = limits
        self._lock = threading.Lock()
        self._running: set[WrappedJob] = set()
        self._closed = False

    @property
    def name(self) -> str:
        return _NAME

    def run(
        self,
        code: str,
        tables: Sequence[Supplied] = (),
        *,
        limits: Limits | None = None,
    ) -> Outcome:
        request = new_request(code, tables, limits=limits or self._limits)
        with opened(tables) as descriptors:
            return self._carry_out(request, descriptors)

    def close(self) -> None:
        """With all its jobs: what they would have said is lost."""
        with self._lock:
            self._closed = True
            for job in self._running:
                job.kill()

    def _carry_out(self, request: Request, tables: Sequence[int]) -> Outcome:
        job = self._started(request, tables)
        try:
            seen = watch(job, request.limits)
            job.kill()
            return outcome_of(seen, token=request.token, limits=request.limits, ended=job.ended)
        finally:
            with self._lock:
                self._running.discard(job)
            job.close()

    def _started(self, request: Request, tables: Sequence[int]) -> WrappedJob:
        self._must_be_open()
        content = request_file(request)
        try:
            job = start_job(self._program, content, tables, request.limits)
        finally:
            os.close(content)
        with self._lock:
            self._running.add(job)
            if self._closed:
                job.kill()
        return job

    def _must_be_open(self) -> None:
        if self._closed:
            raise UsageError("This sandbox has been closed.", hint="Open another one.")


# Starts `bwrap` with a job in it, and holds on to what it started.

_START_SECONDS = 120.0  # a cold disk under load; a second otherwise
_END_SECONDS = 10.0
_MOST_SAID = 2_000
_BY_SIGNAL = 128
_BOOT = (
    "import sys; sys.path += sys.argv[2:]; "
    "from secondlook.sandbox.inside.bubblewrap_job import main; main(sys.argv[1])"
)
_TRIAL = (
    "import sys; sys.path += sys.argv[1:]; "
    "from secondlook.sandbox.inside.bubblewrap_job import give_up_all_rights; give_up_all_rights()"
)


class WrappedJob:
    """A job and the `bwrap` around it. Closing it kills both."""

    def __init__(self, process: subprocess.Popen[bytes], said: BinaryIO) -> None:
        self._process = process
        self._said = said
        self._handle: int | None = None
        self._baseline = 0
        self.reply = -1
        self.output = -1

    def listen(self, reply: int, output: int) -> None:
        self.reply, self.output = reply, output

    def wait_until_ready(self, ready: int, info: int) -> None:
        """`bwrap` says which process it made, the job when it has imported what it needs."""
        told = _read_line(info, _START_SECONDS)
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            self._handle = os.pidfd_open(json.loads(told)["child-pid"])
        if self._handle is None or _read_some(ready, _START_SECONDS) != READY:
            raise SandboxError(f"bubblewrap could not start a job ({self._words()}).")
        self._baseline = used_memory(self._handle)

    def memory(self) -> int:
        if self._handle is None:
            return 0
        return max(0, used_memory(self._handle) - self._baseline)

    def kill(self) -> None:
        """The first process of its space: with it, all that is in there ends."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def ended(self) -> tuple[int, int] | None:
        """Exit code (negative: the signal); most memory is known to the watcher alone."""
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
        for descriptor in (self.reply, self.output, self._handle):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._said.close()

    def _words(self) -> str:
        self._process.kill()
        self._process.wait()
        self._said.seek(0)
        words = " ".join(self._said.read(_MOST_SAID).decode("utf-8", "replace").split())
        return words or "it ended without a word"


def start_job(program: str, request: int, tables: Sequence[int], limits: Limits) -> WrappedJob:
    """The descriptors stay the caller's. Returns when the job is about to run the code."""
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        reply, reply_end = _pipe(ours, theirs)
        output, output_end = _pipe(ours, theirs)
        ready, ready_end = _pipe(ours, theirs)
        info, info_end = _pipe(ours, theirs)
        numbers = [request, reply_end, output_end, ready_end, *tables]
        command = arguments(program, limits, info=info_end) + _python(numbers)
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
        job = WrappedJob(process, said)
        try:
            job.wait_until_ready(ready, info)
            job.listen(os.dup(reply), os.dup(output))
        except BaseException:
            job.close()
            raise
        return job


def trial(program: str) -> str:
    """What a process says that confines itself as a job would; empty where it could."""
    command = [
        *arguments(program, Limits()),
        *(sys.executable, "-s", "-P", "-c", _TRIAL, *import_paths()),
    ]
    try:
        tried = subprocess.run(  # noqa: S603 - bubblewrap, our own interpreter and code
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=server_environment(),
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be tried ({error})"
    if tried.returncode == 0:
        return ""
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the trial ended with {tried.returncode}"


def arguments(program: str, limits: Limits, *, info: int | None = None) -> list[str]:
    """A root of its own with read-only views of what Python needs, and nothing to talk to."""
    shown = [word for path in readable() for word in _view(path)]
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
    """Where the interpreter, libraries and their data lie."""
    standard = Path(sysconfig.get_path("stdlib"))
    environment = [str(Path(sys.executable)), f"{sys.prefix}/pyvenv.cfg"]
    binaries = [os.path.realpath(sys.executable), *_links(sys.executable)]
    wanted = [*SYSTEM_PATHS, str(standard.parent), *import_paths(), *environment, *binaries]
    present = [path for path in dict.fromkeys(wanted) if os.path.lexists(path)]
    return tuple(sorted(_outermost(present), key=len))


def _outermost(paths: Sequence[str]) -> list[str]:
    real = [path for path in paths if not os.path.islink(path)]  # noqa: PTH114
    links = [path for path in paths if os.path.islink(path)]  # noqa: PTH114
    kept = [path for path in real if not any(_within(path, other) for other in real)]
    return [*kept, *links]


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _links(path: str) -> list[str]:
    """Each link on the way from a name to its file."""
    found = []
    while os.path.islink(path) and path not in found:  # noqa: PTH114
        found.append(path)
        path = os.path.join(os.path.dirname(path), os.readlink(path))  # noqa: PTH115, PTH118, PTH120
    return found


def _view(path: str) -> tuple[str, str, str]:
    if os.path.islink(path):  # noqa: PTH114 - /lib on most systems
        return ("--symlink", os.readlink(path), path)  # noqa: PTH115
    return ("--ro-bind", path, path)


def _python(numbers: Sequence[int]) -> list[str]:
    listed = ",".join(map(str, numbers))
    return [sys.executable, "-s", "-P", "-c", _BOOT, listed, *import_paths()]


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    ours.callback(os.close, reading)
    theirs.callback(os.close, writing)
    return reading, writing


def _read_some(descriptor: int, seconds: float) -> bytes:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return os.read(descriptor, 1 << 16) if waiting.poll(1000 * seconds) else b""


def _read_line(descriptor: int, seconds: float) -> bytes:
    """All of a short text that ends with a closing bracket or with its sender."""
    text = b""
    while (part := _read_some(descriptor, seconds)) and b"}" not in text:
        text += part
        if b"}" in text:
            break
    return text
