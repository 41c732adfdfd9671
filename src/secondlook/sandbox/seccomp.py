"""The order in which a job gives up its rights. After it, code that nobody trusts may run."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import signal
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.sandbox import kernel
from secondlook.sandbox.kernel import PR_SET_SECCOMP, machine, prctl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.sandbox.port import Limits

Kind: TypeAlias = Literal["namespaces", "plain"]
NOBODY = 65534
_EXTRA_CPU_SECONDS = 2  # the wall clock, which the parent watches, comes first


@dataclass(frozen=True, slots=True)
class Confinement:
    kind: Kind
    readable: tuple[str, ...]  # what Python's libraries may still need
    nobody: bool  # whether to become another user, which only root can
    system_calls: bytes

    @property
    def scratch(self) -> str | None:
        return kernel.SCRATCH if self.kind == "namespaces" else None


def plan(kind: Kind, readable: tuple[str, ...], *, nobody: bool) -> Confinement:
    return Confinement(kind, readable, nobody, program(may_write=kind == "namespaces"))


def confine(how: Confinement, limits: Limits) -> None:
    """This process, for the rest of its life. Any step that fails raises, and no code must run."""
    if how.kind == "namespaces":
        kernel.take_own_spaces(limits.scratch_bytes, limits.scratch_files)
    if how.nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if how.kind == "namespaces":
        kernel.unshare(kernel.CLONE_NEWUSER)  # no user is known there: its rights are over nothing
    kernel.die_with_parent(signal.SIGKILL)  # changing the user undid it
    kernel.drop_capabilities()
    kernel.forbid_new_privileges()
    if how.kind == "plain":
        kernel.restrict([kernel.Allowed(path) for path in how.readable])
    elif kernel.version():  # the root holds only what was put there
        null = kernel.Allowed("/dev/null", kernel.USE_FILE)
        scratch = kernel.Allowed(kernel.SCRATCH, kernel.WRITE)
        kernel.restrict([kernel.Allowed("/"), null, scratch])
    limit_resources(limits)
    install(how.system_calls)


def limit_resources(limits: Limits) -> None:
    if sys.platform == "win32":
        return
    import resource

    seconds = math.ceil(limits.seconds) + _EXTRA_CPU_SECONDS
    for kind, most in (
        (resource.RLIMIT_AS, limits.address_space),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.scratch_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        outer = resource.getrlimit(kind)[1]
        allowed = most if outer == resource.RLIM_INFINITY else min(most, outer)
        resource.setrlimit(kind, (allowed, allowed))


# The list of system calls that a job may make, as a program that the kernel runs on each call.

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS
_KILL = 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4  # where they stand in `struct seccomp_data`
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_FIRST_X32 = 0x40000000  # the other numbering of the same calls on x86-64
_FILTER_MODE = 2

_OPEN_FOR_CHANGE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # terminal, size, waiting, close on exec
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # not owner and signal: they reach other processes
_PRCTL = (15, 16, 0x53564D41)  # the name of a thread, of a piece of memory


def program(*, may_write: bool) -> bytes:
    """The filter for this machine's processor, as the kernel takes it."""
    family = machine()
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, _ARCHITECTURES[family], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if family == "x86_64":
        steps += [_step(_AT_LEAST, _FIRST_X32, 0, 1), _step(_RETURN, _KILL)]
    at = MACHINES.index(family)
    for numbers in (HARMLESS | CHANGES_FILES if may_write else HARMLESS).values():
        steps += _when(numbers[at], [_step(_RETURN, _ALLOW)])
    number = {name: numbers[at] for name, numbers in GUARDED.items()}
    refused_flags = 0 if may_write else _OPEN_FOR_CHANGE
    looking: list[bytes] = []  # at its own limits, without new ones
    for offset in (_low_half(0), _low_half(2), _low_half(2) + 4):
        looking += [_step(_LOAD, offset), _step(_EQUAL, 0, 1, 0), _step(_RETURN, _REFUSE)]
    looking.append(_step(_RETURN, _ALLOW))
    steps += [
        *_unless_bits(number["open"], argument=1, bits=refused_flags),
        *_unless_bits(number["openat"], argument=2, bits=refused_flags),
        *_only(number["ioctl"], argument=1, values=_IOCTL),
        *_only(number["fcntl"], argument=1, values=_FCNTL),
        *_only(number["prctl"], argument=0, values=_PRCTL),
        *_when(number["prlimit64"], looking),
        *_when(number["getrlimit"], [_step(_RETURN, _ALLOW)]),
    ]
    for name in ("clone3", "openat2"):  # libraries then use the older call, which we can read
        steps += _when(number[name], [_step(_RETURN, _UNKNOWN)])
    return b"".join([*steps, _step(_RETURN, _REFUSE)])


