"""Outcomes of code, kept with the run: the state only names them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from secondlook.sandbox import Failure, Figure, Frame, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
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
    return None if text is None else _outcome(json.loads(text))


def last_outcome(context: Context, attempts: Sequence[AttemptData]) -> Outcome | None:
    return kept(context, attempts[-1]["kept"]) if attempts else None


def _outcome(data: Mapping[str, Any]) -> Outcome:
    failure = data["failure"]
    return replace(
        Outcome(**{**data, "frame": None, "figures": (), "failure": None, "frames": {}}),
        frame=_frame(data["frame"]),
        figures=tuple(Figure(**figure) for figure in data["figures"]),
        failure=None if failure is None else Failure(**failure),
        frames={name: frame for name, one in data["frames"].items() if (frame := _frame(one))},
    )


def _frame(data: Mapping[str, Any] | None) -> Frame | None:
    if data is None:
        return None
    return Frame(
        columns=tuple(data["columns"]),
        rows=tuple(tuple(row) for row in data["rows"]),
        total_rows=data["total_rows"],
    )
