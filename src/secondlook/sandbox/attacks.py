"""One attack: a script that tries something, and what would show that it succeeded."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from secondlook.processes import APART
from secondlook.sandbox.port import Limits, Supplied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from secondlook.sandbox.port import Outcome, Sandbox

Group = Literal["network", "files", "processes", "memory", "endless", "output", "kernel", "jobs"]
MEGABYTE = 1_048_576
CHECK_LIMITS = Limits(
    seconds=3.0,
    address_space=1_536 * MEGABYTE,
    resident=400 * MEGABYTE,
    scratch_bytes=4 * MEGABYTE,
    scratch_files=100,
    stdout_bytes=65_536,
    reply_bytes=4 * MEGABYTE,
)
"""Small, so that what must be bounded reaches its bound soon."""
SHORT_LIMITS = Limits(
    seconds=0.7,
    address_space=CHECK_LIMITS.address_space,
    resident=CHECK_LIMITS.resident,
    scratch_bytes=CHECK_LIMITS.scratch_bytes,
    scratch_files=CHECK_LIMITS.scratch_files,
    reply_bytes=CHECK_LIMITS.reply_bytes,
)
"""For what only the deadline ends."""


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    group: Group
    what: str
    """What it tries, as a clause: "connects to a listener on this machine"."""
    script: str
    """Python that finds `world` (addresses and names, no secrets), `attempt(what, function)`,
    `reached(what)` and `syscall(name, *arguments)`."""
    limits: Limits = CHECK_LIMITS
    judges: tuple[Callable[[Evidence], str | None], ...] = ()
    """Beside those that every attack is judged by. Each says what was achieved, or None."""
    quick: bool = False
    """Part of the short check of `doctor`."""
    provable: bool = True
    """Without confinement it succeeds here, harmlessly: the tests run it so, to see that it can."""
    before: str | None = None
    """A job that ran just before it."""
    beside: str | None = None
    """A job that runs at the same time."""
    sizes: dict[str, int] = field(default_factory=dict)
    """How much it asks for; the tests ask for less where nothing confines it."""


# What is known after an attack: what the sandbox said, and what the world around it shows.

_MISTAKES = re.compile(r"\b(?:NameError|SyntaxError|TypeError|AttributeError|UnboundLocalError)\b")
_SECONDS_OF_GRACE = 15.0
"""Until a job is gone after its deadline, on a machine that is busy."""
_MOST_FAILURE = 1_000_000
_MOST_SAID = 160


@dataclass(frozen=True, slots=True)
class Evidence:
    attack: Attack
    outcome: Outcome | None
    """None where `run` itself failed."""
    broke: str | None
    """How it failed."""
    mark: str
    secrets: tuple[str, ...]
    seconds: float
    """Of the whole run, by our own clock."""
    peak_bytes: int
    """Most that one process of the sandbox held, as seen from outside."""
    parent_bytes: int
    """By how much our own process grew."""
    visible: tuple[str, ...]
    """What happened outside: a listener was reached, a file appeared, a process ended or stayed."""

    def lines(self, kind: str) -> list[str]:
        start = f"{self.mark} {kind}"
        text = self.outcome.stdout if self.outcome else ""
        return [line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)]


def achieved(evidence: Evidence) -> str | None:
    """What the attack achieved, or why it proves nothing; None where it was blocked."""
    judges = (_ran, *evidence.attack.judges, _visible, _leaked, _boasted, _bounded)
    return next((said for judge in judges if (said := judge(evidence))), None)


def how_blocked(evidence: Evidence) -> str:
    """By what it was stopped, in a line."""
    outcome = evidence.outcome
    if outcome is None:
        return evidence.broke or ""
    refusals = evidence.lines(REFUSED)
    if outcome.failure is not None:
        said = f"{outcome.failure.kind}: {outcome.failure.message}"
        said = said if outcome.status == "error" else f"{outcome.status}: {said}"
    elif outcome.status != "ok":
        said = outcome.status
    elif refusals:
        said = refusals[-1].partition(": ")[2]  # without what was tried
    elif evidence.attack.group == "output":
        said = "what came back was within its bounds"
    else:
        said = "it ran to its end and achieved nothing"
    flat = " ".join(said.split())
    return flat if len(flat) <= _MOST_SAID else f"{flat[: _MOST_SAID - 3]}..."


def _ran(evidence: Evidence) -> str | None:
    """An attack that was never made says nothing about the sandbox."""
    if evidence.outcome is None:
        return f"the sandbox itself broke: {evidence.broke}"
    if not evidence.lines(BEGUN):
        return f"it could not be tried: {how_blocked(evidence)}"
    failure = evidence.outcome.failure
    mistakes = [line for line in evidence.lines(REFUSED) if _MISTAKES.search(line)]
    if failure is not None and _MISTAKES.fullmatch(failure.kind):
        mistakes.append(f"{failure.kind}: {failure.message}")
    return f"it has a mistake: {mistakes[0]}" if mistakes else None


def _visible(evidence: Evidence) -> str | None:
    return "; ".join(evidence.visible) or None


def _leaked(evidence: Evidence) -> str | None:
    text = repr(evidence.outcome)
    return "it read what was secret" if any(one in text for one in evidence.secrets) else None


def _boasted(evidence: Evidence) -> str | None:
    return "; ".join(evidence.lines(REACHED)) or None


def _bounded(evidence: Evidence) -> str | None:
    limits = evidence.attack.limits
    outcome = evidence.outcome
    said = outcome.failure.message if outcome and outcome.failure else ""
    if evidence.seconds > limits.seconds + _SECONDS_OF_GRACE:
        return f"it ran for {evidence.seconds:.0f} s"
    if evidence.peak_bytes > limits.address_space:
        return f"it held {evidence.peak_bytes:,} bytes"
    if len(said) > _MOST_FAILURE:
        return f"its error has {len(said):,} characters"
    return None


def too_much_said(evidence: Evidence) -> str | None:
    """More came back than allowed, or our own process grew by it."""
    outcome, limits = evidence.outcome, evidence.attack.limits
    if outcome is None:
        return None
    if len(outcome.stdout) > limits.stdout_bytes:
        return f"{len(outcome.stdout):,} characters of output came back"
    drawn = sum(len(figure.data) for figure in outcome.figures)
    if drawn > limits.reply_bytes or len(repr(outcome.result)) > 2 * limits.reply_bytes:
        return "a reply above the limit came back"
    most = 16 * limits.reply_bytes + limits.stdout_bytes
    grown = evidence.parent_bytes > most
    return f"our own process grew by {evidence.parent_bytes:,} bytes" if grown else None


def not_ended(evidence: Evidence) -> str | None:
    """What would go on for ever must be ended, and be said to have been."""
    ok = evidence.outcome is not None and evidence.outcome.status == "ok"
    return "it ran to its end" if ok else None


def forged(evidence: Evidence) -> str | None:
    outcome = evidence.outcome
    if outcome is None:
        return None
    taken = f"forged {evidence.mark}" in f"{outcome.result!r}{outcome.figures!r}{outcome.frames!r}"
    return "a reply that the code wrote itself was taken for the sandbox's" if taken else None


# What stands before every attack's own lines: its facts, and how it says what it achieved.

BEGUN = "begun"
REACHED = "reached"
REFUSED = "refused"
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

NUMBERS = {
    "x86_64": dict(openat=257, socket=41, clone=56, vfork=58, fork=57, execve=59, execveat=322,
        ptrace=101, kill=62, tgkill=234, mount=165, umount2=166, unshare=272, setns=308, chroot=161,
        pivot_root=155, bpf=321, userfaultfd=323, add_key=248, keyctl=250, perf_event_open=298,
        memfd_create=319, shmget=29, open_by_handle_at=304, io_uring_setup=425,
        process_vm_readv=310, pidfd_open=434, pidfd_getfd=438, syslog=103, init_module=175,
        kexec_load=246, clone3=435, capget=125, symlinkat=266, mknodat=259, process_madvise=440),
    "aarch64": dict(openat=56, socket=198, clone=220, execve=221, execveat=281, ptrace=117,
        kill=129, tgkill=131, mount=40, umount2=39, unshare=97, setns=268, chroot=51, pivot_root=41,
        bpf=280, userfaultfd=282, add_key=217, keyctl=219, perf_event_open=241, memfd_create=279,
        shmget=194, open_by_handle_at=265, io_uring_setup=425, process_vm_readv=270,
        pidfd_open=434, pidfd_getfd=438, syslog=116, init_module=105, kexec_load=104, clone3=435,
        capget=90, symlinkat=36, mknodat=33, process_madvise=440),
}

def syscall(name, *arguments):
    import ctypes, os, platform
    number = name if isinstance(name, int) else NUMBERS[platform.machine()][name]
    c = ctypes.CDLL(None, use_errno=True)
    c.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    value = c.syscall(ctypes.c_long(number), *plain)
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""


def with_prelude(script: str, world: Mapping[str, object]) -> str:
    """`world` holds texts and numbers alone, which Python writes as it reads them."""
    return f"world = {dict(world)!r}\n{_LINES}\n{script}"


# What an attack could reach: planted secrets, doors, another process, files to change.

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
        self._write_secret()
        self.shm_file = _SHARED_MEMORY / f"{self.mark}-secret"
        if _SHARED_MEMORY.is_dir():
            self.shm_file.write_text(self.secret, "utf-8")
        opening.callback(self._remove_marked)
        self.outside = self.folder / "outside"
        self._lay_out()
        self.table_file = self.folder / "table.parquet"
        _write_table(self.table_file)
        self._table_hash = _hash(self.table_file)
        os.environ[self.secret_name] = self.secret
        opening.callback(os.environ.pop, self.secret_name, None)
        opening.callback(os.close, _inheritable(self.secret_file))
        opening.enter_context(orphans_come_to_us())
        self._listeners = opening.enter_context(Listeners(self.folder, self.mark))
        self._start_victim()
        opening.callback(self._end_victim)

    def _write_secret(self) -> None:
        self.secret_file.write_text(self.secret, "utf-8")

    def _lay_out(self) -> None:
        shutil.rmtree(self.outside, ignore_errors=True)
        self.outside.mkdir()
        self.outside.chmod(0o777)
        kept = self.outside / "kept"
        kept.write_text(_KEPT, "utf-8")
        kept.chmod(0o666)

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
            "host": HOST,
            "tcp_port": self._listeners.tcp_port,
            "udp_port": self._listeners.udp_port,
            "unix_path": self._listeners.unix_path,
            "abstract": self._listeners.abstract,
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

    def script(self, attack: Attack) -> str:
        return with_prelude(attack.script, self.facts(attack))

    def attack(self, sandbox: Sandbox, attack: Attack) -> Evidence:
        """Make it, and gather what shows whether it succeeded."""
        if attack.before:
            sandbox.run(self._of_neighbour(attack, attack.before), limits=attack.limits)
        before = descendants()
        broke, outcome = None, None
        with MemoryWatch(ignoring={self.victim.pid}) as watch, self._beside(sandbox, attack):
            started = time.monotonic()
            try:
                outcome = self._run(sandbox, attack)
            except Exception as error:  # noqa: BLE001  # that it fails at all is the finding
                broke = f"{type(error).__name__}: {error}"
            seconds = time.monotonic() - started
        return Evidence(
            attack=attack,
            outcome=outcome,
            broke=broke,
            mark=self.mark,
            secrets=(self.secret, self.neighbour),
            seconds=seconds,
            peak_bytes=watch.peak,
            parent_bytes=watch.grown,
            visible=tuple(self.changes(before)),
        )

    def _run(self, sandbox: Sandbox, attack: Attack) -> Outcome:
        tables = [Supplied("planted", self.table_file)]
        return sandbox.run(self.script(attack), tables, limits=attack.limits)

    def _of_neighbour(self, attack: Attack, script: str) -> str:
        return with_prelude(script, {**attack.sizes, "mark": "-", "neighbour": self.neighbour})

    @contextlib.contextmanager
    def _beside(self, sandbox: Sandbox, attack: Attack) -> Iterator[None]:
        if not attack.beside:
            yield
            return
        code = self._of_neighbour(attack, attack.beside)
        beside = threading.Thread(target=sandbox.run, args=(code,))
        beside.start()
        time.sleep(_SECONDS_UNTIL_BESIDE)
        try:
            yield
        finally:
            beside.join()

    def changes(self, before: set[int]) -> Iterator[str]:
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
            self._write_secret()
            yield "a file of the user was changed"
        if _hash(self.table_file) != self._table_hash:
            _write_table(self.table_file)
            yield "the table was changed"
        if self._remove_marked(keep=self.shm_file):
            yield "files were written to folders of this machine"

    def _is_laid_out(self) -> bool:
        kept = self.outside / "kept"
        try:
            rights = kept.stat().st_mode & 0o777
            return list(self.outside.iterdir()) == [kept] and (
                (rights, kept.read_text("utf-8")) == (0o666, _KEPT)
            )
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


def _inheritable(file: Path) -> int:
    number = os.open(file, os.O_RDONLY)
    os.set_inheritable(number, True)  # noqa: FBT003  # its only parameter
    return number


def _write_table(file: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"planted": [1, 2, 3]}), file)
    file.chmod(0o666)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


# Doors on this machine that an attack would knock at: it is seen from outside whether it did.

HOST = "127.0.0.1"


class Listeners:
    """A TCP, a UDP and two unix sockets, and who of them was reached."""

    def __init__(self, folder: Path, name: str) -> None:
        self._reached: list[str] = []
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self.unix_path = str(folder / "door")
        self.abstract = name
        self._sockets = {
            "TCP": socket.create_server((HOST, 0)),
            "UDP": _datagrams(),
            "unix": _unix(self.unix_path),
            "abstract unix": _unix("\0" + name),
        }
        Path(self.unix_path).chmod(0o777)
        self._stopping, self._stop = socket.socketpair()
        for said, each in self._sockets.items():
            each.setblocking(False)  # noqa: FBT003  # its only parameter
            self._selector.register(each, selectors.EVENT_READ, said)
        self._selector.register(self._stopping, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def tcp_port(self) -> int:
        return int(self._sockets["TCP"].getsockname()[1])

    @property
    def udp_port(self) -> int:
        return int(self._sockets["UDP"].getsockname()[1])

    def reached(self) -> list[str]:
        """Since it was last asked."""
        with self._lock:
            names, self._reached = self._reached, []
        return names

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                self._answer(self._sockets[key.data], key.data)

    def _answer(self, door: socket.socket, name: str) -> None:
        # Whoever knocked may be gone again: that it knocked is what counts.
        with contextlib.suppress(OSError):
            if name == "UDP":
                door.recvfrom(1024)
            else:
                door.accept()[0].close()
        with self._lock:
            self._reached.append(name)

    def close(self) -> None:
        self._stop.send(b".")
        self._thread.join()
        self._selector.close()
        for each in (*self._sockets.values(), self._stop, self._stopping):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _datagrams() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((HOST, 0))
    return made


def _unix(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(address)
    made.listen()
    return made


# What the processes below ours do while an attack runs, seen through /proc.

_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.05
_GONE_WITHIN_SECONDS = 3.0
_ZOMBIE = "Z"


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
    parents = {pid: parent for pid, (parent, state) in _processes() if state != _ZOMBIE}
    found: set[int] = set()
    fresh = {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def left_over(before: set[int], *, within: float = _GONE_WITHIN_SECONDS) -> set[int]:
    """Processes that were not there before, after a moment in which to go."""
    until = time.monotonic() + within
    while True:
        stayed = descendants() - before
        if not stayed or time.monotonic() > until:
            return stayed
        time.sleep(_PAUSE_SECONDS)


def end(processes: set[int]) -> None:
    """Kill what stayed, and reap it where it has become ours."""
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)


def resident_bytes(pid: int | None = None) -> int:
    """Memory that a process really holds; 0 where it is gone."""
    try:
        pages = Path(f"/proc/{pid or 'self'}/statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """The most that a process below ours, and ours itself, held meanwhile."""

    def __init__(self, *, ignoring: set[int]) -> None:
        self._ignored = ignoring
        self._at_first = resident_bytes()
        self._ended = threading.Event()
        self.peak = 0
        self.grown = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self._look()
            if self._ended.wait(_PAUSE_SECONDS):
                return

    def _look(self) -> None:
        held = [resident_bytes(pid) for pid in descendants() - self._ignored]
        self.peak = max([self.peak, *held])
        self.grown = max(self.grown, resident_bytes() - self._at_first)


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = (folder / "stat").read_text("utf-8", "replace")
                # The name of the program stands in brackets and may hold anything.
                state, parent = text.rpartition(")")[2].split()[:2]
                yield int(folder.name), (int(parent), state)
