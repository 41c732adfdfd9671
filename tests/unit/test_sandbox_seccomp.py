"""The list of system calls, run through a small interpreter of the kernel's filter language."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from secondlook.sandbox import seccomp
from secondlook.sandbox.seccomp import CHANGES_FILES, GUARDED, HARMLESS, MACHINES

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
DANGEROUS = {
    # socket, clone, fork, vfork, execve, kill, ptrace, mount, bpf, io_uring_setup, memfd_create
    "x86_64": (41, 56, 57, 58, 59, 62, 101, 165, 321, 425, 319),
    "aarch64": (198, 220, 221, 129, 117, 40, 280, 425, 279),
}
"""And tgkill, pidfd_send_signal, process_vm_readv, userfaultfd, keyctl, unshare, setns, symlinkat,
linkat, execveat, name_to_handle_at, pipe2."""
DANGEROUS_TOO = {
    "x86_64": (234, 424, 310, 323, 250, 272, 308, 266, 265, 322, 303, 293),
    "aarch64": (131, 424, 270, 282, 219, 97, 268, 36, 37, 281, 264, 59),
}


def decision(
    machine: str, number: int, *arguments: int, may_write: bool = True, architecture: int = 0
) -> int:
    data = struct.pack(
        "=iIQ6Q",
        number,
        architecture or ARCHITECTURE[machine],
        0,
        *(*arguments, 0, 0, 0, 0, 0, 0)[:6],
    )
    steps = list(struct.iter_unpack("=HBBI", seccomp.program(may_write=may_write)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += if_true if holds else if_false


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(seccomp, "machine", lambda: request.param)
    return str(request.param)


def number(machine: str, name: str) -> int:
    found = (HARMLESS | CHANGES_FILES | GUARDED)[name][MACHINES.index(machine)]
    assert found is not None
    return found


def test_what_python_needs_is_allowed(machine: str) -> None:
    for name in ("read", "write", "mmap", "munmap", "futex", "exit_group", "newfstatat", "brk"):
        assert decision(machine, number(machine, name)) == ALLOW


def test_what_reaches_others_is_refused(machine: str) -> None:
    for dangerous in (*DANGEROUS[machine], *DANGEROUS_TOO[machine]):
        assert decision(machine, dangerous) == REFUSE, dangerous


def test_every_number_that_is_not_listed_is_refused(machine: str) -> None:
    position = MACHINES.index(machine)
    listed = {each[position] for each in (HARMLESS | CHANGES_FILES | GUARDED).values()}
    for other in set(range(600)) - listed:
        assert decision(machine, other) == REFUSE


def test_calls_of_another_processor_kill(machine: str) -> None:
    assert decision(machine, 0, architecture=0x40000003) == KILL


def test_the_other_numbering_of_the_same_calls_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "machine", lambda: "x86_64")
    assert decision("x86_64", 0x40000000 | 41) == KILL


def test_without_a_folder_nothing_is_opened_for_change(machine: str) -> None:
    openat = number(machine, "openat")
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_RDONLY | os.O_TRUNC):
        assert decision(machine, openat, 0, 0, flags, may_write=False) == REFUSE
        assert decision(machine, openat, 0, 0, flags) == ALLOW
    assert decision(machine, openat, 0, 0, os.O_RDONLY | os.O_CLOEXEC, may_write=False) == ALLOW
    for name in ("unlinkat", "mkdirat", "ftruncate", "renameat2"):
        assert decision(machine, number(machine, name), may_write=False) == REFUSE
        assert decision(machine, number(machine, name)) == ALLOW


def test_only_harmless_forms_of_what_could_reach_others(machine: str) -> None:
    duplicate, set_owner, set_signal = (0, 0), (0, 8), (0, 10)
    is_terminal, push_input = (0, 0x5401), (0, 0x5412)
    set_name, set_parent_death_signal = (15,), (1,)
    read_limit, set_limit, of_another = (0, 7, 0, 1 << 40), (0, 7, 1 << 40), (77, 7, 0)
    for name, allowed, refused in (
        ("fcntl", duplicate, [set_owner, set_signal]),
        ("ioctl", is_terminal, [push_input]),
        ("prctl", set_name, [set_parent_death_signal]),
        ("prlimit64", read_limit, [set_limit, of_another]),
    ):
        assert decision(machine, number(machine, name), *allowed) == ALLOW
        for each in refused:
            assert decision(machine, number(machine, name), *each) == REFUSE


def test_newer_forms_are_answered_as_unknown(machine: str) -> None:
    for name in ("clone3", "openat2"):
        assert decision(machine, number(machine, name)) == UNKNOWN
