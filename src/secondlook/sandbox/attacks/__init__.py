"""What a sandbox must withstand. Each attack can succeed where nothing confines it."""

from __future__ import annotations

from secondlook.sandbox.attacks.attack import Attack
from secondlook.sandbox.attacks.endless import ENDLESS
from secondlook.sandbox.attacks.evidence import Evidence, achieved, how_blocked
from secondlook.sandbox.attacks.files import FILES
from secondlook.sandbox.attacks.jobs import JOBS
from secondlook.sandbox.attacks.kernel import KERNEL
from secondlook.sandbox.attacks.memory import MEMORY
from secondlook.sandbox.attacks.network import NETWORK
from secondlook.sandbox.attacks.output import OUTPUT
from secondlook.sandbox.attacks.processes import PROCESSES

ATTACKS: tuple[Attack, ...] = (
    *NETWORK,
    *FILES,
    *PROCESSES,
    *MEMORY,
    *ENDLESS,
    *OUTPUT,
    *KERNEL,
    *JOBS,
)

__all__ = ["ATTACKS", "Attack", "Evidence", "achieved", "how_blocked"]
