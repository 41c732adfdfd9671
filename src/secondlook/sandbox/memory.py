"""How much memory a process uses, asked of the kernel from outside."""

from __future__ import annotations

import re
from pathlib import Path

_PID = re.compile(r"^Pid:\s+(\d+)", re.MULTILINE)
_OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def used_memory(handle: int) -> int:
    """Resident bytes that belong to it, without those of files, which the kernel can take back.

    `handle` is a descriptor of the process: it may live in a process space of its own, and only the
    kernel knows its number in ours. 0 where the process is gone.
    """
    try:
        found = _PID.search(Path(f"/proc/self/fdinfo/{handle}").read_text("ascii"))
        if found is None:
            return 0
        return used_memory_of(int(found[1]))
    except (OSError, UnicodeDecodeError):
        return 0


def used_memory_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    return sum(1024 * int(amount) for amount in _OWN.findall(status))
