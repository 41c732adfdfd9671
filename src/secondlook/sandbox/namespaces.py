"""The backend `namespaces`: every job in a world of its own, with a private folder in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.sandbox.probe import probed

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits, Sandbox, Verdict


def verdict() -> Verdict:
    return probed("namespaces")


def start(limits: Limits) -> Sandbox:
    from secondlook.sandbox.forked import ForkingSandbox

    return ForkingSandbox("namespaces", limits)
