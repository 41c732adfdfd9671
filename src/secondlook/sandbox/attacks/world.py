"""What an attack could reach: planted secrets, doors, another process, files to change."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.processes import APART
from secondlook.sandbox.attacks.evidence import Evidence
from secondlook.sandbox.attacks.listening import HOST, Listeners
from secondlook.sandbox.attacks.prelude import with_prelude
from secondlook.sandbox.attacks.watching import (
    MemoryWatch,
    descendants,
    end,
    left_over,
    orphans_come_to_us,
)
from secondlook.sandbox.port import Supplied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from secondlook.sandbox.attacks.attack import Attack
    from secondlook.sandbox.port import Outcome, Sandbox

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
