"""One attack: a script that tries something, and what would show that it succeeded."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.processes import APART
from secondlook.sandbox.port import Limits, Supplied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from secondlook.sandbox.port import Outcome, Sandbox

CHECK_LIMITS = Limits(
    seconds=3.0,
    address_space=1_536 << 20,
    resident=400 << 20,
    scratch_bytes=4 << 20,
    scratch_files=100,
    reply_bytes=4 << 20,
)
"""Small, so that what must be bounded reaches its bound soon."""
SHORT_LIMITS = replace(CHECK_LIMITS, seconds=0.7)
"""For what only the deadline ends."""
_SECONDS_OF_GRACE = 15.0
"""Until a job is gone after its deadline, on a machine that is busy."""
_MOST_FAILURE = 1_000_000
_MOST_SAID = 160
_MISTAKES = re.compile(r"\b(?:NameError|SyntaxError|TypeError|AttributeError|UnboundLocalError)\b")


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    what: str
    """What it tries, as a clause: "connects to a listener on this machine"."""
    script: str
    """Python that finds `world` (addresses and names, no secrets), `attempt(what, function)`,
    `reached(what)` and `syscall(name, *arguments)`."""
    judges: tuple[Callable[[Evidence], str | None], ...] = ()
    """Beside those that every attack is judged by. Each says what was achieved, or None."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """How much it asks for; the tests ask for less where nothing confines it."""
    limits: Limits = CHECK_LIMITS
    provable: bool = True
    """Without confinement it succeeds here, harmlessly: the tests run it so, to see that it can."""
    before: str | None = None
    """A job that ran just before it."""
    beside: str | None = None
    """A job that runs at the same time."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known after an attack: what the sandbox said, and what the world around it shows."""

    attack: Attack
    outcome: Outcome | None
    """None where `run` itself failed."""
    broke: str | None
    """How it failed."""
    mark: str
    secrets: tuple[str, ...]
    seconds: float
    """Of the whole run, by our own clock."""
    visible: tuple[str, ...]
    """What happened outside: a listener was reached, a file appeared, a process ended or stayed."""

    def lines(self, kind: str) -> list[str]:
        start = f"{self.mark} {kind}"
        text = self.outcome.stdout if self.outcome else ""
        return [line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)]


def achieved(evidence: Evidence) -> str | None:  # noqa: C901, PLR0911 - one line a way
    """What the attack achieved, or why it proves nothing; None where it was blocked."""
    outcome, limits = evidence.outcome, evidence.attack.limits
    if outcome is None:
        return f"the sandbox itself broke: {evidence.broke}"
    # An attack that was never made says nothing about the sandbox.
    if not evidence.lines("begun"):
        return f"it could not be tried: {how_blocked(evidence)}"
    failure = outcome.failure
    mistakes = [line for line in evidence.lines("refused") if _MISTAKES.search(line)]
    if failure is not None and _MISTAKES.fullmatch(failure.kind):
        mistakes.append(f"{failure.kind}: {failure.message}")
    if mistakes:
        return f"it has a mistake: {mistakes[0]}"
    for judge in evidence.attack.judges:
        if said := judge(evidence):
            return said
    if evidence.visible:
        return "; ".join(evidence.visible)
    if any(one in repr(outcome) for one in evidence.secrets):
        return "it read what was secret"
    if reached := evidence.lines("reached"):
        return "; ".join(reached)
    if evidence.seconds > limits.seconds + _SECONDS_OF_GRACE:
        return f"it ran for {evidence.seconds:.0f} s"
    if failure is not None and len(failure.message) > _MOST_FAILURE:
        return f"its error has {len(failure.message):,} characters"
    return None


def how_blocked(evidence: Evidence) -> str:
    """By what it was stopped, in a line."""
    outcome = evidence.outcome
    if outcome is None:
        return evidence.broke or ""
    refusals = evidence.lines("refused")
    if outcome.failure is not None:
        said = f"{outcome.failure.kind}: {outcome.failure.message}"
        said = said if outcome.status == "error" else f"{outcome.status}: {said}"
    elif outcome.status != "ok":
        said = outcome.status
    elif refusals:
        said = refusals[-1].partition(": ")[2]  # without what was tried
    else:
        said = "it ran to its end and achieved nothing"
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

