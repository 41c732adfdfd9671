"""What a sandbox must withstand. Each attack can succeed where nothing confines it. `python -m
tests.support.attacks BACKEND` makes them all and prints the report as JSON."""

import json
import sys
from dataclasses import asdict

from secondlook.sandbox.self_check import (
    CHECK_LIMITS,
    PROBES,
    SHORT_LIMITS,
    Attack,
    Evidence,
    not_ended,
    self_check,
)

_TCP_LISTEN = """
import socket

def listen():
    with socket.socket() as waiting:
        waiting.bind(("0.0.0.0", 0))
        waiting.listen()

attempt("listens for TCP", listen)
"""
_UDP = """
import socket

def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        open_socket.sendto(b"knock", (world["host"], world["tcp_port"]))

attempt("sent by UDP", send)
"""
_UNIX = """
import socket

attempt("made a unix socket", lambda: socket.socket(socket.AF_UNIX).close())
attempt("made a pair of sockets", socket.socketpair)
"""
_VSOCK = """
import socket

attempt("made a vsock", lambda: socket.socket(40, socket.SOCK_STREAM).close())
"""
_RAW = """
import socket

attempt("made a raw socket", lambda: socket.socket(17, socket.SOCK_RAW).close())
attempt("made a netlink socket", lambda: socket.socket(16, socket.SOCK_RAW).close())
"""

NETWORK = (
    Attack("tcp listener", _TCP_LISTEN),
    Attack("udp", _UDP),
    Attack("unix sockets", _UNIX),
    Attack("vsock", _VSOCK, provable=False),
    Attack("raw sockets", _RAW, provable=False),
)


# Attacks on what lies on the disk: reading what is secret, writing where it does not belong.

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


# Attacks on other processes, and attempts to become more than one.

_CLONE3 = """
import ctypes, os, signal

asked = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD)
child = syscall("clone3", ctypes.byref(asked), 88)
if child == 0:
    os._exit(0)
reached("forked by clone3")
os.waitpid(child, 0)
"""
_DAEMON = """
import os, time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1024):
            try:
                os.close(number)
            except OSError:
                pass
        time.sleep(world["daemon_seconds"])
    os._exit(0)
reached("left a process behind")
"""
_VM_READ = """
import ctypes, os

buffer = ctypes.create_string_buffer(64)
ours = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
theirs = (ctypes.c_uint64 * 2)(world["victim_address"], 64)
syscall("process_vm_readv", world["victim"], ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
result = buffer.raw.decode("latin-1")
"""
_PIDFD = """
import os

process = syscall("pidfd_open", world["victim"], 0)
number = syscall("pidfd_getfd", process, world["victim_descriptor"], 0)
result = os.pread(number, 4096, 0).decode()
"""
_KILL_OTHERWISE = """
import os, signal

attempt("tgkill", lambda: syscall("tgkill", world["victim"], world["victim"], 9))

def by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(world["victim"]), signal.SIGKILL)

attempt("signalled by descriptor", by_descriptor)
attempt("signalled a group", lambda: os.killpg(os.getpgid(world["victim"]), 0))
"""
_KILL_BY_INPUT = """
import fcntl, os, signal

reading, writing = os.pipe()
fcntl.fcntl(reading, fcntl.F_SETOWN, world["victim"])
fcntl.fcntl(reading, 10, signal.SIGKILL)
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writing, b"now")
"""
_PRIORITY = """
import os

attempt("took real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
attempt("raised its priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("slowed another", lambda: os.setpriority(os.PRIO_PROCESS, world["victim"], 19))
"""
_TERMINAL = """
import fcntl, os, termios

for number in (0, 1, 2):
    attempt("typed into a terminal", lambda: fcntl.ioctl(number, termios.TIOCSTI, b"x"))
attempt("opened the terminal", lambda: os.close(os.open("/dev/tty", os.O_RDWR)))
"""

