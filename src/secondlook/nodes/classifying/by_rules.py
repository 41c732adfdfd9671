"""The kind of a question by rules: one sign that it needs several facts is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes.classifying.signs import (
    Wording,
    asks_twice,
    compares,
    has_parts,
    leaves_doubt,
    tells_much,
)

if TYPE_CHECKING:
    from secondlook.answer import QueryType

LONGEST: Final = 4000
"""Characters. What is longer tells of many things; nobody needs to look for signs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: QueryType
    why: str


def classified(question: str, *, choices: int) -> Verdict:
    """`question` without its choices, of which only the number is known here."""
    if len(question) > LONGEST:
        return Verdict("multi_hop", f"it is {len(question)} characters long")
    wording = Wording.of(question)
    found = (
        has_parts(wording)
        or asks_twice(wording)
        or compares(wording)
        or tells_much(wording)
        or (None if choices else leaves_doubt(wording))
    )
    if found:
        return Verdict("multi_hop", found)
    return Verdict("simple", "nothing speaks for more than one concept")
