"""The bars that the correcting workflow was given beforehand, each met or not met.

A bar counts as met by the figure itself; the interval beside it says how sure that is. Success is
`success` of docs/metrics.md: right, or withheld where there is no answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.comparison import Pair
from secondlook.evaluation.figures import Figures
from secondlook.evaluation.intervals import wilson
from secondlook.evaluation.records import Configuration, Criterion
from secondlook.evaluation.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Estimate, Row

BASELINE, JUDGED = "linear", "corrective"
AT_LEAST = {"recall@5": 0.97, "faithfulness": 0.84, "success": 0.92}
SLOWER = 1.6
"""How many times the 95th percentile of the baseline's seconds it may take."""
AGAIN = 0.15
"""Of the questions that the baseline gets right, the share that may be asked again."""
_VERBATIM = "no model wrote: extracted text is verbatim, so that this is 1 by construction"


def criteria(rows: Mapping[str, Sequence[Row]], *, seed: int = 0) -> tuple[Criterion, ...]:
    """Nothing where the workflow was not run."""
    judged = rows.get(JUDGED)
    if not judged:
        return ()
    found = _estimates(judged, seed)
    base = rows.get(BASELINE, ())
    return (
        *(_at_least(name, bar, found.get(name), judged) for name, bar in AT_LEAST.items()),
        _fast_enough(found.get("latency_p95"), _estimates(base, seed).get("latency_p95")),
        _left_alone(base, judged, seed=seed),
    )


def _estimates(rows: Sequence[Row], seed: int) -> dict[str, Estimate]:
    if not rows:
        return {}
    name = rows[0].configuration
    return summarise(rows, configuration=Configuration(name, name), seed=seed).metrics


def _at_least(name: str, bar: float, found: Estimate | None, rows: Sequence[Row]) -> Criterion:
    told = f">= {bar:.2f}"
    if found is None or found.value is None:
        why = "the set does not name what it takes, or nothing was answered"
        return Criterion(name=name, bar=told, why=why)
    written = any(row.method == "generative" for row in rows)
    return Criterion(
        name=name,
        bar=told,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        met=found.value >= bar,
        why=_VERBATIM if name == "faithfulness" and not written else f"mean of {JUDGED}",
    )


def _fast_enough(own: Estimate | None, base: Estimate | None) -> Criterion:
    name, bar = "seconds, 95 of 100", f"<= {SLOWER:g} x {BASELINE}"
    if own is None or base is None or own.value is None or not base.value:
        return Criterion(name=name, bar=bar, why=f"it takes {BASELINE} on the same questions")
    ratio = own.value / base.value
    why = f"{own.value:.2f} s against {base.value:.2f} s of {BASELINE}, as a ratio"
    return Criterion(name=name, bar=bar, value=ratio, n=own.n, met=ratio <= SLOWER, why=why)


def _left_alone(base: Sequence[Row], own: Sequence[Row], *, seed: int) -> Criterion:
    name, bar = f"asked again though {BASELINE} is right", f"<= {AGAIN:.2f}"
    pair = Pair.of(Figures(base), Figures(own), None, seed) if base else None
    right = len(pair.right_in_base()) if pair else 0
    if pair is None or not right:
        return Criterion(name=name, bar=bar, why=f"no question that {BASELINE} gets right")
    again = pair.asked_again()
    low, high = wilson(again / right, right)
    return Criterion(
        name=name,
        bar=bar,
        value=again / right,
        low=low,
        high=high,
        n=right,
        met=again / right <= AGAIN,
        why=f"{again} of the {right} questions that {BASELINE} gets right were asked again",
    )