NUMBERS = '''
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
        numbers = dict(entry.split("=") for entry in NUMBERS.split())[name].split("/")
        name = int(numbers[platform.machine() == "aarch64"])
    c = ctypes.CDLL(None, use_errno=True)
    c.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    value = c.syscall(ctypes.c_long(name), *plain)
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""


def with_prelude(script: str, world: Mapping[str, object]) -> str:
    """`world` holds texts and numbers alone, which Python writes as it reads them."""
    return f"world = {dict(world)!r}\n{_LINES}\n{script}"


# What an attack could reach: planted secrets, listeners, another process, files to change.

_VICTIM = """
import ctypes, os, sys
held = ctypes.create_string_buffer(os.environ[sys.argv[1]].encode())
number = os.open(sys.argv[2], os.O_RDONLY)
print(ctypes.addressof(held), number, flush=True)
sys.stdin.read()
"""
_KEPT = "kept as it is"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # where POSIX puts it; tried as a way out
_OPEN_FOLDERS = ("/tmp", "/dev/shm", "/var/tmp", "/run", "~")  # noqa: S108  # the same
_SECONDS_UNTIL_BESIDE = 0.3
_HOST = "127.0.0.1"


class World:
    """Around a sandbox that is opened within it, so that its server could have inherited it."""

    def __init__(self) -> None:
        self.mark = f"attack-{secrets.token_hex(6)}"
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.neighbour = f"neighbour-{secrets.token_hex(12)}"
        self.secret_name = "SECONDLOOK_PLANTED_" + secrets.token_hex(4).upper()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opening:
            self._plant(opening)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _plant(self, opening: contextlib.ExitStack) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="secondlook-attack-"))
        opening.callback(shutil.rmtree, self.folder, ignore_errors=True)
        # Anyone may look and write here: if it is not reached, the sandbox alone is the reason.
        self.folder.chmod(0o755)
        self.secret_file = self.folder / "secret"
        self.secret_file.write_text(self.secret, "utf-8")
        self.shm_file = _SHARED_MEMORY / f"{self.mark}-secret"
        if _SHARED_MEMORY.is_dir():
            self.shm_file.write_text(self.secret, "utf-8")
        opening.callback(self._remove_marked)
        self.outside = self.folder / "outside"
        self._lay_out()
        self.table_file = self.folder / "table.parquet"
        self._write_table()
        self._table_hash = _hash(self.table_file)
        os.environ[self.secret_name] = self.secret
        opening.callback(os.environ.pop, self.secret_name, None)
        inherited = os.open(self.secret_file, os.O_RDONLY)
        os.set_inheritable(inherited, True)  # noqa: FBT003  # its only parameter
        opening.callback(os.close, inherited)
        opening.enter_context(orphans_come_to_us())
        self._listeners = opening.enter_context(contextlib.closing(_Listeners(self)))
        self._start_victim()
        opening.callback(self._end_victim)

    def _lay_out(self) -> None:
        shutil.rmtree(self.outside, ignore_errors=True)
        self.outside.mkdir()
        self.outside.chmod(0o777)
        kept = self.outside / "kept"
        kept.write_text(_KEPT, "utf-8")
        kept.chmod(0o666)

    def _write_table(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"planted": [1, 2, 3]}), self.table_file)
        self.table_file.chmod(0o666)

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
        address, number = self.victim.stdout.readline().split()
        self.victim_address, self.victim_descriptor = int(address), int(number)

    def _end_victim(self) -> None:
        self.victim.kill()  # an attack may have stopped it, so that it hears nothing else
        with self.victim:
            pass

    def facts(self, attack: Attack) -> dict[str, object]:
        """What the attack is told: where things are, never what is in them."""
        return {
            "mark": self.mark,
            "host": _HOST,
            "tcp_port": self._listeners.tcp_port,
            "udp_port": self._listeners.udp_port,
            "unix_path": self._listeners.unix_path,
            "abstract": self.mark,
            "secret_file": str(self.secret_file),
            "secret_name": self.secret_name,
            "shm_file": str(self.shm_file),
            "outside": str(self.outside),
            "kept_file": str(self.outside / "kept"),
            "table_file": str(self.table_file),
            "parent": os.getpid(),
            "victim": self.victim.pid,
            "victim_address": self.victim_address,
            "victim_descriptor": self.victim_descriptor,
            **attack.sizes,
        }

    def attack(self, sandbox: Sandbox, attack: Attack) -> Evidence:
        """Make it, and gather what shows whether it succeeded."""
        others = {**attack.sizes, "mark": "-", "neighbour": self.neighbour}
        if attack.before:
            sandbox.run(with_prelude(attack.before, others), limits=attack.limits)
        before = descendants()
        script = with_prelude(attack.script, self.facts(attack))
        broke, outcome, beside = None, None, None
        if attack.beside:
            code = with_prelude(attack.beside, others)
            beside = threading.Thread(target=sandbox.run, args=(code,))
            beside.start()
            time.sleep(_SECONDS_UNTIL_BESIDE)
        started = time.monotonic()
        try:
            tables = [Supplied("planted", self.table_file)]
            outcome = sandbox.run(script, tables, limits=attack.limits)
        except Exception as error:  # noqa: BLE001  # that it fails at all is the finding
            broke = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - started
        if beside is not None:
            beside.join()
        return Evidence(
            attack=attack,
            outcome=outcome,
            broke=broke,
            mark=self.mark,
            secrets=(self.secret, self.neighbour),
            seconds=seconds,
            visible=tuple(self._changes(before)),
        )

    def _changes(self, before: set[int]) -> Iterator[str]:
        """What happened out here, and is put right again for the next attack."""
        for name in self._listeners.reached():
            yield f"the {name} listener was reached"
        if self.victim.poll() is not None:
            self._end_victim()
            self._start_victim()
            yield "another process was killed"
        elif stayed := left_over(before):
            end(stayed)
            yield f"{len(stayed)} processes stayed"
        if not self._is_laid_out():
            self._lay_out()
            yield "files outside were changed"
        if self.secret_file.read_text("utf-8") != self.secret:
            self.secret_file.write_text(self.secret, "utf-8")
            yield "a file of the user was changed"
        if _hash(self.table_file) != self._table_hash:
            self._write_table()
            yield "the table was changed"
        if self._remove_marked(keep=self.shm_file):
            yield "files were written to folders of this machine"

    def _is_laid_out(self) -> bool:
        kept = self.outside / "kept"
        try:
            rights = kept.stat().st_mode & 0o777
            same = (rights, kept.read_text("utf-8")) == (0o666, _KEPT)
            return same and list(self.outside.iterdir()) == [kept]
        except OSError:
            return False

    def _remove_marked(self, *, keep: Path | None = None) -> list[Path]:
        """What an attack managed to leave on this machine under the mark that it was given."""
        removed = []
        for folder in _OPEN_FOLDERS:
            with contextlib.suppress(OSError):  # a folder that we may not see, nor may the attack
                for place in Path(folder).expanduser().glob(f"{self.mark}*"):
                    if place != keep:
                        place.unlink(missing_ok=True)
                        removed.append(place)
        return removed


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


class _Listeners:
    """A TCP, a UDP and two unix sockets. The kernel takes connections for them: after an attack it
    is seen which of them it reached."""

    def __init__(self, world: World) -> None:
        self.unix_path = str(world.folder / "door")
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind((_HOST, 0))
        self._sockets = {"TCP": socket.create_server((_HOST, 0)), "UDP": datagrams}
        for name, address in (("unix", self.unix_path), ("abstract unix", "\0" + world.mark)):
            self._sockets[name] = socket.socket(socket.AF_UNIX)
            self._sockets[name].bind(address)
            self._sockets[name].listen()
        Path(self.unix_path).chmod(0o777)
        for each in self._sockets.values():
            each.setblocking(False)  # noqa: FBT003  # its only parameter
        self.tcp_port = int(self._sockets["TCP"].getsockname()[1])
        self.udp_port = int(datagrams.getsockname()[1])

    def reached(self) -> Iterator[str]:
        """Since it was last asked."""
        for name, each in self._sockets.items():
            with contextlib.suppress(BlockingIOError):
                while True:
                    if name == "UDP":
                        each.recv(1024)
                    else:
                        each.accept()[0].close()
                    yield name

    def close(self) -> None:
        for each in self._sockets.values():
            each.close()


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
    """Living processes below ours."""
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
    """Processes that were not there before, after some seconds in which to go."""
    until = time.monotonic() + within
    while (stayed := descendants() - before) and time.monotonic() <= until:
        time.sleep(_PAUSE_SECONDS)
    return stayed


def end(processes: set[int]) -> None:
    """Kill what stayed, and reap it where it has become ours."""
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)
