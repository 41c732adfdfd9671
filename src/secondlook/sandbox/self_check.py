"""Whether a sandbox holds here: every attack is made, and judged by what happened outside too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.errors import SandboxError
from secondlook.sandbox.attacks import ATTACKS, Attack, Evidence, achieved, how_blocked
from secondlook.sandbox.opening import Choice, available, open_sandbox
from secondlook.sandbox.port import Supplied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.sandbox.attacks.world import World
    from secondlook.sandbox.port import Sandbox

Which = Literal["all", "quick"]
_CONTROL = "print(6 * 7)\nresult = {'rows': len(df), 'value': float(df['planted'].sum())}"
_EXPECTED = {"rows": 3, "value": 6.0}


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


def self_check(
    backend: Choice = "auto",
    *,
    which: Which = "all",
    progress: Callable[[int, int, Attack], None] | None = None,
) -> Report:
    """Attack a sandbox of this kind. Raises SandboxError where none can be opened or where it
    cannot run even honest code. While it runs, a made-up variable stands in our environment."""
    chosen = [attack for attack in ATTACKS if which == "all" or attack.quick]
    if not any(each.usable and backend in ("auto", each.name) for each in available()):
        # Nothing is planted where nothing can be attacked: this says why.
        open_sandbox(backend).close()
    from secondlook.sandbox.attacks.world import World

    with World() as world:
        sandbox = open_sandbox(backend)
        try:
            return attacked(sandbox, world, chosen, progress=progress)
        finally:
            sandbox.close()


def quick_check(backend: Choice = "auto", *, when_made: Callable[[], None] | None = None) -> Report:
    """The short check, made once in each run of the machine and remembered."""
    from secondlook.sandbox.attacks import remembered

    name = f"sandbox-{backend}"
    report = _read(remembered.recall(name))
    if report is None:
        if when_made is not None:
            when_made()
        report = self_check(backend, which="quick")
        remembered.remember(name, asdict(report))
    return report


def _read(kept: object) -> Report | None:
    try:
        attacks = tuple(Attacked(**each) for each in kept["attacks"])  # type: ignore[index]
        return Report(kept["backend"], attacks)  # type: ignore[index]
    except (TypeError, KeyError):
        return None


def attacked(
    sandbox: Sandbox,
    world: World,
    attacks: Sequence[Attack] = ATTACKS,
    *,
    progress: Callable[[int, int, Attack], None] | None = None,
) -> Report:
    """Make these attacks on this sandbox, one after the other. It should have been opened within
    the world: its server could have inherited what was planted."""
    _must_work(sandbox, world)
    found = []
    for number, attack in enumerate(attacks):
        if progress is not None:
            progress(number, len(attacks), attack)
        found.append(judged(world.attack(sandbox, attack)))
    _must_work(sandbox, world)
    return Report(sandbox.name, tuple(found))


def judged(evidence: Evidence) -> Attacked:
    success = achieved(evidence)
    how = how_blocked(evidence) if success is None else success
    return Attacked(evidence.attack.name, success is None, how)


def _must_work(sandbox: Sandbox, world: World) -> None:
    """A sandbox that runs nothing blocks everything: honest code must still run."""
    outcome = sandbox.run(_CONTROL, [Supplied("planted", world.table_file)])
    if (outcome.result, outcome.stdout.strip()) != (_EXPECTED, "42"):
        raise SandboxError(
            f"The sandbox {sandbox.name!r} does not run honest code: {outcome!r}",
            hint="Install what it needs: pip install 'secondlook[analyst]'",
        )
