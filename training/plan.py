"""How a model is made, as data: `training/recipes/NAME.json`.

Each part holds the options of one command by their names, so that a number is changed here and
nowhere else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Options: TypeAlias = Mapping[str, str | float | list[int]]

RECIPES = Path(__file__).parent / "recipes"
TEACHER = "teacher"


@dataclass(frozen=True, slots=True)
class Run:
    """One model that is trained on the way."""

    options: Options
    """Of `training.train`."""
    start: str = ""
    """The run whose checkpoint it starts from; TEACHER: the larger encoder; empty: the base."""
    teachers: Sequence[str] = ()
    """The runs it learns from, beside the labels."""
    ask: Options = field(default_factory=dict)
    """Of `training.teach`."""
    note: str = ""
    """What the record of the shipped model lacks, or has otherwise; told in its card."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The recipe of a reader."""

    name: str
    """What the product will call the model."""
    rows: Options
    """Of `training.prepare`."""
    runs: Mapping[str, Run]
    """In the order they are made; the last one is kept."""
    blend: float = 1.0
    """How much the kept run's weights count; the rest are those of the base."""
    export: Options = field(default_factory=dict)
    """Of `training.export.build`."""

    @property
    def kept(self) -> str:
        return list(self.runs)[-1]


def read_plan(file: Path) -> Plan:
    try:
        found = json.loads(file.read_text("utf-8"))
        runs = {name: Run(**run) for name, run in found.pop("runs").items()}
        return Plan(runs=runs, **found)
    except (OSError, ValueError, TypeError, KeyError) as fault:
        raise UsageError(
            f"{str(file)!r} is no recipe: {fault}",
            hint=f"{str(RECIPES / 'reader.json')!r} shows the form.",
        ) from fault


def arguments(options: Options) -> list[str]:
    """{"minutes": 6.2, "glances": [4]} -> --minutes 6.2 --glances 4"""
    made: list[str] = []
    for name, value in options.items():
        values: list[Any] = value if isinstance(value, list) else [value]
        made += [f"--{name}", *map(str, values)]
    return made
