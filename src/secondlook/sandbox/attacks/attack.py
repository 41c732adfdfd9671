"""One attack: a script that tries something, and what would show that it succeeded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from secondlook.sandbox.port import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.sandbox.attacks.evidence import Evidence

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
