"""An outcome as plain data and back: `asdict` writes it, this reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secondlook.sandbox.port import Failure, Figure, Frame, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


def outcome_from(data: Mapping[str, Any]) -> Outcome:
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
