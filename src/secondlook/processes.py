"""Worker processes: how they are started and ended, how they are confined, and how both sides talk.
A worker is apart from the terminal and never outlives its parent. It is started as a plain program:
`multiprocessing` would import the caller's main script again."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any, Self

_NEW_GROUP_ON_WINDOWS = 0x00000200 | 0x08000000  # CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW
APART: dict[str, Any] = (
    {"creationflags": _NEW_GROUP_ON_WINDOWS} if sys.platform == "win32" else {"process_group": 0}
)
"""For `subprocess`: Ctrl-C in the terminal reaches the parent alone, which then decides."""


# The parent's side.


def started(
    module: str,
    *,
    errors: int | IO[bytes] = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """This very interpreter, which runs `main` of the module. Its input and output are pipes."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main()"
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-X", "utf8", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=env,
        **APART,
    )


def pipes_of(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None  # noqa: S101 - `started` makes both
    assert process.stdout is not None  # noqa: S101
    return process.stdin, process.stdout


def ended(process: subprocess.Popen[bytes], seconds: float) -> int:
    """Its exit status. With its input closed it leaves by itself, or it hangs and is killed."""
    told, said = pipes_of(process)
    with contextlib.suppress(OSError):
        told.close()
    status = left(process, seconds)
    said.close()
    return status


def left(process: subprocess.Popen[bytes], seconds: float) -> int:
    """The exit status of a process that should leave by now; one that does not is killed."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()  # where every core is busy that takes a while


# The worker's side.


def own_pipes(*, silent_errors: bool = True) -> tuple[IO[bytes], IO[bytes]]:
    """What the worker is told and what it says. The standard streams lead nowhere from now on:
    parsers and engines chatter. Ctrl-C is for the parent to decide."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2) if silent_errors else (0, 1):
        os.dup2(nothing, descriptor)
    return inbox, outbox


def confine(address_space: int) -> None:
    """One thread in numeric libraries, no core file, and bounded memory where the system can."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = address_space if hard == resource.RLIM_INFINITY else min(address_space, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS knows the limit but refuses it
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def die_with_parent() -> None:
    """Linux only: the kernel ends this process when its parent ends, also while it hangs."""
    if sys.platform != "linux":
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


# Messages: JSON, or bytes that the sides agree on, with the length in front.

_LENGTH = struct.Struct("<Q")
_LONGEST = 1 << 30


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    send_bytes(stream, json.dumps(message, separators=(",", ":")).encode("ascii"))


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message. Raises EOFError when the other side is gone or speaks something else."""
    try:
        message = json.loads(receive_bytes(stream))
    except (ValueError, RecursionError) as error:
        raise EOFError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise EOFError("a message that is no object")  # noqa: TRY004 - as if it were gone
    return message


def send_bytes(stream: IO[bytes], body: bytes) -> None:
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive_bytes(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
    if not 0 <= length <= _LONGEST:
        raise EOFError(f"a message of {length:,} bytes")
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return body


class Closing:
    """What has a `close` and is used in a `with` block."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
