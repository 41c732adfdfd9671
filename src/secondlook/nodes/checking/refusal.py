"""What a model held of the answers of a run, for whoever writes the next one."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

AnswerGrade = Literal["yes", "no", "not graded"]


class AnswerGrades(TypedDict):
    answer_grades: Annotated[list[AnswerGrade], operator.add]
    """One for each answer that was to be graded, in order."""


def is_refused(answer_grades: Sequence[AnswerGrade]) -> bool:
    """Whether the answer that is to be written now follows one that was refused."""
    return bool(answer_grades) and answer_grades[-1] == "no"
