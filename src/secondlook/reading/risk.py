"""From which probability on answers may be given if at most so many of them may be wrong. Learn
then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, arXiv:2110.01052) with a fixed
sequence: thresholds are tested from strict to lax, each by the exact binomial tail, and the first
that fails ends it. docs/confidence.md says what the promise assumes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from secondlook.errors import UsageError

LEVELS = 40
"""Thresholds of a table: each lets through so large a part of the answers more than the last."""
_ROUNDED = 1e6
_NEGLIGIBLE = 1e-18
_STARTS = (0.5, 0.25, 0.0)
"""The sequence starts where answers that are wrong half as often as allowed would pass: with fewer
answers one unlucky one would end it, however good they are. Where that would be too many of all,
it starts where a quarter as often would pass, or none."""
_TOO_MANY = 2 / 3


@dataclass(frozen=True, slots=True)
class RiskRow:
    threshold: float
    answered: int  # Answers with at least this probability
    wrong: int  # Those of them that are wrong


@dataclass(frozen=True, slots=True)
class RiskTable:
    """How often answers were wrong above each threshold."""

    rows: tuple[RiskRow, ...]  # Strictest first
    questions: int  # All that were judged; `answered` of a row is its coverage of them

    def threshold(self, max_risk: float, *, confidence: float) -> float | None:
        """The lowest probability with which answers may be given so that the share of wrong ones
        among them is at most `max_risk`; over calibrations like this one that is so in at least
        `confidence` of them. None where nothing can be promised."""
        check_share("max_risk", max_risk)
        check_share("confidence", confidence)
        return _lowest_that_passes(self, max_risk, 1 - confidence)

    def first_tested(self, max_risk: float, doubt: float) -> int:
        """Where the sequence starts. It goes by how many were answered, never by how many of them
        were wrong, or the promise would be void."""
        for share in _STARTS:
            for at, row in enumerate(self.rows):
                allowed = int(share * max_risk * row.answered)
                if row.answered > _TOO_MANY * self.questions:
                    break
                if binomial_tail(row.answered, max_risk, allowed) <= doubt:
                    return at
        return max(0, len(self.rows) - 1)

    def as_data(self) -> dict[str, Any]:
        rows = [[row.threshold, row.answered, row.wrong] for row in self.rows]
        return {"questions": self.questions, "rows": rows}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> RiskTable:
        rows = tuple(RiskRow(float(at), int(n), int(wrong)) for at, n, wrong in data["rows"])
        for row in rows:
            if not (0 <= row.threshold <= 1 and 0 <= row.wrong <= row.answered):
                raise ValueError(f"a row of the risk table makes no sense: {row!r}")
        if any(after.answered <= row.answered for row, after in itertools.pairwise(rows)):
            raise ValueError("the rows of the risk table are not in order")
        return cls(rows=rows, questions=int(data["questions"]))


def risk_table(
    probabilities: Sequence[float], right: Sequence[bool], *, levels: int = LEVELS
) -> RiskTable:
    """Counts of answers whose probabilities were not fitted on them (`cross_fitted`). Thresholds
    are the probabilities at fixed ranks, which depend on nothing but the number of answers: where
    wrong ones lie has no say in which thresholds are tested."""
    pairs = sorted(zip(probabilities, right, strict=True), key=lambda pair: -pair[0])
    ranks = {math.ceil(len(pairs) * level / levels) for level in range(1, levels + 1)} - {0}
    # Rounded down, so that the answer at this rank is itself let through.
    thresholds = (math.floor(pairs[rank - 1][0] * _ROUNDED) / _ROUNDED for rank in sorted(ranks))
    rows, answered, wrong = [], 0, 0
    for threshold in dict.fromkeys(thresholds):
        while answered < len(pairs) and pairs[answered][0] >= threshold:
            wrong += not pairs[answered][1]
            answered += 1
        rows.append(RiskRow(threshold, answered, wrong))
    return RiskTable(rows=tuple(rows), questions=len(pairs))


@lru_cache(maxsize=64)
def _lowest_that_passes(table: RiskTable, max_risk: float, doubt: float) -> float | None:
    """Remembered: every question of a person asks for the same."""
    found = None
    for row in table.rows[table.first_tested(max_risk, doubt) :]:
        if binomial_tail(row.answered, max_risk, row.wrong) > doubt:
            break
        found = row.threshold
    return found


def binomial_tail(n: int, p: float, most: int) -> float:
    """Exact probability of at most `most` among `n` that each happen with probability `p`."""
    if most >= n:
        return 1.0
    if most < 0:
        return 0.0
    # From the last term down, each as a share of the one before, until no more is added.
    odds = (1 - p) / p
    share = total = 1.0
    for k in range(most, 0, -1):
        ratio = k / (n - k + 1) * odds
        share *= ratio
        total += share
        if ratio < 1 and share < _NEGLIGIBLE * total:
            break
    ways = math.lgamma(n + 1) - math.lgamma(most + 1) - math.lgamma(n - most + 1)
    return min(
        1.0, math.exp((ways + most * math.log(p) + (n - most) * math.log1p(-p)) + math.log(total))
    )


def check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(
            f"{name} must lie between 0 and 1, not {value!r}", hint=f"{name} 0.05 means 5 %"
        )
