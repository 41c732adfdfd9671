"""Attacks on what lies on the disk: reading what is secret, writing where it does not belong."""

from __future__ import annotations

from secondlook.sandbox.self_check import CHECK_LIMITS, Attack

_DESCRIPTORS = """
import os, stat

found = []
for number in range(1024):
    try:
        kind = os.fstat(number).st_mode
    except OSError:
        continue
    if stat.S_ISREG(kind):
        found.append(os.pread(number, 4096, 0).decode("latin-1"))
    elif stat.S_ISDIR(kind):
        reached("holds an open folder")
    elif stat.S_ISSOCK(kind):
        reached(f"holds a socket, descriptor {number}")
result = found
"""
_SYMLINK = """
import os

found = []
for folder in (".", "/tmp", "/dev/shm"):
    place = os.path.join(folder, world["mark"] + "-link")
    try:
        os.symlink(world["secret_file"], place)
        with open(place) as file:
            found.append(file.read())
    except OSError as error:
        refusal = error
    finally:
        try:
            os.unlink(place)
        except OSError:
            pass
result = found
if not found:
    give_up(refusal)
"""
_CLIMB = """
import os

found = []
for start in (".", "/", "/proc/self/root", "/proc/1/root", "/proc/self/cwd"):
    for up in (0, 1, 20):
        try:
            with open(start + "/.." * up + world["secret_file"]) as file:
                found.append(file.read())
        except OSError as error:
            refusal = error
result = found
if not found:
    give_up(refusal)
"""
_CHANGE = """
import os

attempt("emptied a file", lambda: os.truncate(world["kept_file"], 0))
attempt("removed a file", lambda: os.unlink(world["kept_file"]))
attempt("renamed a folder", lambda: os.rename(world["outside"], world["outside"] + "-x"))
attempt("changed rights", lambda: os.chmod(world["kept_file"], 0o777))
"""
_SHARED_FOLDER = """
place = "/dev/shm/" + world["mark"] + "-w"
attempt("wrote to /dev/shm", lambda: open(place, "w").close())
"""
_INTERPRETER = """
import os, sys

for folder in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), *filter(None, sys.path)):
    place = os.path.join(folder, world["mark"] + ".pth")
    try:
        with open(place, "w"):
            reached("wrote beside the interpreter: " + place)
        os.unlink(place)
    except OSError as error:
        refusal = error
give_up(refusal)
"""
_FILL = """
import os

block = b"x" * 1_048_576
total = 0
folders = (".", "/tmp", "/dev/shm", "/var/tmp", "/run", os.path.expanduser("~"))
for folder in dict.fromkeys(os.path.realpath(folder) for folder in folders):
    place = os.path.join(folder, world["mark"] + "-fill-")
    try:
        for number in range(world["files"]):
            with open(place + str(number), "wb") as file:
                for _ in range(world["file_megabytes"]):
                    file.write(block)
                    file.flush()
                    total += len(block)
    except OSError as error:
        refusal = error
    print("held", total, flush=True)
    if total > world["most"]:
        reached(f"filled the disk with {total:,} bytes")
give_up(refusal)
"""
_DEVICES = """
import os

for name in ("mem", "kmsg", "port", "fuse", "kvm", "vda", "sda"):
    place = "/dev/" + name
    attempt("opened " + place, lambda: os.close(os.open(place, os.O_RDONLY | os.O_NONBLOCK)))
"""
_SCRATCH = CHECK_LIMITS.scratch_bytes + 1_048_576

FILES = (
    Attack("inherited descriptors", _DESCRIPTORS),
    Attack("symbolic link", _SYMLINK),
    Attack("climbing", _CLIMB),
    Attack("change outside", _CHANGE),
    Attack("shared memory files", _SHARED_FOLDER),
    Attack("interpreter", _INTERPRETER, provable=False),
    Attack("disk fill", _FILL, sizes={"files": 64, "file_megabytes": 16, "most": _SCRATCH}),
    Attack("devices", _DEVICES, provable=False),
)
