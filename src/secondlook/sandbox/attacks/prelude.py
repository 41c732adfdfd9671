"""What stands before every attack's own lines: its facts, and how it says what it achieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BEGUN = "begun"
REACHED = "reached"
REFUSED = "refused"
_LINES = """\
print(world["mark"], "begun", flush=True)

def reached(what):
    print(world["mark"], "reached", what, flush=True)

def attempt(what, function):
    try:
        value = function()
    except Exception as error:
        print(world["mark"], "refused", f"{what}: {type(error).__name__}: {error}", flush=True)
        return None
    reached(what)
    return value

refusal = None

def give_up(refusal):
    if refusal is not None:
        raise refusal

NUMBERS = {
    "x86_64": dict(openat=257, socket=41, clone=56, vfork=58, fork=57, execve=59, execveat=322,
        ptrace=101, kill=62, tgkill=234, mount=165, umount2=166, unshare=272, setns=308, chroot=161,
        pivot_root=155, bpf=321, userfaultfd=323, add_key=248, keyctl=250, perf_event_open=298,
        memfd_create=319, shmget=29, open_by_handle_at=304, io_uring_setup=425,
        process_vm_readv=310, pidfd_open=434, pidfd_getfd=438, syslog=103, init_module=175,
        kexec_load=246, clone3=435, capget=125, symlinkat=266, mknodat=259, process_madvise=440),
    "aarch64": dict(openat=56, socket=198, clone=220, execve=221, execveat=281, ptrace=117,
        kill=129, tgkill=131, mount=40, umount2=39, unshare=97, setns=268, chroot=51, pivot_root=41,
        bpf=280, userfaultfd=282, add_key=217, keyctl=219, perf_event_open=241, memfd_create=279,
        shmget=194, open_by_handle_at=265, io_uring_setup=425, process_vm_readv=270,
        pidfd_open=434, pidfd_getfd=438, syslog=116, init_module=105, kexec_load=104, clone3=435,
        capget=90, symlinkat=36, mknodat=33, process_madvise=440),
}

def syscall(name, *arguments):
    import ctypes, os, platform
    number = name if isinstance(name, int) else NUMBERS[platform.machine()][name]
    c = ctypes.CDLL(None, use_errno=True)
    c.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    value = c.syscall(ctypes.c_long(number), *plain)
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""


def with_prelude(script: str, world: Mapping[str, object]) -> str:
    """`world` holds texts and numbers alone, which Python writes as it reads them."""
    return f"world = {dict(world)!r}\n{_LINES}\n{script}"
