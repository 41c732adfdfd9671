"""`review.csv`: questions on which every try was used up, and all a person needs to see why."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from secondlook.evaluation.report.sheet import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Looked, Row

FILE = "review.csv"
_COLUMNS = (
    "configuration",
    "case",
    "repeat",
    "question",
    "status",
    "stop_reason",
    "confidence",
    "short",
    "expected",
    "queries",
    "grades",
    "grounded",
    "useful",
    "best_passages",
)


def to_review(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.needs_review]


def as_csv(rows: Sequence[Row]) -> bytes:
    sheet = io.StringIO(newline="")
    writer = csv.writer(sheet, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for row in to_review(rows):
        told = {"grades": grades(row), "best_passages": best_passages(row)}
        writer.writerow(
            [cell(told[name] if name in told else getattr(row, name)) for name in _COLUMNS]
        )
    return sheet.getvalue().encode("utf-8", "replace")


def grades(row: Row) -> str:
    """How many were accepted, and by whom they were graded."""
    if not row.graded:
        return ""
    accepted = sum(was for _, was in row.graded)
    graders = ", ".join(sorted({name for name in row.graded_by if name}))
    by = f" by {graders}" if graders else ""
    return f"{accepted} of {len(row.graded)} about the question{by}"


def best_passages(row: Row) -> str:
    return "\n".join(map(_place, row.best))


def _place(passage: Looked) -> str:
    page = "" if passage.page is None else f", p. {passage.page}"
    judged = "answers it" if passage.answers else passage.grade
    score = "" if passage.score is None else f", {passage.score:.2f}"
    return f"{passage.title}{page} [{judged}{score}]: {' '.join(passage.text.split())}"
