"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "status",
    "numbering",
    "text",
    "claim",
    "number",
    "support",
    "computation",
    "choice",
    "research",
    "table",
    "code",
    "result",
    "figure",
    "passage",
    "document",
    "title",
    "quote",
    "page",
    "file",
    "web",
]
"""What does not hold: docs/verify.md says what each one means."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not hold, or as a note: one thing that could not be checked."""

    kind: Kind
    where: str
    """Of what: `answer`, `claim 2`, `citation [1]`, `passage 3f2a9c0d11ee4711.4`."""
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(slots=True)
class Report:
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    """What a reader should know though nothing is wrong: a file moved, a sentence marked."""

    def wrong(self, kind: Kind, where: str, message: str) -> None:
        self._put(self.problems, Problem(kind, where, message))

    def note(self, kind: Kind, where: str, message: str) -> None:
        self._put(self.notes, Problem(kind, where, message))

    @staticmethod
    def _put(listed: list[Problem], one: Problem) -> None:
        if one not in listed:
            listed.append(one)


def shown(text: str | None, *, width: int = 60) -> str:
    """A stranger's text as part of a message: on one line, without control characters."""
    if text is None:
        return "none"
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= width else f"{flat[: width - 3]}...")
