"""What models are told: one file per node, and the marks that keep data apart from it.

`answer.md` and its neighbours are front matter and messages with `$name` holes. `docs/models.md`
says how to write one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.prompts.marks import (
    CONTROL_MARK,
    EVIDENCE_MARK,
    EvidenceMarks,
    evidence_marks,
    without_control_marks,
    without_evidence_marks,
)
from secondlook.prompts.prompt import TEXT, Prompt, load, names

if TYPE_CHECKING:
    from secondlook.models.port import Message

__all__ = [
    "CONTROL_MARK",
    "EVIDENCE_MARK",
    "NOT_FOUND",
    "TEXT",
    "EvidenceMarks",
    "Prompt",
    "evidence_marks",
    "load",
    "names",
    "render",
    "without_control_marks",
    "without_evidence_marks",
]

NOT_FOUND = "NOT IN THE EVIDENCE"
"""What a model is told to reply, word for word, where the evidence holds no answer."""


def render(name: str, /, **values: str) -> tuple[Message, ...]:
    """The messages of a prompt with its holes filled."""
    return load(name).render(**values)
