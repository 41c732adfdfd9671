"""A world of its own for the fork server, and in it one for each job.

The server takes its own process, mount, network, IPC and host name spaces (as an ordinary user
within a user namespace, where it may do so) and moves into a root that holds nothing but read-only
views of what Python needs. Each job is the first process of a new process space, so that nothing it
might start outlives it; it gets its own of all the others, and a folder in memory for its files.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.sandbox.confining.system import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    enter_namespace,
    mount,
    pivot_root,
    syscall,
    unshare,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRATCH = "/scratch"
"""Of the job alone, and gone with it. Not /tmp: what Python needs may lie there."""
_ALL_BUT_USER_AND_PROCESS = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_BUILDING_SITE = "/proc"  # exists everywhere, and hides nothing that must be bound
_MOUNT_SETATTR = 442
_RECURSIVE = 0x8000
_HERE = -100
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def leave_the_machine() -> bool:
    """Own spaces for this process and, as to processes, for its children. True within a new user
    namespace, False where the process had the right without one."""
    uid, gid = os.geteuid(), os.getegid()
    spaces = _ALL_BUT_USER_AND_PROCESS | CLONE_NEWPID
    try:
        unshare(spaces)
    except PermissionError:
        unshare(spaces | CLONE_NEWUSER)
    else:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def move_into(readable: Sequence[str]) -> None:
    """Makes a root in memory with these folders and files, read-only, and nothing else."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", _BUILDING_SITE, "tmpfs", MS_NOSUID, "size=1m,nr_inodes=1024,mode=755")
    for path in _outermost(readable):
        _show(path)
    _show("/dev/null", device=True)
    (Path(_BUILDING_SITE) / SCRATCH.lstrip("/")).mkdir(exist_ok=True)
    _protect(_BUILDING_SITE, _READ_ONLY | _NO_SETUID, recursive=False)
    pivot_root(_BUILDING_SITE)


def process_space() -> int:
    """A handle on the current one, to come back to."""
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def fork_into_new_process_space(home: int) -> int:
    """As `os.fork`; the child is process 1 of a space of its own."""
    unshare(CLONE_NEWPID)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid != 0:
            enter_namespace(home, CLONE_NEWPID)
    return pid


def take_own_spaces(scratch_bytes: int, scratch_files: int) -> None:
    """For a job, while it still may."""
    unshare(_ALL_BUT_USER_AND_PROCESS)
    options = f"size={scratch_bytes},nr_inodes={scratch_files},mode=1777"
    mount("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)
    os.chdir(SCRATCH)


def become_nobody_in_particular() -> None:
    """A user namespace in which no user is known: what rights it gives are over nothing."""
    unshare(CLONE_NEWUSER)


def _outermost(paths: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for path in sorted({os.path.normpath(each) for each in paths}, key=len):
        if os.path.exists(path) and not any(_within(path, other) for other in chosen):  # noqa: PTH110
            chosen.append(path)
    return chosen


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _show(path: str, *, device: bool = False) -> None:
    place = Path(_BUILDING_SITE + path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.path.islink(path) and os.path.isdir(path):  # noqa: PTH112, PTH114 - /lib on most systems
        place.symlink_to(os.readlink(path))  # noqa: PTH115
        return
    if os.path.isdir(path):  # noqa: PTH112
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    mount(path, str(place), None, MS_BIND | MS_REC)
    protection = _NO_SETUID if device else _READ_ONLY | _NO_SETUID | _NO_DEVICES
    _protect(str(place), protection, recursive=True)


def _protect(path: str, attributes: int, *, recursive: bool) -> None:
    wanted = _MountAttributes(attributes, 0, 0, 0)
    syscall(
        _MOUNT_SETATTR,
        _HERE,
        os.fsencode(path),
        _RECURSIVE if recursive else 0,
        ctypes.byref(wanted),
        ctypes.sizeof(wanted),
        call=f"protect {path}",
    )
