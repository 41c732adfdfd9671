"""Which process works on a run: exactly one, also where several reach for it at once."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import RunError, RunTaken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.store.database import Row, Statements

NOBODY = ""  # in place of a process: who worked on the run left it


def take_up(
    db: Statements, run: str, about: Mapping[str, Any], *, process: str, now: float
) -> None:
    """Make `process` the one that works on a recorded run. `about` is what is known of it by now:
    its question, workflow and request; of a request, what is not said again stays."""
    (row,) = db.execute(
        "SELECT id, process, heard, answer, request FROM runs WHERE id = ?", (run,)
    ).fetchall()
    if row["answer"] is not None:
        raise RunError(f"run {run!r} is finished: it cannot be started again")
    if row["process"] != process and lives(row, now=now):
        raise taken(run)
    said_again = {name: value for name, value in about["request"].items() if value}
    request = json.dumps({**json.loads(row["request"]), **said_again}, default=str)
    told = (about["question"], about["workflow"], request)
    # Only if it is still as it was read: another process may have read the same.
    won = db.execute(
        "UPDATE runs SET process = ?, heard = ?, question = ?, workflow = ?, request = ?, "
        "stop_reason = NULL "
        "WHERE id = ? AND process = ? AND heard = ? AND answer IS NULL",
        (process, now, *told, run, row["process"], row["heard"]),
    )
    if not won.rowcount:
        raise taken(run)


def hear(db: Statements, run: str, *, process: str, now: float) -> None:
    """A sign of life. What another has taken over, this process may write no more."""
    heard = db.execute(
        "UPDATE runs SET heard = ? WHERE id = ? AND process IN (?, ?)", (now, run, process, NOBODY)
    )
    if not heard.rowcount and db.execute("SELECT id FROM runs WHERE id = ?", (run,)).fetchall():
        raise taken(run)


def lives(row: Row, *, now: float) -> bool:
    with contextlib.suppress(ValueError, TypeError):
        return Process(**json.loads(row["process"])).lives(heard=row["heard"], now=now)
    return False


def taken(run: str) -> RunTaken:
    return RunTaken(
        f"run {run!r} is still being worked on, by another process",
        hint="secondlook runs shows when it ends",
    )


# Who is writing a run, and whether that process still lives.

SILENT_TOO_LONG = 120.0  # one on another machine is then taken for dead
_START_TIME = 19  # place of the start time among the fields that follow the name in /proc/PID/stat
_DEAD = {"Z", "X"}  # states of a process that ended and was not yet buried by its parent


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    host: str
    began: str | None  # boot and start time: a reused pid is told apart

    @classmethod
    def current(cls) -> Process:
        pid = os.getpid()
        return cls(pid, socket.gethostname(), _began(pid))

    def lives(self, *, heard: float, now: float | None = None) -> bool:
        if self.host != socket.gethostname():
            return (time.time() if now is None else now) - heard < SILENT_TOO_LONG
        if not pid_exists(self.pid):
            return False
        return self.began is None or self.began == _began(self.pid)


def pid_exists(pid: int) -> bool:
    if pid <= 0:  # to kill() these are groups
        return False
    if sys.platform == "win32":  # there, signal 0 would be Ctrl-C
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
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is someone else's
        return True
    return True


def _began(pid: int) -> str | None:
    """Only Linux tells without help."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in _DEAD else f"{boot} {fields[_START_TIME]}"
    except (OSError, IndexError):
        return None


# A sign of life of the runs that are worked on, for who cannot see this process.

SECONDS_BETWEEN = 20.0


class Heartbeat:
    def __init__(
        self, beat: Callable[[list[str]], None], *, seconds: float = SECONDS_BETWEEN
    ) -> None:
        """`beat` is told which runs are worked on; what goes wrong in it is its own business."""
        self._beat = beat
        self._seconds = seconds
        self._changed = threading.Condition()
        self._runs: dict[str, None] = {}
        self._thread: threading.Thread | None = None

    def add(self, run: str) -> None:
        with self._changed:
            self._runs[run] = None
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._go_on, name="secondlook-heartbeat", daemon=True
                )
                self._thread.start()

    def discard(self, run: str) -> None:
        with self._changed:
            self._runs.pop(run, None)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._runs.clear()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _go_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._runs, self._seconds)
                if not self._runs:
                    self._thread = None
                    return
                runs = list(self._runs)
            self._beat(runs)
