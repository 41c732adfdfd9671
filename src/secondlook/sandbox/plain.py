"""The backend `plain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import SandboxError
from secondlook.sandbox.port import Verdict

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits, Sandbox


def verdict() -> Verdict:
    return Verdict("plain", usable=False, why="it is not built yet")


def start(limits: Limits) -> Sandbox:
    raise SandboxError(f"It is not built yet ({limits}).")
