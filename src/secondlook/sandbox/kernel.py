"""What the Linux kernel takes away from a process: calls that Python does not offer, Landlock, and
namespaces. Failures are OSError, with the call."""

import contextlib
import ctypes
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 22, 24, 28
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47
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


def mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = None if options is None else options.encode()
    _checked(_libc().mount(*texts, ctypes.c_ulong(flags), data), f"mount {target}")


def pivot_root(new_root: str) -> None:
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
    status = Path("/proc/self/status").read_text("utf-8", "replace")
    held = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return held & _SET_GROUP_AND_USER == _SET_GROUP_AND_USER


def forbid_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


# Landlock: which files a process may open, enforced by the kernel for the rest of its life.

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (
    1 << bit for bit in range(6)
)
_MAKE_DIR, _MAKE_REG, _TRUNCATE = 1 << 7, 1 << 8, 1 << 14
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many file rights each version of Landlock knows; later ones know those of version 5."""
_TCP_BY_VERSION, _SCOPES_BY_VERSION = 4, 6
_TCP_RIGHTS = 0b11
_SCOPES = 0b11  # abstract unix sockets and signals stay among the confined
READ = _READ_FILE | _READ_DIR
READ_AND_RUN = READ | _EXECUTE
WRITE = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
USE_FILE = _READ_FILE | _WRITE_FILE


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


@dataclass(frozen=True, slots=True)
class Allowed:
    path: str
    rights: int = READ


def version() -> int:
    if not supported():
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG, call="landlock")
    except OSError:
        return 0


def restrict(allowed: Sequence[Allowed]) -> None:
    """Everything but this is closed from now on. Needs `forbid_new_privileges` before."""
    known = version()
    handled = (1 << _RIGHTS_BY_VERSION.get(known, 16)) - 1
    # Files, network and scopes; an older kernel knows fewer of them.
    ruleset = (ctypes.c_uint64 * 3)(handled, _TCP_RIGHTS, _SCOPES)
    size = 24 if known >= _SCOPES_BY_VERSION else 16 if known >= _TCP_BY_VERSION else 8
    descriptor = syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0, call="landlock ruleset")
    try:
        for each in allowed:
            _add(descriptor, each, handled)
        syscall(_RESTRICT_SELF, descriptor, 0, call="landlock restrict")
    finally:
        os.close(descriptor)


def _add(ruleset: int, allowed: Allowed, handled: int) -> None:
    try:
        parent = os.open(allowed.path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except FileNotFoundError:
        return
    try:
        # Rights on the content of folders cannot be given to a file.
        of_files = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
        most = handled if os.path.isdir(allowed.path) else handled & of_files  # noqa: PTH112
        rule = ctypes.byref(_PathBeneath(allowed.rights & most, parent))
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0, call=f"allow {allowed.path}")
    finally:
        os.close(parent)


# A world of its own for the fork server, and in it one for each job.

SCRATCH = "/scratch"  # of the job alone; not /tmp, where what Python needs may lie
_ALL_BUT_USER_AND_PROCESS = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_BUILDING_SITE = "/proc"  # exists everywhere, and hides nothing that must be bound
_MOUNT_SETATTR = 442
_RECURSIVE = 0x8000
_HERE = -100
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4


def leave_the_machine() -> bool:
    """Own spaces for this process; True within a new user namespace."""
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
    for path in outermost(readable):
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
            _checked(_libc().setns(home, CLONE_NEWPID), "setns")
    return pid


def take_own_spaces(scratch_bytes: int, scratch_files: int) -> None:
    unshare(_ALL_BUT_USER_AND_PROCESS)
    options = f"size={scratch_bytes},nr_inodes={scratch_files},mode=1777"
    mount("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)
    os.chdir(SCRATCH)


def outermost(paths: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for path in sorted({os.path.normpath(each) for each in paths}, key=len):
        within = (path.startswith(other.rstrip("/") + "/") for other in chosen)
        if os.path.exists(path) and not any(within):  # noqa: PTH110
            chosen.append(path)
    return chosen


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
    wanted = (ctypes.c_uint64 * 4)(attributes)  # to set, to clear, propagation, user namespace
    flags = _RECURSIVE if recursive else 0
    where = (_HERE, os.fsencode(path), flags, ctypes.byref(wanted), ctypes.sizeof(wanted))
    syscall(_MOUNT_SETATTR, *where, call=f"protect {path}")
