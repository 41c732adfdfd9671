"""The attacks of `secondlook sandbox check` and `doctor`: one for each promise of the sandbox."""

from __future__ import annotations

from secondlook.sandbox.attacks import SHORT_LIMITS, Attack, not_ended

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
_RAW_SOCKET = """
syscall("socket", 2, 1, 0)
reached("made a socket")
"""

PROBES = (
    Attack("tcp", "connects to a listener on this machine", _TCP),
    Attack("unix socket", "connects to a socket in a folder", _UNIX),
    Attack("secret file", "reads a file of the user", _USER_FILE),
    Attack("write outside", "writes a file where others see it", _WRITE),
    Attack("environment", "reads a variable of the environment", _ENVIRONMENT),
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
    Attack("socket by number", "makes a socket past Python", _RAW_SOCKET),
)
