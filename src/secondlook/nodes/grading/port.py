"""What every grader of passages is given, and what it says. Data, and the port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.errors import SecondlookError
    from secondlook.state import Found, Grade

NODE = "grade"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one grader holds of the passages that it was given, by their ids."""

    grades: dict[str, Grade] = field(default_factory=dict)
    """Those it has graded. Of the others it said nothing that can be used."""
    unknown: int = 0
    """Grades for passages that it was not given."""
    error: SecondlookError | None = None
    """Why grades are missing, where something failed."""

    def __add__(self, other: Verdicts) -> Verdicts:
        return Verdicts(
            {**self.grades, **other.grades}, self.unknown + other.unknown, self.error or other.error
        )


class Grader(Protocol):
    """Who says whether passages are about a question, and whether they answer it."""

    @property
    def name(self) -> str:
        """What `graded_by` says."""
        ...

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:
        """Never raises for what a model does; what it could not grade is not in the grades."""
        ...


@dataclass(frozen=True, slots=True)
class Grading:
    """Passages with their grades, and how these came about."""

    found: list[Found]
    """All that were given, in their order."""
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]] = field(default_factory=list)
