"""Outcomes of code, kept with the run: the state only names them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from secondlook.sandbox import outcome_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.sandbox import Outcome
    from secondlook.state import AttemptData


def keep(context: Context, code: str, outcome: Outcome) -> str:
    """The name under which it is found again. Equal code has one outcome in a run."""
    name = f"outcome-{hashlib.sha256(code.encode()).hexdigest()[:16]}"
    if context.kept is not None:
        context.kept.put(name, json.dumps(asdict(outcome)))
    return name


def kept(context: Context, name: str | None) -> Outcome | None:
    """None where nothing was kept under that name."""
    text = context.kept.get(name) if context.kept is not None and name else None
    return None if text is None else outcome_from(json.loads(text))


def last_outcome(context: Context, attempts: Sequence[AttemptData]) -> Outcome | None:
    return kept(context, attempts[-1]["kept"]) if attempts else None
