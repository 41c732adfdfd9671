"""The belief that rewriting helps, as it was first stated: of the questions that the baseline
answers poorly, so many find more of their evidence.

Questions that are chosen because one run failed on them do better in any other run: part of their
failure was chance. So this is told beside the paired test on the questions that were asked again,
which both runs share, and never instead of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.intervals import wilson
from secondlook.evaluation.questions import question_values
from secondlook.evaluation.records import Hypothesis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Row

POOR_F1 = 0.2
FEWEST = 20
SHARE = 0.75
BASELINE, REWRITING = "linear", "corrective"
NAME = "H1 as first stated"
_CLAIM = (
    f"where {BASELINE} has F1 < {POOR_F1}, recall@5 rises with rewriting on {SHARE:.0%} or more"
)
_TEST = "95 % interval of the share against the bar (Wilson)"
_REMARK = (
    "questions chosen because one run failed on them do better in any other, so this bar says less "
    "than the paired test"
)
_SAME = 1e-9


def rises_where_poor(rows: Mapping[str, Sequence[Row]]) -> Hypothesis:
    base, other = rows.get(BASELINE), rows.get(REWRITING)
    if base is None or other is None:
        return _not_tested(f"it takes {BASELINE} and {REWRITING} on the same questions")
    before, after = question_values(base, "recall@5"), question_values(other, "recall@5")
    poor = [
        case
        for case, f1 in question_values(base, "f1").items()
        if f1 < POOR_F1 and case in before and case in after
    ]
    if len(poor) < FEWEST:
        return _not_tested(
            f"{len(poor)} questions have F1 < {POOR_F1} under {BASELINE}; it takes {FEWEST}"
        )
    return _judged(poor, before, after)


def _judged(
    poor: Sequence[str], before: Mapping[str, float], after: Mapping[str, float]
) -> Hypothesis:
    rose = sum(after[case] > before[case] + _SAME for case in poor)
    fell = sum(after[case] < before[case] - _SAME for case in poor)
    could = sum(before[case] < 1 - _SAME for case in poor)
    share = rose / len(poor)
    low, high = wilson(share, len(poor))
    numbers: dict[str, Scalar] = {
        "questions": len(poor),
        "rose": rose,
        "fell": fell,
        "could_rise": could,
        "share": share,
        "share_low": low,
        "share_high": high,
        "share_of_those_that_could": rose / could if could else None,
    }
    return Hypothesis(
        name=NAME,
        claim=_CLAIM,
        verdict=_verdict(low, high),
        why=(
            f"recall@5 rose on {rose} of {len(poor)} ({share:.1%} [{low:.1%}, {high:.1%}]) and "
            f"fell on {fell}; on {len(poor) - could} all gold was there already, so the share "
            f"cannot exceed {could / len(poor):.1%}; {_REMARK}"
        ),
        test=_TEST,
        numbers=numbers,
    )


def _verdict(low: float, high: float) -> Literal["supported", "not supported", "undecided"]:
    if low >= SHARE:
        return "supported"
    return "not supported" if high < SHARE else "undecided"


def _not_tested(why: str) -> Hypothesis:
    return Hypothesis(name=NAME, claim=_CLAIM, verdict="not tested", why=why, test=_TEST)
