"""Whether to search again: the model, its thresholds, and what both are worth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.calibrate_cases import cases, without_answer
from benchmarks.calibrate_fit import calibration_error, fit, threshold_for_alarms
from benchmarks.reading_answers import auroc
from secondlook.reading.calibration import quality_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.calibrate_cases import Case
    from benchmarks.calibrate_read import Readings
    from secondlook.reading.calibration import Logistic

FEATURES = ("relevance", "lead", "fusion", "agreement")
CALIBRATED_ON = ("squad2-dev", "hotpot-train")
REPORTED = ("squad2-dev", "hotpot", "scifact", "cranfield")
FALSE_ALARMS, FALSE_WEB_ALARMS = 0.10, 0.02
"""Share of good searches that may be followed by a second one, and by the web."""
RAW_THRESHOLDS = (0.0, -2.0)


def calibrate_searches(known: Readings) -> tuple[Logistic, tuple[float, float], dict[str, Any]]:
    """The model, the thresholds for a second search and for the web, the figures to report."""
    made = {name: _both(name, known, calibrates=True) for name in CALIBRATED_ON}
    model = _fitted(made)
    good = [_good(model, held) for held, _ in made.values()]
    thresholds = (_threshold(good, FALSE_ALARMS), _threshold(good, FALSE_WEB_ALARMS))
    figures = {
        f"{name}, calibration": _figures(model, thresholds, *both) for name, both in made.items()
    }
    for name in REPORTED:
        both = _both(name, known, calibrates=False)
        figures[name] = _figures(model, thresholds, *both)
    rule = f"{FALSE_ALARMS} and {FALSE_WEB_ALARMS} of the searches that found a gold passage"
    return model, thresholds, {"false_alarms": rule, "sets": figures}


def _both(name: str, known: Readings, *, calibrates: bool) -> tuple[list[Case], list[Case]]:
    """The answerable questions of one side, and the same without their gold passages."""
    held = [case for case in cases(name, known) if case.answerable]
    return (
        [case for case in held if case.calibrates == calibrates],
        [case for case in without_answer(name, known) if case.calibrates == calibrates],
    )


def _fitted(made: dict[str, tuple[list[Case], list[Case]]]) -> Logistic:
    """Every set weighs the same, and a question as much with its gold passage as without."""
    rows, found, weights = [], [], []
    total = sum(len(group) for both in made.values() for group in both)
    for both in made.values():
        for group in both:
            rows += [quality_features(case.candidates) for case in group]
            found += [case.found for case in group]
            weights += [total / (2 * len(made) * len(group))] * len(group)
    return fit(rows, found, FEATURES, weights)


def _threshold(good: Sequence[Sequence[float]], share: float) -> float:
    """Each set weighs the same, whatever its size."""
    size = max(len(values) for values in good)
    evenly = [np.quantile(values, np.linspace(0, 1, size)) for values in good]
    return threshold_for_alarms(np.concatenate(evenly).tolist(), share)


def _good(model: Logistic, group: Sequence[Case]) -> list[float]:
    return [p for p, case in zip(_quality(model, group), group, strict=True) if case.found]


def _quality(model: Logistic, group: Sequence[Case]) -> list[float]:
    return [model.probability(quality_features(case.candidates)) for case in group]


def _figures(
    model: Logistic, thresholds: tuple[float, float], held: list[Case], robbed: list[Case]
) -> dict[str, Any]:
    p, q = np.array(_quality(model, held)), np.array(_quality(model, robbed))
    found = np.array([case.found for case in held])
    again = np.array([case.found_again for case in held])
    lowest = np.array([min(one.relevance for one in case.candidates) for case in held])
    rules = {f"min_rerank_score {raw}": lowest < raw for raw in RAW_THRESHOLDS}
    rules |= {"calibrated": p < thresholds[0], "always": np.full(len(p), fill_value=True)}
    return {
        "n": len(held),
        "found": _mean(found),
        "auroc_miss": _auroc(p[found], p[~found]),
        "auroc_taken_out": _auroc(p[found], q),
        "ece": round(calibration_error([*p, *q], [*found.tolist(), *[False] * len(q)]), 4),
        "second_search": {name: _second(fires, found, again) for name, fires in rules.items()},
        "second_search_taken_out": _mean(q < thresholds[0]),
        "web": _mean(p < thresholds[1]),
        "web_of_found": _mean((p < thresholds[1])[found]),
        "web_of_missed": _mean((p < thresholds[1])[~found]),
        "web_taken_out": _mean(q < thresholds[1]),
    }


def _second(fires: Any, found: Any, again: Any) -> dict[str, Any]:
    """How often it fires, and what it changes where it does."""
    gained, lost = int((fires & ~found & again).sum()), int((fires & found & ~again).sum())
    return {
        "rate": _mean(fires),
        "of_found": _mean(fires[found]),
        "of_missed": _mean(fires[~found]),
        "found_then": _mean(np.where(fires, again, found)),
        "gained": gained,
        "lost": lost,
        "sign_test_p": round(_sign_test(gained, lost), 4),
    }


def _sign_test(gained: int, lost: int) -> float:
    """Two-sided: how likely so uneven a split would be if gains and losses were equally likely."""
    total, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(total, at) for at in range(fewer + 1)) / 2**total
    return float(min(1.0, 2 * tail))


def _auroc(positive: Any, negative: Any) -> float | None:
    return round(auroc(positive, negative), 4) if len(positive) and len(negative) else None


def _mean(values: Any) -> float | None:
    return round(float(np.mean(values)), 4) if len(values) else None