def install(filter_program: bytes) -> None:
    """From now on, for good. Needs `forbid_new_privileges` before."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    prepared = Program(len(filter_program) // 8, filter_program)
    prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(prepared))


def _unless_bits(number: int | None, *, argument: int, bits: int) -> list[bytes]:
    body = [
        _step(_LOAD, _low_half(argument)),
        _step(_ANY_BIT, bits, 0, 1),
        _step(_RETURN, _REFUSE),
        _step(_RETURN, _ALLOW),
    ]
    return _when(number, body)


def _only(number: int | None, *, argument: int, values: Iterable[int]) -> list[bytes]:
    body = [_step(_LOAD, _low_half(argument))]
    for value in values:
        body += [_step(_EQUAL, value, 0, 1), _step(_RETURN, _ALLOW)]
    return _when(number, [*body, _step(_RETURN, _REFUSE)])


def _when(number: int | None, body: list[bytes]) -> list[bytes]:
    """A body that always returns, for the calls of one number; the number is loaded before."""
    return [] if number is None else [_step(_EQUAL, number, 0, len(body)), *body]


def _low_half(argument: int) -> int:
    return 16 + 8 * argument


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


# System calls that a job may make, with their numbers from the kernel's `unistd` headers: on
# x86-64, then on ARM64, which lacks some of them.

MACHINES = ("x86_64", "aarch64")


def _calls(table: str) -> dict[str, tuple[int | None, ...]]:
    rows = (entry.partition(":") for entry in table.split())
    return {
        name: tuple(int(one) if one else None for one in numbers.split(","))
        for name, _, numbers in rows
    }


# What Python and its libraries need and what reaches nothing outside the process: memory, its own
# descriptors, clocks, looking at files. No thread, process, socket, signal to others.
HARMLESS = _calls("""
    read:0,63 readv:19,65 pread64:17,67 write:1,64 writev:20,66 pwrite64:18,68 close:3,57 fstat:5,80
    stat:4, lstat:6, newfstatat:262,79 statx:332,291 lseek:8,62 mmap:9,222 mprotect:10,226
    munmap:11,215 mremap:25,216 madvise:28,233 mincore:27,232 msync:26,227 brk:12,214
    rt_sigaction:13,134 rt_sigprocmask:14,135 rt_sigreturn:15,139 rt_sigpending:127,136
    sigaltstack:131,132 dup:32,23 dup2:33, dup3:292,24 access:21, faccessat:269,48
    faccessat2:439,439 readlink:89, readlinkat:267,78 getdents:78, getdents64:217,61 getcwd:79,17
    chdir:80,49 fchdir:81,50 umask:95,166 getpid:39,172 getppid:110,173 gettid:186,178
    getuid:102,174 geteuid:107,175 getgid:104,176 getegid:108,177 getgroups:115,158
    getresuid:118,148 getresgid:120,150 getpgrp:111, getrusage:98,165 times:100,153
    clock_gettime:228,113 clock_getres:229,114 clock_nanosleep:230,115 nanosleep:35,101
    gettimeofday:96,169 time:201, sysinfo:99,179 uname:63,160 getrandom:318,278 futex:202,98
    set_robust_list:273,99 rseq:334,293 set_tid_address:218,96 sched_yield:24,124
    sched_getaffinity:204,123 getcpu:309,168 poll:7, ppoll:271,73 select:23, pselect6:270,72
    setitimer:38,103 getitimer:36,102 alarm:37, pause:34, restart_syscall:219,128 exit:60,93
    exit_group:231,94 fsync:74,82 fdatasync:75,83 statfs:137,43 fstatfs:138,44 fadvise64:221,223
    sendfile:40,71 membarrier:324,283 close_range:436,436
""")
# Only where there is a private folder to change.
CHANGES_FILES = _calls("""
    mkdir:83, mkdirat:258,34 unlink:87, unlinkat:263,35 rmdir:84, rename:82, renameat:264,38
    renameat2:316,276 creat:85, truncate:76,45 ftruncate:77,46 fallocate:285,47 chmod:90,
    fchmod:91,52 fchmodat:268,53 utimensat:280,88 utime:132, utimes:235, futimesat:261, flock:73,32
    copy_file_range:326,285
""")
# Allowed with some arguments only, or answered as unknown.
GUARDED = _calls("""
    open:2, openat:257,56 openat2:437,437 ioctl:16,29 fcntl:72,25 prctl:157,167 prlimit64:302,261
    getrlimit:97,163 clone3:435,435
""")
