"""Why code is not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "syntax",
    "import",
    "files",
    "insides",
    "invented",
    "no_result",
    "not_from_tables",
    "unknown_table",
    "unknown_column",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    rule: Rule
    message: str
    """For the model: what is wrong, and what to do instead."""
    line: int | None = None
    """Of the code, from 1."""
