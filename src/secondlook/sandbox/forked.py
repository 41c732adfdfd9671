"""The backends `namespaces` and `plain`: a warm server process forks a process for each job.
`plain` is for machines that refuse namespaces, and its jobs have no place to write to."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import subprocess
import sys
import threading
import weakref
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import SandboxError, UsageError
from secondlook.processes import APART, left
from secondlook.sandbox import kernel
from secondlook.sandbox.outcomes import run_job
from secondlook.sandbox.port import Limits, Outcome, Supplied, Verdict, missing_packages, trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.seccomp import Kind

_START_SECONDS = 120.0  # a cold disk under load; three seconds otherwise
_END_SECONDS = 10.0
_PACKET = 4096
_TRY = (
    "import sys; sys.path.append(sys.argv[2]); "
    "from secondlook.sandbox.inside.server import give_up_all_rights; "
    "give_up_all_rights(sys.argv[1])"
)
_BOOT = (
    "import sys; sys.path += sys.argv[3:]; "
    "from secondlook.sandbox.inside.server import main; main(sys.argv[1], int(sys.argv[2]))"
)
_ONE_THREAD = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "ARROW_IO_THREADS"),
)
_KEPT = ("LD_LIBRARY_PATH", "LANG", "TZ", "SYSTEMROOT")


def verdict(kind: Kind) -> Verdict:
    missing = missing_packages()
    return Verdict(kind, usable=False, why=missing) if missing else _of_the_machine(kind)


@cache
def _of_the_machine(kind: Kind) -> Verdict:
    known = kernel.version()
    if not kernel.supported():
        why = f"it needs Linux on x86-64 or ARM64, this is {sys.platform} on {kernel.machine()}"
    elif kind == "plain" and not known:
        why = "the kernel has no Landlock, or it is switched off"
    else:
        why = trial([sys.executable, "-I", "-c", _TRY, kind, str(Path(__file__).parents[2])])
    if why:
        return Verdict(kind, usable=False, why=why)
    files = f"Landlock {known}" if known else "no Landlock"
    spaces = "namespaces" if kind == "namespaces" else "no namespaces, nothing to write to"
    return Verdict(kind, usable=True, why=f"{spaces}, {files}, seccomp")


class ForkingSandbox:
    def __init__(self, kind: Kind, limits: Limits) -> None:
        self.name = kind
        self._limits = limits
        self._lock = threading.Lock()
        self._closed = False
        self._server = [_Server(kind)]  # in use; stopped also where the sandbox is forgotten
        self._end = weakref.finalize(self, lambda held: held[0].stop(), self._server)

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        return run_job(self._started, code, tables, limits or self._limits)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._end()

    def _started(self, request: int, tables: Sequence[int]) -> _StartedJob:
        server = self._living_server()
        try:
            return server.start(request, tables)
        except _ServerGone:
            try:
                return self._living_server(instead_of=server).start(request, tables)
            except _ServerGone as error:
                said = "The sandbox's server ended twice before it took the job."
                raise SandboxError(said) from error

    def _living_server(self, *, instead_of: _Server | None = None) -> _Server:
        with self._lock:
            if self._closed:
                raise UsageError("This sandbox has been closed.", hint="Open another one.")
            current = self._server[0]
            if current is instead_of or not current.alive:
                current.stop()
                self._server[0] = _Server(self.name)
            return self._server[0]


class _ServerGone(Exception):
    """It ended, or was ended, before it took the job."""


class _StartedJob:
    """A job that runs in the server's care. Closing it kills it."""

    def __init__(self, reply: int, output: int, channel: socket.socket, baseline: int) -> None:
        self.reply = reply
        self.output = output
        self._channel = channel
        self._baseline = baseline
        self._handle: int | None = None

    def wait_for_start(self) -> None:
        said, handles = _received(self._channel, _START_SECONDS)
        if said == b"started" and handles:
            self._handle = handles[0]
        elif said.startswith(b"failed"):
            raise SandboxError(f"The sandbox could not start a job ({_told(said)}).")
        else:
            raise _ServerGone

    def memory(self) -> int:
        return 0 if self._handle is None else max(0, used_memory(self._handle) - self._baseline)

    def kill(self) -> None:
        """The server does it once it sees that nobody sends any more."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def ended(self) -> tuple[int, int] | None:
        """Exit code (negative: the signal) and most memory; None if the server is gone as well."""
        said, _ = _received(self._channel, _END_SECONDS)
        words = said.split()
        if len(words) != 3 or words[0] != b"ended":  # noqa: PLR2004
            return None
        return int(words[1]), int(words[2])

    def close(self) -> None:
        self._channel.close()
        for descriptor in (self.reply, self.output, self._handle):
            if descriptor is not None:
                os.close(descriptor)


class _Server:
    """Starts at once and gets ready in the background; the first job waits for that."""

    def __init__(self, kind: Kind) -> None:
        self._ready = threading.Lock()
        self._baseline: int | None = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                [sys.executable, "-s", "-P", "-c", _BOOT, kind, str(number), *import_paths()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[number],
                env=server_environment(),
                cwd="/",
                **APART,
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        with self._ready:
            if self._baseline is not None:
                return
            said, handles = _received(self._control, _START_SECONDS)
            if said != b"ready" or not handles:
                raise SandboxError(
                    f"The sandbox did not start ({_told(said) or 'it ended without a word'}).",
                    hint="`secondlook doctor` says what this machine can run.",
                )
            self._baseline = used_memory(handles[0])
            os.close(handles[0])

    def start(self, request: int, tables: Sequence[int]) -> _StartedJob:
        """The descriptors stay the caller's."""
        self.wait_until_ready()
        reply, reply_end = os.pipe()
        output, output_end = os.pipe()
        channel, channel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        job = _StartedJob(reply, output, channel, self._baseline or 0)
        try:
            given = [request, reply_end, output_end, channel_end.fileno(), *tables]
            socket.send_fds(self._control, [b"job"], given)
            channel_end.close()
            job.wait_for_start()
        except BaseException as error:
            job.close()
            if isinstance(error, OSError):
                raise _ServerGone from error
            raise
        finally:
            channel_end.close()
            os.close(reply_end)
            os.close(output_end)
        return job

    def stop(self) -> None:
        """With all its jobs. It sees the end of the socket; before it is ready, nobody looks."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        if self._baseline is None:
            self._process.kill()
        left(self._process, _END_SECONDS)
        self._control.close()


def _received(connection: socket.socket, seconds: float) -> tuple[bytes, list[int]]:
    """One packet and its descriptors; nothing when the other side is gone or silent for so long."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    if not waiting.poll(1000 * seconds):
        return b"", []
    try:
        said, handles, _, _ = socket.recv_fds(connection, _PACKET, 1, socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return b"", []
    return said, handles


def _told(said: bytes) -> str:
    return said.decode("utf-8", "replace").removeprefix("failed ")


def import_paths() -> list[str]:
    """Our code, and libraries. Never the current folder: a file there must not pass for one."""
    ours = str(Path(__file__).parents[2])
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return list(dict.fromkeys([ours, *installed]))


def server_environment() -> dict[str, str]:
    """Nothing of the program's own: no key or token is there to be found."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **kept,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "JOBLIB_MULTIPROCESSING": "0",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{cache}/secondlook/matplotlib",  # it looks through all fonts once
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }


# How much memory a process uses, asked of the kernel from outside.

_PID = re.compile(r"^Pid:\s+(\d+)", re.MULTILINE)
_OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def used_memory(handle: int) -> int:
    """Resident bytes without those of files. `handle` is a descriptor of the process, whose number
    in our process space only the kernel knows. 0 where it is gone."""
    try:
        found = _PID.search(Path(f"/proc/self/fdinfo/{handle}").read_text("ascii"))
        status = Path(f"/proc/{found[1]}/status").read_text("utf-8", "replace") if found else ""
        return sum(1024 * int(amount) for amount in _OWN.findall(status))
    except (OSError, UnicodeDecodeError):
        return 0
