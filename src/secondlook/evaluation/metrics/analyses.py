"""How near an answer over tables comes to the values that are right: figures of one question.
docs/metrics.md defines each. What was withheld, and what failed, is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.metrics.denotations import denoted, right
from secondlook.evaluation.metrics.said import is_answered
from secondlook.evaluation.metrics.values import values_right

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.evaluation.records import Case

DENOTATION = "answer"
"""What the one part of a question is called that does not name its values."""


def parts_right(case: Case, answer: Answer) -> dict[str, bool]:
    """Of each value that the question wants, whether it is right."""
    if not is_answered(answer):
        return dict.fromkeys(parts_of(case), False)
    if case.values:
        return values_right(case.values, answer.values)
    return {DENOTATION: right(denoted(answer.values), case.answers)}


def parts_of(case: Case) -> tuple[str, ...]:
    """The names of the values that the question wants; one where it names none."""
    return tuple(dict(case.values)) or (DENOTATION,)


def value_metrics(parts: dict[str, bool]) -> dict[str, float]:
    """Of a question, given which of its parts are right."""
    return {
        "values_accuracy": float(all(parts.values())),
        "values_proportional": sum(parts.values()) / len(parts),
    }
