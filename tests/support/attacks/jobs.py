"""Attacks on what is around a job of the same sandbox."""

from __future__ import annotations

from secondlook.sandbox.self_check import Attack

_FRAMES = """
import sys

found = []
place = sys._getframe()
while place is not None:
    found.extend(repr(value)[:5_000] for value in place.f_locals.values())
    place = place.f_back
result = "".join(found)[:200_000]
"""
_PROCESSES = """
import os

names = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
if names:
    reached(f"sees {len(names)} other processes")
"""

JOBS = (
    Attack("frames", _FRAMES, provable=False),
    Attack("list of processes", _PROCESSES),
)
