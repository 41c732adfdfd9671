"""How often asking again pays: the same workflow with at most 0, 1, 2, ... rewrites, on the same
questions. The fewest that lose nothing against the most are recommended (`max_rewrites`)."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation.comparison import difference_of
from secondlook.evaluation.questions import question_values
from secondlook.evaluation.records import Cap, Configuration
from secondlook.evaluation.statistics import interval
from secondlook.graphs.registry import WORKFLOWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Difference, Estimate, Row
    from secondlook.settings import Settings

MARGIN = 0.01
"""A loss of success or recall that is smaller, for certain, does not matter."""
MAX_REWRITES = "corrective.max_rewrites"
REWRITING = "corrective"
_CAPPED = "corrective, at most {} rewrites"


def capped_plan(settings: Settings, changes: Mapping[str, Scalar]) -> list[Configuration]:
    """Every number of rewrites below the one that is set; that one is `corrective` itself."""
    if REWRITING not in WORKFLOWS or not settings.corrective.enable_rewriting:
        return []
    return [
        Configuration(
            _CAPPED.format(number),
            REWRITING,
            {**changes, MAX_REWRITES: number},
            f"{MAX_REWRITES} = {number}",
        )
        for number in range(settings.corrective.max_rewrites)
    ]


def caps(rows: Mapping[str, Sequence[Row]], *, most: int, seed: int = 0) -> tuple[Cap, ...]:
    """Each number that was tried, against the most; none where the workflow was not run."""
    if REWRITING not in rows or not question_values(rows[REWRITING], "success"):
        return ()
    tried = {number: _CAPPED.format(number) for number in range(most)} | {most: REWRITING}
    return tuple(
        _cap(number, name, rows, seed=seed) for number, name in tried.items() if name in rows
    )


def recommended(found: Sequence[Cap]) -> int | None:
    """The fewest rewrites that are non-inferior to the most in success and in recall@5."""
    if len(found) < 2:  # noqa: PLR2004 - nothing to choose from
        return None
    return next(
        cap.rewrites
        for cap in found
        if all(lost is None or lost.low > -MARGIN for lost in (cap.success_lost, cap.recall_lost))
    )


def _cap(number: int, name: str, rows: Mapping[str, Sequence[Row]], *, seed: int) -> Cap:
    own = rows[name]
    return Cap(
        rewrites=number,
        configuration=name,
        success=_estimated(own, "success", seed),
        recall=_estimated(own, "recall@5", seed) if question_values(own, "recall@5") else None,
        retry_rate=fmean(row.retries > 0 for row in own),
        seconds=fmean(row.seconds for row in own),
        success_lost=_lost(rows, name, "success", seed),
        recall_lost=_lost(rows, name, "recall@5", seed),
    )


def _estimated(rows: Sequence[Row], metric: str, seed: int) -> Estimate:
    values = question_values(rows, metric).values()
    return interval(list(values), seed=seed, yes_no=metric == "success")


def _lost(
    rows: Mapping[str, Sequence[Row]], name: str, metric: str, seed: int
) -> Difference | None:
    if name == REWRITING:
        return None
    base, other = question_values(rows[REWRITING], metric), question_values(rows[name], metric)
    return difference_of(metric, base, other, seed=seed)
