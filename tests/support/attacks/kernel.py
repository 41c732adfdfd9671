"""Attacks on the kernel's doors: calls that no analysis needs, by their numbers."""

from __future__ import annotations

from secondlook.sandbox.self_check import Attack

_MOUNT = """
import ctypes

kind, place = ctypes.c_char_p(b"tmpfs"), ctypes.c_char_p(b"/")
attempt("mounted", lambda: syscall("mount", kind, place, kind, 0, 0))
"""
_RAW_OPEN = """
import ctypes, os

number = syscall("openat", -100, ctypes.c_char_p(world["secret_file"].encode()), 0, 0)
result = os.pread(number, 4096, 0).decode()
"""
_RAW_EXEC = """
import ctypes

arguments = (ctypes.c_char_p * 4)(
    b"/bin/sh", b"-c", b"echo > " + (world["outside"] + "/by-number").encode(), None
)
syscall("execve", ctypes.c_char_p(b"/bin/sh"), ctypes.byref(arguments), None)
"""
_OTHER_ABI = """
import ctypes, mmap, platform

if platform.machine() != "x86_64":
    raise PermissionError("this machine has no older way to call the kernel")
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53b867010000bb02000000b90100000031d2cd805bc3"))
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
value = call()
if value >= 0:
    reached("made a socket by a call of 32 bits")
else:
    raise OSError(-value, "socket")
"""
_X32 = """
import platform

if platform.machine() != "x86_64":
    raise PermissionError("this machine has no x32 calls")
syscall(0x40000000 | 41, 2, 1, 0)
reached("made a socket by an x32 call")
"""
_UNSHARE = """
for flag in (0x10000000, 0x00020000, 0x40000000, 0x10000000 | 0x00020000):
    attempt("made namespaces", lambda: syscall("unshare", flag))
"""
_CHROOT = """
import ctypes

attempt("changed its root", lambda: syscall("chroot", ctypes.c_char_p(b".")))
here = ctypes.c_char_p(b".")
attempt("turned its root", lambda: syscall("pivot_root", here, here))
"""
_SETUID = """
import os

for user in (0, 1):
    if os.getuid() != user:
        attempt(f"became user {user}", lambda: os.setuid(user))
        attempt(f"joined group {user}", lambda: os.setgid(user))
attempt("left its groups", lambda: os.setgroups([0]))
"""
_CAPABILITIES = """
import ctypes

header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)()
syscall("capget", ctypes.byref(header), ctypes.byref(sets))
if any(sets[place] for place in (0, 1, 3, 4)):
    reached(f"holds capabilities: {list(sets)}")
"""
_HANDLE = """
import ctypes, os

handle = (ctypes.c_uint32 * 8)(8, 1, 2)
number = syscall("open_by_handle_at", -100, ctypes.byref(handle), 0)
reached("opened a file by its handle")
"""
_RARE = {
    "io_uring": ("io_uring_setup", "8, ctypes.byref((ctypes.c_uint32 * 30)())"),
    "bpf": ("bpf", "0, ctypes.byref((ctypes.c_uint32 * 18)(2, 4, 4, 1)), 72"),
    "userfaultfd": ("userfaultfd", "1"),
    "keyring": ("keyctl", "0, -3, 1"),
    "perf": ("perf_event_open", "ctypes.byref((ctypes.c_uint32 * 28)(1, 112)), 0, -1, -1, 0"),
    "kernel module": ("init_module", "0, 0, 0"),
    "new kernel": ("kexec_load", "0, 0, 0, 0"),
}


def _rare(name: str) -> Attack:
    call, arguments = _RARE[name]
    script = f'import ctypes\n\nsyscall("{call}", {arguments})\nreached("{call} was carried out")\n'
    return Attack(name, script, provable=False)


KERNEL = (
    Attack("mount", _MOUNT, provable=False),
    Attack("open by number", _RAW_OPEN),
    Attack("exec by number", _RAW_EXEC),
    Attack("32-bit calls", _OTHER_ABI, provable=False),
    Attack("x32 calls", _X32, provable=False),
    Attack("namespaces", _UNSHARE, provable=False),
    Attack("chroot", _CHROOT, provable=False),
    Attack("setuid", _SETUID, provable=False),
    Attack("capabilities", _CAPABILITIES, provable=False),
    Attack("handles", _HANDLE, provable=False),
    *(_rare(name) for name in _RARE),
)
