"""Whether a sandbox holds here: attacks are made on it, one for each promise, and judged by what
happened outside too. The tests hold many more attacks of the same form."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from secondlook.errors import SandboxError
from secondlook.processes import APART
from secondlook.sandbox import Choice, available, open_sandbox
from secondlook.sandbox.port import Limits, Outcome, Sandbox, Supplied

CHECK_LIMITS = Limits(
    seconds=3.0,
    address_space=1_536 << 20,
    resident=400 << 20,
    scratch_bytes=4 << 20,
    scratch_files=100,
    reply_bytes=4 << 20,
)
SHORT_LIMITS = replace(CHECK_LIMITS, seconds=0.7)  # for what only the deadline ends
_SECONDS_OF_GRACE = 15.0  # until a job is gone after its deadline, on a machine that is busy
_MOST_FAILURE = 1_000_000
_MOST_SAID = 160
_MISTAKES = re.compile(r"\b(?:NameError|SyntaxError|TypeError|AttributeError|UnboundLocalError)\b")
_CONTROL = "print(6 * 7)\nresult = {'rows': len(df), 'value': float(df['planted'].sum())}"
_EXPECTED = {"rows": 3, "value": 6.0}


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    script: str  # finds `world`, `attempt(what, function)`, `reached(what)`, `syscall(name, ...)`
    judges: tuple[Callable[[Evidence], str | None], ...] = ()  # each says what was achieved
    sizes: Mapping[str, float] = field(default_factory=dict)  # less in tests without a sandbox
    limits: Limits = CHECK_LIMITS
    provable: bool = True  # it succeeds without confinement, harmlessly: tests see that


@dataclass(frozen=True, slots=True)
class Attacked:
    name: str
    blocked: bool
    how: str  # by what it was stopped, or what it achieved


@dataclass(frozen=True, slots=True)
class Report:
    backend: str
    attacks: tuple[Attacked, ...]

    @property
    def holds(self) -> bool:
        return bool(self.attacks) and all(each.blocked for each in self.attacks)

    @property
    def succeeded(self) -> tuple[Attacked, ...]:
        return tuple(each for each in self.attacks if not each.blocked)


def self_check(backend: Choice = "auto", chosen: Sequence[Attack] | None = None) -> Report:
    """Attack a sandbox of this kind. Raises SandboxError where none can be opened or where it
    cannot run even honest code. While it runs, a made-up variable stands in our environment."""
    if not any(each.usable and backend in ("auto", each.name) for each in available()):
        # Nothing is planted where nothing can be attacked: this says why.
        open_sandbox(backend).close()
    # Opened within the world, whose planted secrets its server could inherit.
    with World() as world, contextlib.closing(open_sandbox(backend)) as sandbox:
        return attacked(sandbox, world, PROBES if chosen is None else chosen)


def attacked(sandbox: Sandbox, world: World, chosen: Sequence[Attack]) -> Report:
    """A sandbox that runs nothing blocks everything: honest code must run before and after."""
    found: list[Attacked] = []
    for attack in (None, *chosen, None):
        if attack is not None:
            found.append(judged(world.attack(sandbox, attack)))
            continue
        outcome = sandbox.run(_CONTROL, [Supplied("planted", world.table_file)])
        if (outcome.result, outcome.stdout.strip()) != (_EXPECTED, "42"):
            raise SandboxError(
                f"The sandbox {sandbox.name!r} does not run honest code: {outcome!r}",
                hint="secondlook doctor says which packages are missing.",
            )
    return Report(sandbox.name, tuple(found))


def judged(evidence: Evidence) -> Attacked:
    success = _achieved(evidence)
    how = _how_blocked(evidence) if success is None else success
    return Attacked(evidence.attack.name, success is None, how)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known after an attack: what the sandbox said, and what the world around it shows."""

    attack: Attack
    outcome: Outcome | None  # None where `run` itself failed
    broke: str  # how it failed
    mark: str
    secret: str
    seconds: float  # of the whole run, by our own clock
    visible: tuple[str, ...]  # a listener was reached, a file appeared, a process ended

    def lines(self, kind: str) -> list[str]:
        start = f"{self.mark} {kind}"
        text = self.outcome.stdout if self.outcome else ""
        return [line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)]


