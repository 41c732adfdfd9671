"""What each step of a workflow buys, and the cheapest configuration that loses nothing by it.

Against the reference, on the metric that decides, with the margin that is still acceptable:

- *non-inferior*: the lower 95 % bound of the paired difference is above minus the margin. A loss
  that is certain but smaller than the margin is non-inferior too: that is what a margin is for.
- *worse*: not that, the whole interval is below 0, and p, corrected for how many configurations
  were tried, is below .05.
- *undecided*: neither, with about how many more questions would tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Literal

from secondlook.errors import UsageError
from secondlook.evaluation.ablation_plan import ablation_plan
from secondlook.evaluation.comparison import (
    SIGNIFICANT,
    Pair,
    check_metric,
    compare,
    corrected,
    gained,
    primary_metric,
    significant,
)
from secondlook.evaluation.figures import Figures
from secondlook.evaluation.records import Ablation, Verdict
from secondlook.evaluation.statistics import questions_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.evaluation.records import Comparison, Row

__all__ = ["MARGIN", "ablate", "ablation_plan"]

MARGIN = 0.02
_AS_FAST = 1.05
"""Within 5 % two configurations take as long: the same one twice differs by as much."""
_FEWEST = 2
"""Questions from which a spread can be told."""


def ablate(
    rows: Mapping[str, Sequence[Row]],
    *,
    reference: str,
    metric: str | None = None,
    margin: float = MARGIN,
    left_out: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Ablation:
    """Every configuration against the reference."""
    if reference not in rows:
        raise UsageError(
            f"there is no configuration {reference!r} to compare with",
            hint=f"there are {', '.join(map(repr, rows))}",
        )
    if margin < 0:
        raise UsageError(f"a margin of {margin!r} is no margin", hint="give 0 or more, such as .02")
    chosen = check_metric(metric or primary_metric(rows[reference]))
    figures = {name: Figures(found) for name, found in rows.items()}
    pairs = [
        Pair.of(figures[reference], figures[name], (reference, name), seed)
        for name in rows
        if name != reference
    ]
    comparisons = corrected(
        [
            compare(pair.base, pair.other, metric=chosen, seed=seed, names=pair.names)
            for pair in pairs
        ]
    )
    prices = _prices(figures)
    verdicts = [_of_reference(reference, prices[reference])]
    verdicts += [
        _verdict(one, list(pair.changes(chosen).values()), prices[one.other], margin, of=len(pairs))
        for one, pair in zip(comparisons, pairs, strict=True)
    ]
    return Ablation(
        reference=reference,
        metric=chosen,
        margin=margin,
        comparisons=comparisons,
        verdicts=tuple(verdicts),
        cheapest=_cheapest(verdicts, prices, reference),
        left_out=dict(left_out or {}),
    )


@dataclass(frozen=True, slots=True)
class _Price:
    dollars: float
    """Infinite where a price is not known: then it is not shown to be cheap."""
    calls: float
    seconds: float
    steps: float
    """Nodes that a question goes through."""

    @property
    def told(self) -> tuple[float | None, float, float]:
        return self.dollars if math.isfinite(self.dollars) else None, self.calls, self.seconds


def _prices(figures: Mapping[str, Figures]) -> dict[str, _Price]:
    """Over the questions that all have, so that none is cheap by having been asked less."""
    shared = set.intersection(*(one.cases for one in figures.values()))
    return {name: _price(one, shared or one.cases) for name, one in figures.items()}


def _price(found: Figures, cases: Collection[str]) -> _Price:
    cost = found.cost(cases)
    return _Price(
        dollars=math.inf if cost is None else cost,
        calls=found.mean("calls", cases),
        seconds=found.seconds(cases),
        steps=found.mean("steps", cases),
    )


def _of_reference(name: str, price: _Price) -> Verdict:
    return Verdict(
        configuration=name,
        verdict="reference",
        price=price.told,
        why="what the others are compared with",
    )


def _verdict(
    comparison: Comparison, changes: Sequence[float], price: _Price, margin: float, *, of: int
) -> Verdict:
    deciding = comparison.deciding
    _, low, high = gained(deciding)
    bounds = f"95 % interval {low:+.3f} to {high:+.3f}"
    if low > -margin:
        why = f"{bounds}: above the margin of {-margin:+.3f}"
        return _found(comparison, "non-inferior", price, why)
    if high < 0 and significant(deciding):
        why = f"{bounds}: below 0, and not above the margin of {-margin:+.3f}"
        return _found(comparison, "worse", price, why)
    more = _more_questions(changes, margin=margin, of=of)
    why = f"{bounds}: reaches below the margin of {-margin:+.3f}, yet is no certain loss"
    return _found(comparison, "undecided", price, why, more)


def _found(
    comparison: Comparison,
    verdict: Literal["non-inferior", "worse", "undecided"],
    price: _Price,
    why: str,
    more: int | None = None,
) -> Verdict:
    return Verdict(
        configuration=comparison.other,
        verdict=verdict,
        price=price.told,
        more_questions=more,
        why=why,
    )


def _more_questions(changes: Sequence[float], *, margin: float, of: int) -> int | None:
    """Until it is non-inferior or worse, whichever is first, if things stay as they look."""
    ways = [questions_needed(changes, margin=margin)]
    # With fewer losses than that, it is within the margin before it is certain to be a loss.
    if 2 * fmean(changes) <= -margin:
        ways.append(_until_certain_loss(changes, of=of))
    return min((more for more in ways if more), default=None)


def _until_certain_loss(changes: Sequence[float], *, of: int) -> int | None:
    mean = fmean(changes)
    if mean >= 0 or len(changes) < _FEWEST:
        return None
    z = NormalDist().inv_cdf(1 - SIGNIFICANT / (2 * of))
    return max(1, math.ceil((z * stdev(changes) / mean) ** 2) - len(changes))


def _cheapest(verdicts: Sequence[Verdict], prices: Mapping[str, _Price], reference: str) -> str:
    """Least money, then fewest model calls, then least time. Of those that take as long as each
    other the reference, for it needs no change; else the one of fewest steps."""
    names = [one.configuration for one in verdicts if one.verdict in {"reference", "non-inferior"}]
    names = _least(names, lambda name: prices[name].dollars)
    names = _least(names, lambda name: prices[name].calls)
    fastest = min(prices[name].seconds for name in names)
    names = [name for name in names if prices[name].seconds <= fastest * _AS_FAST]
    if reference in names:
        return reference
    return min(names, key=lambda name: (prices[name].steps, prices[name].seconds))


def _least(names: Sequence[str], price: Callable[[str], float]) -> list[str]:
    least = min(map(price, names))
    return [name for name in names if math.isclose(price(name), least, rel_tol=1e-9)]
