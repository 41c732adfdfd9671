"""Which passages are about a question, and which answer it: three graders behind one port.

`reader` goes by the scores that are there, `llm-batch` and `llm-each` ask a chat model, `auto` asks
it only where the reader is unsure, and only one that was measured to grade well.
"""

from secondlook.nodes.grading.choosing import graded
from secondlook.nodes.grading.fit import (
    Fit,
    UnfitGrader,
    fit_of,
    fit_to_grade,
    in_words,
    unfit,
    unfit_for_answers,
)
from secondlook.nodes.grading.port import Grader, Grading, Verdicts

__all__ = [
    "Fit",
    "Grader",
    "Grading",
    "UnfitGrader",
    "Verdicts",
    "fit_of",
    "fit_to_grade",
    "graded",
    "in_words",
    "unfit",
    "unfit_for_answers",
]
