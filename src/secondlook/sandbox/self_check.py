"""Whether a sandbox holds here: attacks are made on it, and judged by what happened outside too."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import SandboxError
from secondlook.sandbox import Choice, attacks, available, open_sandbox
from secondlook.sandbox.port import Supplied
from secondlook.sandbox.probes import PROBES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.sandbox.attacks import Attack, Evidence, World
    from secondlook.sandbox.port import Sandbox

_CONTROL = "print(6 * 7)\nresult = {'rows': len(df), 'value': float(df['planted'].sum())}"
_EXPECTED = {"rows": 3, "value": 6.0}
_PACKAGE = Path(__file__).parent
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Attacked:
    name: str
    blocked: bool
    how: str
    """By what it was stopped, or what it achieved."""


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


def self_check(backend: Choice = "auto", chosen: Sequence[Attack] = PROBES) -> Report:
    """Attack a sandbox of this kind. Raises SandboxError where none can be opened or where it
    cannot run even honest code. While it runs, a made-up variable stands in our environment."""
    if not any(each.usable and backend in ("auto", each.name) for each in available()):
        # Nothing is planted where nothing can be attacked: this says why.
        open_sandbox(backend).close()
    with attacks.World() as world, contextlib.closing(open_sandbox(backend)) as sandbox:
        return attacked(sandbox, world, chosen)


def attacked(sandbox: Sandbox, world: World, chosen: Sequence[Attack] = PROBES) -> Report:
    """Make these attacks on this sandbox, one after the other. It should have been opened within
    the world: its server could have inherited what was planted."""
    _must_work(sandbox, world)
    found = [judged(world.attack(sandbox, attack)) for attack in chosen]
    _must_work(sandbox, world)
    return Report(sandbox.name, tuple(found))


def judged(evidence: Evidence) -> Attacked:
    success = attacks.achieved(evidence)
    how = attacks.how_blocked(evidence) if success is None else success
    return Attacked(evidence.attack.name, success is None, how)


def _must_work(sandbox: Sandbox, world: World) -> None:
    """A sandbox that runs nothing blocks everything: honest code must still run."""
    outcome = sandbox.run(_CONTROL, [Supplied("planted", world.table_file)])
    if (outcome.result, outcome.stdout.strip()) != (_EXPECTED, "42"):
        raise SandboxError(
            f"The sandbox {sandbox.name!r} does not run honest code: {outcome!r}",
            hint="secondlook doctor says which packages are missing.",
        )


def remembered_check(
    backend: Choice = "auto", *, when_made: Callable[[], None] | None = None
) -> Report:
    """The check, made once until the machine starts anew or our code changes."""
    name = f"sandbox-{backend}"
    kept: Any = recall(name)
    with contextlib.suppress(TypeError, KeyError):
        return Report(kept["backend"], tuple(Attacked(**each) for each in kept["attacks"]))
    if when_made is not None:
        when_made()
    report = self_check(backend)
    remember(name, asdict(report))
    return report


def state_of_machine() -> str:
    """Changes whenever a sandbox might hold that did not, or no longer does."""
    boot = _BOOT.read_text("ascii") if _BOOT.exists() else ""
    ours = [(str(file), file.stat().st_mtime_ns) for file in sorted(_PACKAGE.rglob("*.py"))]
    facts = (boot, os.getuid(), sys.executable, sys.version, ours)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def recall(name: str) -> object:
    """What was kept under that name in this state; None where nothing was."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads((_folder() / f"{name}.json").read_text("utf-8"))
        return kept["value"] if kept["state"] == state_of_machine() else None
    return None


def remember(name: str, value: object) -> None:
    with contextlib.suppress(OSError):
        folder = _folder()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
            json.dump({"state": state_of_machine(), "value": value}, file)
            Path(file.name).replace(folder / f"{name}.json")


def _folder() -> Path:
    """One that nobody else can write to, and that does not outlive the machine's run. Raises
    OSError where there is none."""
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"secondlook-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    if not private or found.st_uid != os.getuid():
        raise PermissionError(f"others can write to {folder}")
    return folder
