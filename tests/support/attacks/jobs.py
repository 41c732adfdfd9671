"""Attacks on other jobs of the same sandbox."""

from __future__ import annotations

from secondlook.sandbox.attacks import Attack

_LEAVES = """
import builtins, os, sys

neighbour = world["neighbour"]
builtins.left_behind = neighbour
sys.modules["left_behind"] = neighbour
tables["left"] = neighbour
for folder in (".", "/tmp", "/dev/shm"):
    try:
        with open(os.path.join(folder, "left_behind"), "w") as file:
            file.write(neighbour)
    except OSError:
        pass
"""
_FINDS = """
import builtins, glob, os, sys

found = [getattr(builtins, "left_behind", None), str(sys.modules.get("left_behind"))]
found.append(str(tables.get("left")))
for folder in (".", "/tmp", "/dev/shm"):
    for place in glob.glob(os.path.join(folder, "left_behind")):
        with open(place) as file:
            found.append(file.read())
result = found
"""
_HOLDS = """
import time

neighbour = world["neighbour"]
time.sleep(world["hold_seconds"])
"""
_SEARCHES = """
import gc, sys

sign = "neigh" + "bour-"
found = []
place = sys._getframe()
while place is not None:
    texts = [repr(value)[:10_000] for value in place.f_locals.values()]
    found.extend(text for text in texts if sign in text)
    place = place.f_back
for thing in gc.get_objects():
    if type(thing) in (dict, list, tuple) and thing is not found:
        for one in thing.values() if type(thing) is dict else thing:
            if type(one) is str and sign in one:
                found.append(one[:10_000])
result = found[:100]
"""
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
    Attack(
        "what a job left",
        "looks for what an earlier job left",
        _FINDS,
        provable=False,
        before=_LEAVES,
    ),
    Attack(
        "data of another job",
        "searches its memory for a job beside it",
        _SEARCHES,
        sizes={"hold_seconds": 1},
        provable=False,
        beside=_HOLDS,
    ),
    Attack("frames", "walks up the frames that called it", _FRAMES, provable=False),
    Attack("list of processes", "lists the processes", _PROCESSES),
)
