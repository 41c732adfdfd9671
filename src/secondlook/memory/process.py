"""Who is writing a run, and whether that process still lives."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

SILENT_TOO_LONG = 120.0
"""A process on another machine cannot be asked; one that gave no sign of life for so long is taken
for dead. It gives one every twenty seconds (`memory.heartbeat`)."""
_START_TIME = 19
"""Place of the start time among the fields that follow the name in /proc/PID/stat."""


_DEAD = {"Z", "X"}
"""States of a process that ended and was not yet buried by its parent."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    host: str
    began: str | None
    """Boot and start time, where the system tells: a reused pid is then told apart."""

    @classmethod
    def current(cls) -> Process:
        pid = os.getpid()
        return cls(pid, socket.gethostname(), _began(pid))

    @classmethod
    def from_json(cls, text: str) -> Process:
        return cls(**json.loads(text))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def lives(self, *, heard: float, now: float | None = None) -> bool:
        """`heard` is when it last gave a sign of life, by the clock that also tells `now`."""
        if self.host != socket.gethostname():
            return (time.time() if now is None else now) - heard < SILENT_TOO_LONG
        if not pid_exists(self.pid):
            return False
        return self.began is None or self.began == _began(self.pid)


def pid_exists(pid: int) -> bool:
    if pid <= 0:  # to kill() these are groups
        return False
    if sys.platform == "win32":  # there, signal 0 would be Ctrl-C
        return _windows_pid_exists(pid)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is someone else's
        return True
    return True


def _windows_pid_exists(pid: int) -> bool:  # pragma: no cover
    import ctypes

    query_limited_information, still_active = 0x1000, 259
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(query_limited_information, False, pid)  # noqa: FBT003
    if not handle:
        return False
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return bool(known) and code.value == still_active


def _began(pid: int) -> str | None:
    """Only Linux tells without help."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in _DEAD else f"{boot} {fields[_START_TIME]}"
    except (OSError, IndexError):
        return None
