"""How sure a result is: a probability that was fitted on questions over tables whose answers are
known, from what the run itself saw."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from secondlook.nodes.coding.varying import CHANGED, SHUFFLED
from secondlook.nodes.judging.agreement import AGREEMENT
from secondlook.reading.calibration.logistic import Logistic
from secondlook.tables.asking.understanding import MOST_DOUBT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
    from secondlook.state import Analysed

FILE = "confidence.json"
"""`python -m benchmarks.analyst_calibration` makes it."""
_DIGITS = 4


def confidence(context: Context, state: Analysed) -> tuple[float | None, list[str]]:  # noqa: ARG001
    """The probability that it is right, and what speaks for and against; no probability where
    none was fitted for answers that came about like this one."""
    kind, seen = signals(
        query=state["query"],
        scores=[one["score"] for one in state["resolved"]],
        checks={one["name"]: one["passed"] for one in state["checks"]},
        attempts=len(state["attempts"]),
        remedies=len(state["remedies"]),
    )
    fitted = shipped().get(kind)
    sure = None if fitted is None else round(fitted.probability(seen), _DIGITS)
    return sure, _reasons(state)


def signals(
    *,
    query: Mapping[str, Any] | None,
    scores: Sequence[float],
    checks: Mapping[str, bool],
    attempts: int,
    remedies: int,
) -> tuple[str, dict[str, float]]:
    """How the result came about (`rows`, `statistics`, `generated`), and what the run saw of it.
    Doubts of rows and of statistics are not of one scale: each has a probability of its own.

    `query` is the reading as the state holds it, `scores` are of the columns, `checks` of the last
    result.
    """
    failed = sum(not passed for passed in checks.values())
    common = {
        "column_score": min(scores, default=1.0),
        "checks_failed": failed / len(checks) if checks else 0.0,
    }
    if query is not None:
        kind = "statistics" if query["family"] in MOST_DOUBT else "rows"
        several = float(query["answer"] in {"list", "rows"})
        return kind, {**common, "doubt": query["doubt"], "several": several}
    return "generated", {
        **common,
        "agrees": float(checks.get(AGREEMENT, False)),
        "follows": float(checks.get(SHUFFLED, False) and checks.get(CHANGED, False)),
        "attempts": float(attempts),
        "remedies": float(remedies),
    }


@cache
def shipped() -> dict[str, Logistic]:
    made = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    return {kind: Logistic(one["bias"], one["weights"]) for kind, one in made["fitted"].items()}


def _reasons(state: Analysed) -> list[str]:
    reasons = []
    if state["resolved"]:
        worst = min(state["resolved"], key=lambda one: one["score"])
        reasons.append(
            f"{worst['asked']!r} was taken for {worst['column']!r} ({worst['score']:.2f})"
        )
    if state["query"] is not None:
        reasons.append(f"{state['doubt']:.0%} of the question is in doubt")
    passed = sum(one["passed"] for one in state["checks"])
    if state["checks"]:
        reasons.append(f"{passed} of {len(state['checks'])} checks passed")
    if len(state["attempts"]) > 1:
        reasons.append(f"code was written {len(state['attempts'])} times")
    return reasons
