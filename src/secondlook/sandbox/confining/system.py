"""Calls into the Linux kernel that Python does not offer. Failures are OSError, with the call."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_ROOT_IS_NOBODY_SPECIAL_AND_STAYS_SO = 0b101111  # NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off; locked
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_SET_GROUP_AND_USER = 1 << 6 | 1 << 7

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def machine() -> str:
    """The processor's family, as the tables of system calls name it."""
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower()) or (
        platform.machine().lower()
    )


def supported() -> bool:
    return sys.platform == "linux" and machine() in _PIVOT_ROOT


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(returned: int, call: str) -> int:
    if returned == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return returned


def syscall(number: int, *arguments: object, call: str) -> int:
    function = _libc().syscall
    function.restype = ctypes.c_long
    wide = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(function(ctypes.c_long(number), *wide), call)


def prctl(option: int, *arguments: object) -> int:
    wide = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    padding = [ctypes.c_ulong(0)] * (4 - len(wide))
    return _checked(_libc().prctl(option, *wide, *padding), f"prctl {option}")


def unshare(flags: int) -> None:
    _checked(_libc().unshare(flags), "unshare")


def enter_namespace(descriptor: int, kind: int) -> None:
    _checked(_libc().setns(descriptor, kind), "setns")


def mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = None if options is None else options.encode()
    returned = _libc().mount(*texts, ctypes.c_ulong(flags), data)
    _checked(returned, f"mount {target}")


def pivot_root(new_root: str) -> None:
    """Makes a mounted folder the root, and lets go of the old one."""
    os.chdir(new_root)
    syscall(_PIVOT_ROOT[machine()], b".", b".", call="pivot_root")
    _checked(_libc().umount2(b".", _MNT_DETACH), "umount2")
    os.chdir("/")


def die_with_parent(signal_number: int) -> None:
    prctl(PR_SET_PDEATHSIG, signal_number)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def drop_capabilities() -> None:
    """For good: none in any set, and being root would bring none back."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # the kernel knows no capability of this number, or we may not drop it
            break
    with contextlib.suppress(PermissionError):  # who may not set them has nothing to lose by them
        prctl(PR_SET_SECUREBITS, _ROOT_IS_NOBODY_SPECIAL_AND_STAYS_SO)
    prctl(PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    none = (ctypes.c_uint32 * 6)()
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    _checked(_libc().capset(ctypes.byref(header), none), "capset")


def may_change_user() -> bool:
    """Root usually may; not so in a container that takes this from it."""
    status = Path("/proc/self/status").read_text("utf-8", "replace")
    held = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return held & _SET_GROUP_AND_USER == _SET_GROUP_AND_USER


def forbid_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)
