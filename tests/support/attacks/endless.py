"""Attacks that do not end, or that end what should go on."""

from __future__ import annotations

from secondlook.sandbox.self_check import SHORT_LIMITS, Attack, not_ended

_IGNORES = """
import signal, time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
until = time.monotonic() + world["span"]
while time.monotonic() < until:
    try:
        time.sleep(0.1)
    except BaseException:
        pass
"""
_SILENT = """
import os, time

for number in range(1024):
    try:
        os.close(number)
    except OSError:
        pass
time.sleep(world["span"])
os._exit(0)
"""
_STUCK = """
import re

re.match(r"(a*)*b", "a" * world["letters"])
"""
_CLINGS = """
import time

class Clings:
    def __del__(self):
        time.sleep(world["span"])

    def __str__(self):
        time.sleep(world["span"])
        return "at last"

    __repr__ = __str__

result = Clings()
"""
_THREADS = """
import threading, time

started = []
try:
    for number in range(world["threads"]):
        thread = threading.Thread(target=time.sleep, args=(world["thread_seconds"],), daemon=True)
        thread.start()
        started.append(thread)
except (RuntimeError, MemoryError) as error:
    refusal = error
if len(started) > world["most"]:
    reached(f"runs {len(started):,} threads")
give_up(refusal)
"""
_CRASH = """
import ctypes

ctypes.string_at(0)
"""

ENDLESS = (
    Attack("ignored signals", _IGNORES, (not_ended,), {"span": 600}, limits=SHORT_LIMITS),
    Attack("silence", _SILENT, (not_ended,), {"span": 600}, limits=SHORT_LIMITS, provable=False),
    Attack("stuck in C", _STUCK, (not_ended,), {"letters": 64}, limits=SHORT_LIMITS),
    Attack("clinging value", _CLINGS, (not_ended,), {"span": 600}, limits=SHORT_LIMITS),
    Attack("thread bomb", _THREADS, sizes={"threads": 2_000, "thread_seconds": 600, "most": 64}),
    Attack("crash", _CRASH, (not_ended,), provable=False),
)
