"""The attacks of `secondlook sandbox check` and `doctor`: one for each promise of the sandbox."""

from __future__ import annotations

from secondlook.sandbox.attacks import SHORT_LIMITS, Attack, forged, not_ended, too_much_said

_TCP = """
import socket

def knock():
    with socket.create_connection((world["host"], world["tcp_port"]), timeout=2) as open_socket:
        open_socket.sendall(b"knock")

attempt("connected by TCP", knock)
"""
_UNIX = """
import socket

def knock():
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.connect(world["unix_path"])
        open_socket.sendall(b"knock")

attempt("connected to a unix socket", knock)
"""
_USER_FILE = """
with open(world["secret_file"]) as file:
    result = file.read()
"""
_WRITE = """
import os

def write(place):
    with open(place, "w") as file:
        file.write("written")

attempt("wrote a file outside", lambda: write(os.path.join(world["outside"], "written")))
attempt("made a folder outside", lambda: os.mkdir(os.path.join(world["outside"], "made")))
"""
_ENVIRONMENT = """
import ctypes, os

here = dict(os.environ)
c = ctypes.CDLL(None)
c.getenv.restype = ctypes.c_char_p
result = [here, str(c.getenv(world["secret_name"].encode()))]
"""
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
_TABLE = """
import fcntl, mmap, os, stat

def overwrite(number):
    os.pwrite(number, b"changed!", 0)

def empty(number):
    os.ftruncate(number, 0)

def by_map(number):
    mmap.mmap(number, 8)[:] = b"changed!"

def again(number):
    with open(f"/proc/self/fd/{number}", "r+b") as file:
        file.write(b"changed!")

def by_name(number):
    with open(world["table_file"], "r+b") as file:
        file.write(b"changed!")

def unlocked(number):
    os.fchmod(number, 0o666)

for number in range(3, 256):
    try:
        table = stat.S_ISREG(os.fstat(number).st_mode)
    except OSError:
        continue
    if table:
        for way in (overwrite, empty, by_map, again, unlocked):
            attempt(f"{way.__name__} descriptor {number}", lambda: way(number))
attempt("by_name", lambda: by_name(0))
"""
_FORK = """
import os

for number in range(world["forks"]):
    child = os.fork()
    if child == 0:
        os._exit(0)
    reached(f"forked {number + 1} times")
    os.waitpid(child, 0)
"""
_EXEC = """
import os, subprocess

def run():
    subprocess.run(["/bin/sh", "-c", "echo > " + os.path.join(world["outside"], "ran")], check=True)

attempt("ran a program", run)
"""
_PTRACE = """
import os

# Seizing does not stop the process: where it succeeds, nobody is harmed.
for process in (world["victim"], world["parent"], os.getppid()):
    attempt("traces a process", lambda: syscall("ptrace", 0x4206, process, 0, 0))
"""
_PROC = """
import os

found = []
for process in (world["victim"], world["parent"], os.getppid(), 1):
    for name in ("environ", "cmdline", f"fd/{world['victim_descriptor']}", "maps"):
        try:
            # The file of that number may be a pipe of the parent, which nobody will write to.
            number = os.open(f"/proc/{process}/{name}", os.O_RDONLY | os.O_NONBLOCK)
            text = os.read(number, 65536).decode("latin-1")
        except OSError as error:
            refusal = error
            continue
        found.append(text)
        if name in ("environ", "maps") and process != os.getpid() and text:
            reached(f"read {name} of process {process}")
result = found
give_up(refusal)
"""
_KILL = """
import os, signal

attempt("killed a process", lambda: os.kill(world["victim"], signal.SIGKILL))
"""
_PRIVATE = """
import mmap

held = mmap.mmap(-1, world["bytes"], flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, world["bytes"], 4096):
    held[at] = 1
reached(f"held {world['bytes']:,} bytes")
"""
_LOOP = """
import time

until = time.monotonic() + world["span"]
while time.monotonic() < until:
    pass
"""
_FLOOD = """
import os

block = "x" * 1_000_000
for _ in range(world["megabytes"]):
    print(block)
"""
FORGED = """
import json, os, struct

reply = {"status": "ok", "has_result": True, "result": "forged " + world["mark"], "figures": []}
text = json.dumps(reply | {"memory": 0, "token": "0" * 32}).encode()
for number in range(3, 256):
    try:
        os.write(number, struct.pack(">Q", len(text)) + text)
    except OSError:
        pass
"""
_RAW_SOCKET = """
syscall("socket", 2, 1, 0)
reached("made a socket")
"""
_MOUNT = """
import ctypes

kind, place = ctypes.c_char_p(b"tmpfs"), ctypes.c_char_p(b"/")
attempt("mounted", lambda: syscall("mount", kind, place, kind, 0, 0))
"""
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

PROBES = (
    Attack("tcp", "connects to a listener on this machine", _TCP),
    Attack("unix socket", "connects to a socket in a folder", _UNIX),
    Attack("secret file", "reads a file of the user", _USER_FILE),
    Attack("write outside", "writes a file where others see it", _WRITE),
    Attack("environment", "reads a variable of the environment", _ENVIRONMENT),
    Attack("inherited descriptors", "reads what our process had open", _DESCRIPTORS),
    Attack("table altered", "changes the table it was given", _TABLE),
    Attack("fork bomb", "forks again and again", _FORK, sizes={"forks": 20}),
    Attack("exec of a program", "runs a shell", _EXEC),
    Attack("ptrace", "traces other processes", _PTRACE),
    Attack("/proc of the parent", "reads /proc of processes", _PROC),
    Attack("kill", "kills another process", _KILL),
    Attack("memory, private", "takes 8 GB", _PRIVATE, sizes={"bytes": 8 << 30}),
    Attack(
        "infinite loop",
        "computes for ever",
        _LOOP,
        (not_ended,),
        {"span": 600},
        limits=SHORT_LIMITS,
    ),
    Attack("2 GB of output", "prints without end", _FLOOD, (too_much_said,), {"megabytes": 2_000}),
    Attack(
        "forged reply",
        "writes a reply itself, and ends",
        f"{FORGED}os._exit(0)\n",
        (forged,),
        provable=False,
    ),
    Attack("socket by number", "makes a socket past Python", _RAW_SOCKET),
    Attack("mount", "mounts a file system", _MOUNT, provable=False),
    Attack(
        "what a job left",
        "looks for what an earlier job left",
        _FINDS,
        provable=False,
        before=_LEAVES,
    ),
)
