"""Attacks on the machine's memory."""

from __future__ import annotations

from secondlook.sandbox.self_check import Attack

_SHARED = """
import mmap

held = []
for _ in range(world["bytes"] // world["piece"]):
    one = mmap.mmap(-1, world["piece"], flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for at in range(0, world["piece"], 4096):
        one[at] = 1
    held.append(one)
reached(f"shared {world['bytes']:,} bytes")
"""
_UNNAMED_FILES = """
import os

block = bytes(1_048_576)
held = 0
numbers = []
while held < world["bytes"]:
    number = os.memfd_create("held")
    numbers.append(number)
    for _ in range(world["piece"] // len(block)):
        held += os.write(number, block)
    if held > world["most"]:
        reached(f"wrote {held:,} bytes to files that exist in memory alone")
        break
"""
_SYSTEM_V = """
import ctypes

c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_void_p
held = 0
made = []
while held < world["bytes"]:
    number = c.shmget(0, world["piece"], 0o1600)
    if number < 0:
        raise MemoryError(f"shmget: {ctypes.get_errno()}")
    made.append(number)
    place = c.shmat(number, None, 0)
    c.shmctl(number, 0, None)
    ctypes.memset(place, 1, world["piece"])
    held += world["piece"]
    if held > world["most"]:
        reached(f"shared {held:,} bytes by System V")
        break
"""
_LIFTED = """
import resource

for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE"):
    kind = getattr(resource, name)
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        attempt("lifted " + name, lambda: resource.setrlimit(kind, (hard + 1, hard + 1)))
"""
_PIPES = """
import fcntl, os

held = 0
block = bytes(65536)
try:
    while held < world["bytes"]:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        fcntl.fcntl(writing, 1031, 1_048_576)
        try:
            while True:
                held += os.write(writing, block)
        except BlockingIOError:
            pass
except OSError as error:
    refusal = error
if held > world["most"]:
    reached(f"kept {held:,} bytes in pipes")
give_up(refusal)
"""
_EIGHT_GB = 8_589_934_592
_MEGABYTE = 1_048_576

MEMORY = (
    Attack("memory, shared", _SHARED, sizes={"bytes": _EIGHT_GB, "piece": 64 * _MEGABYTE}),
    Attack(
        "memory, unnamed files",
        _UNNAMED_FILES,
        sizes={"bytes": _EIGHT_GB, "piece": 32 * _MEGABYTE, "most": 0},
    ),
    Attack(
        "memory, System V",
        _SYSTEM_V,
        sizes={"bytes": 256 * _MEGABYTE, "piece": 64 * _MEGABYTE, "most": 0},
    ),
    Attack("memory, pipes", _PIPES, sizes={"bytes": _EIGHT_GB, "most": 32 * _MEGABYTE}),
    Attack("limits lifted", _LIFTED, provable=False),
)