def _achieved(evidence: Evidence) -> str | None:
    """What the attack achieved, or why it proves nothing; None where it was blocked."""
    outcome = evidence.outcome
    if outcome is None:
        return f"the sandbox itself broke: {evidence.broke}"
    # An attack that was never made says nothing about the sandbox.
    if not evidence.lines("begun"):
        return f"it could not be tried: {_how_blocked(evidence)}"
    failure = outcome.failure
    mistakes = [line for line in evidence.lines("refused") if _MISTAKES.search(line)]
    if failure is not None and _MISTAKES.fullmatch(failure.kind):
        mistakes.append(f"{failure.kind}: {failure.message}")
    found = [f"it has a mistake: {one}" for one in mistakes[:1]]
    found += filter(None, (judge(evidence) for judge in evidence.attack.judges))
    found += evidence.visible
    if evidence.secret in repr(outcome):
        found.append("it read what was secret")
    found += evidence.lines("reached")
    if evidence.seconds > evidence.attack.limits.seconds + _SECONDS_OF_GRACE:
        found.append(f"it ran for {evidence.seconds:.0f} s")
    if failure is not None and len(failure.message) > _MOST_FAILURE:
        found.append(f"its error has {len(failure.message):,} characters")
    return "; ".join(found) or None


def _how_blocked(evidence: Evidence) -> str:
    outcome = evidence.outcome
    if outcome is None:
        return evidence.broke
    refusals = evidence.lines("refused")
    said = "it ran to its end and achieved nothing"
    if outcome.failure is not None:
        said = f"{outcome.failure.kind}: {outcome.failure.message}"
        said = said if outcome.status == "error" else f"{outcome.status}: {said}"
    elif outcome.status != "ok":
        said = outcome.status
    elif refusals:
        said = refusals[-1].partition(": ")[2]  # without what was tried
    flat = " ".join(said.split())
    return flat if len(flat) <= _MOST_SAID else f"{flat[: _MOST_SAID - 3]}..."


def not_ended(evidence: Evidence) -> str | None:
    """What would go on for ever must be ended, and be said to have been."""
    ok = evidence.outcome is not None and evidence.outcome.status == "ok"
    return "it ran to its end" if ok else None


# What stands before every attack's own lines: its facts, and how it says what it achieved.

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

CALLS = '''
bpf=321/280 capget=125/90 chroot=161/51 clone=56/220 clone3=435/435 execve=59/221 fork=57/
init_module=175/105 io_uring_setup=425/425 kexec_load=246/104 keyctl=250/219 kill=62/129
mount=165/40 open_by_handle_at=304/265 openat=257/56 perf_event_open=298/241
pidfd_getfd=438/438 pidfd_open=434/434 pivot_root=155/41 process_vm_readv=310/270
ptrace=101/117 socket=41/198 syslog=103/116 tgkill=234/131 umount2=166/39 unshare=272/97
userfaultfd=323/282 vfork=58/
'''

def syscall(name, *arguments):
    import ctypes, os, platform
    if isinstance(name, str):  # x86-64/ARM64
        numbers = dict(entry.split("=") for entry in CALLS.split())[name].split("/")
        name = int(numbers[platform.machine() == "aarch64"])
    c = ctypes.CDLL(None, use_errno=True)
    c.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    value = c.syscall(ctypes.c_long(name), *plain)
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""


# What an attack could reach: planted secrets, listeners, another process, files to change.

