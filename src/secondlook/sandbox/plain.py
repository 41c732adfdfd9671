"""The backend `plain`: no namespaces, for machines that refuse them, and no place to write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.sandbox.probe import probed

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits, Sandbox, Verdict


def verdict() -> Verdict:
    return probed("plain")


def start(limits: Limits) -> Sandbox:
    from secondlook.sandbox.forked import ForkingSandbox

    return ForkingSandbox("plain", limits)
