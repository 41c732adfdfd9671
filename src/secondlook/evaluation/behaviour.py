"""How runs went: how they ended, how often they tried again and what came of it, how long they
took, and how relevant the passages were."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.pooled import Pool, pooled, quantile
from secondlook.evaluation.questions import is_failed, succeeded
from secondlook.evaluation.records import Estimate, Point, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.evaluation.records import Row

BEST = 5
_QUANTILES = {"p50": 0.5, "p95": 0.95}


def stop_reasons(rows: Sequence[Row]) -> dict[str, int]:
    """How many runs ended for each reason, the most frequent first."""
    counted = Counter(str(row.stop_reason) for row in rows)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def failures(rows: Sequence[Row]) -> tuple[str, ...]:
    """Questions of which a run failed."""
    return tuple(sorted({row.case for row in rows if is_failed(row)}))


def success_by_retry(rows: Sequence[Row]) -> tuple[Point, ...]:
    """For each number of retries that occurs, the share of its runs that succeeded."""
    outcomes: dict[int, list[bool]] = {}
    for row in rows:
        if (outcome := succeeded(row)) is not None:
            outcomes.setdefault(row.retries, []).append(outcome)
    return tuple(
        Point(x=retries, y=sum(found) / len(found), n=len(found))
        for retries, found in sorted(outcomes.items())
    )


def latency_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """Quantiles over questions of the seconds each took, repeats averaged."""
    taken: dict[str, list[float]] = {}
    for row in rows:
        taken.setdefault(row.case, []).append(row.seconds)
    if not taken:
        return {}
    cases = sorted(taken)
    seconds = np.asarray([math.fsum(taken[case]) / len(taken[case]) for case in cases])
    return {
        f"latency_{name}": pooled(quantile(seconds, q), Pool.of(cases), seed=seed)
        for name, q in _QUANTILES.items()
    }


def seconds_by_node(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Quantiles of the seconds of each node, over the runs that came to it."""
    taken: dict[str, list[float]] = {}
    for row in rows:
        for node, seconds in row.seconds_by_node.items():
            taken.setdefault(node, []).append(seconds)
    return {
        node: {name: float(np.quantile(taken[node], q)) for name, q in _QUANTILES.items()}
        for node in sorted(taken)
    }


def calls_by_node(rows: Sequence[Row]) -> dict[str, float]:
    """Model calls of each node, per run, the most first."""
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(row.calls_by_node)
    return {node: calls / len(rows) for node, calls in counted.most_common() if calls}


def rerank_scores(rows: Sequence[Row]) -> dict[str, Spread]:
    """How the lowest reader score among the best five passages is distributed."""
    lowest = [(row.fallback, found) for row in rows if (found := _lowest(row)) is not None]
    groups = {
        "all": [score for _, score in lowest],
        "fallback": [score for fallback, score in lowest if fallback],
        "no_fallback": [score for fallback, score in lowest if not fallback],
    }
    return {name: spread(scores) for name, scores in groups.items() if scores}


def spread(values: Iterable[float]) -> Spread:
    """How numbers are distributed; the standard deviation is that of a sample."""
    ordered = np.sort(np.asarray(list(values), dtype=np.float64))
    if not ordered.size:
        return Spread(n=0)
    return Spread(
        n=ordered.size,
        mean=math.fsum(ordered) / ordered.size,
        median=float(np.median(ordered)),
        std=float(ordered.std(ddof=1)) if ordered.size > 1 else 0.0,
        min=float(ordered[0]),
        max=float(ordered[-1]),
    )


def _lowest(row: Row) -> float | None:
    best = sorted((score for _, score in row.read if math.isfinite(score)), reverse=True)[:BEST]
    return best[-1] if best else None