_VICTIM = """
import ctypes, os, sys
held = ctypes.create_string_buffer(os.environ[sys.argv[1]].encode())
number = os.open(sys.argv[2], os.O_RDONLY)
print(ctypes.addressof(held), number, flush=True)
sys.stdin.read()
"""
_OPEN_FOLDERS = ("/tmp", "/dev/shm", "/var/tmp", "/run", "~")  # noqa: S108  # tried as ways out
_HOST = "127.0.0.1"


class World:
    """Around a sandbox that is opened within it, so that its server could have inherited it."""

    def __init__(self) -> None:
        self.mark = f"attack-{secrets.token_hex(6)}"
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.secret_name = "SECONDLOOK_PLANTED_" + secrets.token_hex(4).upper()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        import pyarrow as pa
        from pyarrow import parquet

        table = io.BytesIO()
        parquet.write_table(pa.table({"planted": [1, 2, 3]}), table)
        self._table = table.getvalue()
        with contextlib.ExitStack() as opening:
            self.folder = Path(tempfile.mkdtemp(prefix="secondlook-attack-"))
            opening.callback(shutil.rmtree, self.folder, ignore_errors=True)
            # Anyone may look and write here: if it is not reached, the sandbox alone is the reason.
            self.folder.chmod(0o755)
            self.secret_file, self.outside = self.folder / "secret", self.folder / "outside"
            self.table_file = self.folder / "table.parquet"
            self._plant()
            opening.callback(self._remove_marked)
            os.environ[self.secret_name] = self.secret
            opening.callback(os.environ.pop, self.secret_name, None)
            inherited = os.open(self.secret_file, os.O_RDONLY)
            os.set_inheritable(inherited, True)  # noqa: FBT003  # its only parameter
            opening.callback(os.close, inherited)
            opening.enter_context(orphans_come_to_us())
            # The kernel takes connections: after an attack it is seen whether there was one.
            self._listener = opening.enter_context(socket.create_server((_HOST, 0)))
            self._listener.setblocking(False)  # noqa: FBT003  # its only parameter
            self._start_victim()
            opening.callback(self._end_victim)
            self._planted = self._files()
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _plant(self) -> None:
        for old in self.folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        self.outside.mkdir()
        self.outside.chmod(0o777)
        for file, content, mode in (
            (self.secret_file, self.secret.encode(), 0o644),
            (self.outside / "kept", b"kept as it is", 0o666),
            (self.table_file, self._table, 0o666),
        ):
            file.write_bytes(content)
            file.chmod(mode)

    def _files(self) -> list[tuple[str, int, bytes]]:
        return [
            (str(place), place.lstat().st_mode, place.read_bytes() if place.is_file() else b"")
            for place in sorted(self.folder.rglob("*"))
        ]

    def _start_victim(self) -> None:
        self.victim = subprocess.Popen(  # noqa: S603  # our own interpreter, our own lines
            [sys.executable, "-I", "-c", _VICTIM, self.secret_name, str(self.secret_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, self.secret_name: self.secret},
            **APART,
        )
        if self.victim.stdout is None:  # it is a pipe
            raise AssertionError
        self._victim_at = tuple(map(int, self.victim.stdout.readline().split()))

    def _end_victim(self) -> None:
        self.victim.kill()  # an attack may have stopped it, so that it hears nothing else
        with self.victim:
            pass

    def attack(self, sandbox: Sandbox, attack: Attack) -> Evidence:
        address, descriptor = self._victim_at
        facts = {  # where things are, never what is in them
            "mark": self.mark,
            "host": _HOST,
            "tcp_port": self._listener.getsockname()[1],
            "secret_file": str(self.secret_file),
            "secret_name": self.secret_name,
            "outside": str(self.outside),
            "kept_file": str(self.outside / "kept"),
            "table_file": str(self.table_file),
            "parent": os.getpid(),
            "victim": self.victim.pid,
            "victim_address": address,
            "victim_descriptor": descriptor,
            **attack.sizes,
        }
        broke, outcome, before = "", None, descendants()
        started = time.monotonic()
        try:
            # Texts and numbers alone, which Python writes as it reads them.
            script = f"world = {facts!r}\n{_LINES}\n{attack.script}"
            tables = [Supplied("planted", self.table_file)]
            outcome = sandbox.run(script, tables, limits=attack.limits)
        except Exception as error:  # noqa: BLE001  # that it fails at all is the finding
            broke = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - started
        seen = tuple(self._changes(before))
        return Evidence(attack, outcome, broke, self.mark, self.secret, seconds, seen)

    def _changes(self, before: set[int]) -> Iterator[str]:
        with contextlib.suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                yield "the listener was reached"
        if self.victim.poll() is not None:
            self._end_victim()
            self._start_victim()
            yield "another process was killed"
        elif stayed := left_over(before):
            end(stayed)
            yield f"{len(stayed)} processes stayed"
        if self._files() != self._planted:
            self._plant()
            yield "files of the user were changed"
        if self._remove_marked():
            yield "files were written to folders of this machine"

    def _remove_marked(self) -> list[Path]:
        """What an attack managed to leave on this machine under the mark that it was given."""
        removed = []
        for folder in _OPEN_FOLDERS:
            with contextlib.suppress(OSError):  # a folder that we may not see, nor may the attack
                for place in Path(folder).expanduser().glob(f"{self.mark}*"):
                    place.unlink(missing_ok=True)
                    removed.append(place)
        return removed


# What the processes below ours do while an attack runs, seen through /proc.

_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.05


@contextlib.contextmanager
def orphans_come_to_us() -> Iterator[None]:
    """A process that lost its parent would else become init's, where we could not find it."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def descendants() -> set[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = (folder / "stat").read_text("utf-8", "replace")
                # The name of the program stands in brackets and may hold anything.
                state, parent = text.rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(folder.name)] = int(parent)
    found: set[int] = set()
    fresh = {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def left_over(before: set[int], *, within: float = 3.0) -> set[int]:
    until = time.monotonic() + within
    while (stayed := descendants() - before) and time.monotonic() <= until:
        time.sleep(_PAUSE_SECONDS)
    return stayed


def end(processes: set[int]) -> None:
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)


# The attacks of `secondlook sandbox check`.

_TCP = """
import socket

def knock():
    with socket.create_connection((world["host"], world["tcp_port"]), timeout=2) as open_socket:
        open_socket.sendall(b"knock")

attempt("connected by TCP", knock)
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
import os, stat

ways = {
    "overwrote": lambda number: os.pwrite(number, b"changed!", 0),
    "emptied": lambda number: os.ftruncate(number, 0),
    "opened again": lambda number: open(f"/proc/self/fd/{number}", "r+b").close(),
    "unlocked": lambda number: os.fchmod(number, 0o666),
}
for number in range(3, 256):
    try:
        table = stat.S_ISREG(os.fstat(number).st_mode)
    except OSError:
        continue
    for way, function in ways.items() if table else ():
        attempt(f"{way} descriptor {number}", lambda: function(number))
attempt("opened it by name", lambda: open(world["table_file"], "r+b").close())
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
    Attack("tcp", _TCP),
    Attack("secret file", _USER_FILE),
    Attack("write outside", _WRITE),
    Attack("environment", _ENVIRONMENT),
    Attack("table altered", _TABLE),
    Attack("fork bomb", _FORK, sizes={"forks": 20}),
    Attack("exec of a program", _EXEC),
    Attack("ptrace", _PTRACE),
    Attack("/proc of the parent", _PROC),
    Attack("kill", _KILL),
    Attack("memory, private", _PRIVATE, sizes={"bytes": 8 << 30}),
    Attack("infinite loop", _LOOP, (not_ended,), {"span": 600}, SHORT_LIMITS),
    Attack("socket by number", _RAW_SOCKET),
)
