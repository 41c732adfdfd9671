"""Which draft is meant, and how sure that is: a log-linear model over named features.

Its weights were fitted on WikiTableQuestions (Pasupat and Liang, 2015; CC BY-SA 4.0) by
`benchmarks/analyst_wikitables.py --fit`.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@cache
def weights() -> Mapping[str, float]:
    text = (
        resources.files("secondlook.tables.asking")
        .joinpath("rows_weights.json")
        .read_text(encoding="utf-8")
    )
    found: dict[str, float] = json.loads(text)["weights"]
    return found


def score(found: Mapping[str, float], by: Mapping[str, float] | None = None) -> float:
    by = weights() if by is None else by
    return sum(by.get(name, 0.0) * value for name, value in found.items())


def shares(scores: Sequence[float]) -> list[float]:
    """Of the likelihood, one for each; together 1."""
    if not scores:
        return []
    most = max(scores)
    raised = [math.exp(one - most) for one in scores]
    total = sum(raised)
    return [one / total for one in raised]
