"""Whether a process that is not our child is still there."""

from __future__ import annotations

import subprocess
import time

_PATIENCE_SECONDS = 15.0


def is_running(pid: int) -> bool:
    """A dead process that nobody has reaped yet does not count."""
    seen = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state = seen.stdout.strip()
    return bool(state) and not state.startswith("Z")


def assert_gone(pid: int) -> None:
    """It may take the system a moment to end a process that was killed."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while is_running(pid):
        assert time.monotonic() < give_up, f"process {pid} is still running"
