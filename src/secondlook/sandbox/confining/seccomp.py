"""The list of system calls that a job may make, as a program that the kernel runs on each call.

Whatever is not on the list fails with EPERM: libraries that merely try are not ended by it, and
no code gets through. Threads and processes cannot be made at all.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import TYPE_CHECKING

from secondlook.sandbox.confining.syscalls import (
    CHANGES_FILES,
    GUARDED,
    HARMLESS,
    MACHINES,
    Numbers,
)
from secondlook.sandbox.confining.system import PR_SET_SECCOMP, machine, prctl

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)
"""Is it a terminal, its size, bytes waiting, close on exec or not."""
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
"""Copies, flags, locks. Not owner and signal, by which a descriptor signals other processes."""
_PRCTL = (15, 16, 0x53564D41)
"""The name of a thread, of a piece of memory."""


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
    allowed = HARMLESS | CHANGES_FILES if may_write else HARMLESS
    for number in _numbers(allowed, family):
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    steps += _guarded(family, may_write=may_write)
    return b"".join([*steps, _step(_RETURN, _REFUSE)])


def install(filter_program: bytes) -> None:
    """From now on, for good. Needs `forbid_new_privileges` before."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    prepared = Program(len(filter_program) // 8, filter_program)
    prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(prepared))


def _guarded(family: str, *, may_write: bool) -> list[bytes]:
    number = {name: of_machines[MACHINES.index(family)] for name, of_machines in GUARDED.items()}
    refused_flags = 0 if may_write else _OPEN_FOR_CHANGE
    steps = [
        *_unless_bits(number["open"], argument=1, bits=refused_flags),
        *_unless_bits(number["openat"], argument=2, bits=refused_flags),
        *_only(number["ioctl"], argument=1, values=_IOCTL),
        *_only(number["fcntl"], argument=1, values=_FCNTL),
        *_only(number["prctl"], argument=0, values=_PRCTL),
        *_only_looking(number["prlimit64"]),
        *_when(number["getrlimit"], [_step(_RETURN, _ALLOW)]),
    ]
    for name in ("clone3", "openat2"):  # libraries then use the older call, which we can read
        steps += _when(number[name], [_step(_RETURN, _UNKNOWN)])
    return steps


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


def _only_looking(number: int | None) -> list[bytes]:
    """`prlimit64` of itself, without new limits."""
    body: list[bytes] = []
    for offset in (_low_half(0), _low_half(2), _low_half(2) + 4):
        body += [_step(_LOAD, offset), _step(_EQUAL, 0, 1, 0), _step(_RETURN, _REFUSE)]
    return _when(number, [*body, _step(_RETURN, _ALLOW)])


def _when(number: int | None, body: list[bytes]) -> list[bytes]:
    """A body that always returns, for the calls of one number; the number is loaded before."""
    if number is None:
        return []
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _low_half(argument: int) -> int:
    return 16 + 8 * argument


def _numbers(calls: dict[str, Numbers], family: str) -> list[int]:
    position = MACHINES.index(family)
    return [number for each in calls.values() if (number := each[position]) is not None]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