PROCESSES = (
    Attack("clone3", _CLONE3),
    Attack("daemon", _DAEMON, sizes={"daemon_seconds": 600}),
    Attack("memory of another", _VM_READ),
    Attack("descriptor of another", _PIDFD),
    Attack("kill otherwise", _KILL_OTHERWISE),
    Attack("kill by input", _KILL_BY_INPUT),
    Attack("priority", _PRIORITY, provable=False),
    Attack("terminal", _TERMINAL, provable=False),
)


# Attacks on the machine's memory.

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


# Attacks that do not end, or that end what should go on.

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


# Attacks on whoever reads what comes out.


def too_much_said(evidence: Evidence) -> str | None:
    """More came back than allowed."""
    outcome, limits = evidence.outcome, evidence.attack.limits
    if outcome is None:
        return None
    if len(outcome.stdout) > limits.stdout_bytes:
        return f"{len(outcome.stdout):,} characters of output came back"
    drawn = sum(len(figure.data) for figure in outcome.figures)
    if drawn > limits.reply_bytes or len(repr(outcome.result)) > 2 * limits.reply_bytes:
        return "a reply above the limit came back"
    return None


def forged(evidence: Evidence) -> str | None:
    outcome = evidence.outcome
    if outcome is None:
        return None
    taken = f"forged {evidence.mark}" in f"{outcome.result!r}{outcome.figures!r}{outcome.frames!r}"
    return "a reply that the code wrote itself was taken for the sandbox's" if taken else None


_FLOOD = """
import os

block = "x" * 1_000_000
for _ in range(world["megabytes"]):
    print(block)
"""
_FORGED = """
import json, os, struct

reply = {"status": "ok", "has_result": True, "result": "forged " + world["mark"], "figures": []}
text = json.dumps(reply | {"memory": 0, "token": "0" * 32}).encode()
for number in range(3, 256):
    try:
        os.write(number, struct.pack(">Q", len(text)) + text)
    except OSError:
        pass
"""
_DEEP = """
result = []
for _ in range(world["depth"]):
    result = [result]
"""
_FIGURE = """
import numpy
import plotly.graph_objects as go

points = numpy.random.default_rng(0).normal(size=world["points"])
fig = go.Figure(go.Scatter(x=points, y=points))
"""
_LONG_ERROR = """
raise ValueError("x" * (world["megabytes"] * 1_000_000))
"""
_ENDLESS_VALUE = """
class Endless(list):
    def __iter__(self):
        while True:
            yield 1

result = Endless([1])
"""
_PICKLE = """
import os, pickle

class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.path.join(world["outside"], "unpickled"),))

result = Bomb()
for number in range(3, 256):
    try:
        os.write(number, pickle.dumps(Bomb()))
    except OSError:
        pass
os._exit(0)
"""

OUTPUT = (
    Attack("2 GB of output", _FLOOD, (too_much_said,), {"megabytes": 2_000}),
    Attack("forged reply", f"{_FORGED}os._exit(0)\n", (forged,), provable=False),
    Attack("deep value", _DEEP, (too_much_said,), {"depth": 100_000}, provable=False),
    Attack("huge figure", _FIGURE, (too_much_said,), {"points": 2_000_000}, provable=False),
    Attack("long error", _LONG_ERROR, sizes={"megabytes": 100}, provable=False),
    Attack("endless value", _ENDLESS_VALUE, provable=False),
    Attack("pickle", _PICKLE, provable=False),
    Attack("second reply", _FORGED, (forged,), provable=False),
)


# Attacks on the kernel's doors: calls that no analysis needs, by their numbers.

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


# Attacks on what is around a job of the same sandbox.

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

JOBS = (Attack("frames", _FRAMES, provable=False), Attack("list of processes", _PROCESSES))

OTHERS = (*NETWORK, *FILES, *PROCESSES, *MEMORY, *ENDLESS, *OUTPUT, *KERNEL, *JOBS)
ATTACKS = (*PROBES, *OTHERS)

if __name__ == "__main__":
    report = self_check(sys.argv[1], ATTACKS)  # type: ignore[arg-type]
    sys.stdout.write(json.dumps(asdict(report)))
    sys.exit(not report.holds)
