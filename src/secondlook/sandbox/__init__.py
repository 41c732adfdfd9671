"""Runs Python that nobody trusts. Usable alone: it knows nothing of questions or libraries."""

from __future__ import annotations

from secondlook.sandbox.limits import limits_for
from secondlook.sandbox.opening import available, open_sandbox
from secondlook.sandbox.port import (
    Failure,
    Figure,
    Frame,
    Limits,
    Outcome,
    Plain,
    Sandbox,
    Supplied,
    Variation,
    Verdict,
)
from secondlook.sandbox.stored import outcome_from

__all__ = [
    "Failure",
    "Figure",
    "Frame",
    "Limits",
    "Outcome",
    "Plain",
    "Sandbox",
    "Supplied",
    "Variation",
    "Verdict",
    "available",
    "limits_for",
    "open_sandbox",
    "outcome_from",
]
