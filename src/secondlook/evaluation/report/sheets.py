"""`results.csv`: one line per answer, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.report import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.evaluation.records import Looked, Row

_FIELDS = (
    "configuration",
    "case",
    "repeat",
    "type",
    "subject",
    "answerable",
    "scored",
    "status",
    "stop_reason",
    "method",
    "question",
    "expected",
    "short",
    "chosen",
    "ungrounded",
    "text",
    "confidence",
    "right",
    "fallback",
    "web",
    "retries",
    "regenerations",
    "queries",
    "trigger",
    "trigger_below",
    "shown",
    "llm_calls",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "characters_in",
    "characters_out",
    "parse_failures",
    "cost",
    "seconds",
    "warnings",
    "error",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the start of a formula. Questions and answers are others' words."""

Figures = dict[tuple[str, int], dict[str, dict[str, float]]]
"""By configuration and repeat, by metric, by question."""


def results_csv(rows: Sequence[Row]) -> bytes:
    figures = _figures(rows)
    metrics = numbers.in_order({name for found in figures.values() for name in found})
    nodes = sorted({node for row in rows for node in row.seconds_by_node})
    sheet = io.StringIO(newline="")
    writer = csv.writer(sheet, lineterminator="\r\n")
    writer.writerow(
        [*_FIELDS, "lowest_of_best_5", *metrics, *(guarded(f"seconds_{node}") for node in nodes)]
    )
    for row in rows:
        found = figures[row.configuration, row.repeat]
        writer.writerow(
            [
                *(cell(getattr(row, name)) for name in _FIELDS),
                cell(numbers.lowest_of_best(row)),
                *(cell(found.get(name, {}).get(row.case)) for name in metrics),
                *(cell(row.seconds_by_node.get(node)) for node in nodes),
            ]
        )
    return sheet.getvalue().encode("utf-8", "replace")


def guarded(text: str) -> str:
    """Text that a spreadsheet shows and does not carry out."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _figures(rows: Iterable[Row]) -> Figures:
    """What each metric makes of each row, those that follow from how it ended included."""
    grouped: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.configuration, row.repeat].append(row)
    return {key: _of_group(those) for key, those in grouped.items()}


def _of_group(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    wanted = [name for name, item in METRICS.items() if item.per_question and name not in _FIELDS]
    found = {name: numbers.values(rows, name) for name in wanted}
    unknown = {name for row in rows for name in row.metrics if name not in METRICS}
    for name in unknown - set(_FIELDS):
        found[name] = {row.case: row.metrics[name] for row in rows if name in row.metrics}
    return {name: by_case for name, by_case in found.items() if by_case}


def cell(value: object) -> str:
    """A value as a spreadsheet shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(round(value, 9)) if math.isfinite(value) else ""
    if isinstance(value, tuple):
        return guarded("; ".join(map(str, value)))
    return guarded(value) if isinstance(value, str) else str(value)


# `review.csv`: questions on which every try was used up, and all a person needs to see why.

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


def review_csv(rows: Sequence[Row]) -> bytes:
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
