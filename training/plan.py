"""How a model is made, as data: `training/recipes/NAME.json`.

Each part holds the options of one command by their names, so that a number is changed here and
nowhere else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Options: TypeAlias = Mapping[str, str | float | list[int]]

RECIPES = Path(__file__).parent / "recipes"


@dataclass(frozen=True, slots=True)
class Plan:
    """The recipe of a reader."""

    name: str
    """What the product will call the model."""
    rows: Options
    """Of `training.prepare`."""
    teachers: Mapping[str, Options]
    """Of `training.train`, by the name of the checkpoint."""
    taught: Options
    """Of `training.teach`."""
    student: Options
    """Of `training.train`, for the model that is kept."""


def read_plan(file: Path) -> Plan:
    try:
        return Plan(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as fault:
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
