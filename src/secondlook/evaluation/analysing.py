"""Figures of questions over tables that are not a mean over questions but one of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.pooled import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Estimate, Row


def analysis_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """`values_by_part` and `code_error_rate`, as far as there is something to count."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    known = [(row.case, row.analysed) for row in ordered if row.analysed is not None]
    cases = [case for case, _ in known]
    figures = {
        "values_by_part": share(
            cases,
            [sum(one.parts.values()) for _, one in known],
            [len(one.parts) for _, one in known],
            seed=seed,
        ),
        "code_error_rate": share(
            cases,
            [one.failed_attempts for _, one in known],
            [one.attempts for _, one in known],
            seed=seed,
        ),
    }
    return {name: found for name, found in figures.items() if found is not None}
