"""`corrective` beside `linear` without a model: what correcting buys, what it costs, and which of
its steps buys it.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.corrective            # on a quiet machine: it times

500 questions of `squad2-dev`, half of them without an answer, and the first 700 of `hotpot`; the
last 300 were looked at when `follow` was built. Both sides have the same candidates, the same
reading and five passages. It can be interrupted and goes on when it is run again. Time is of
`squad2-dev`, which has a memory of its own. Writes `benchmarks/results/corrective.json`.
"""

from __future__ import annotations

from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.common import (
    CACHE,
    SHOWN,
    answered,
    chosen,
    differences,
    each_once,
    figures,
    parser,
    rows,
    save,
    write_set,
)
from secondlook.evaluation.questions import succeeded
from secondlook.evaluation.records import Configuration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Row

BASE, OTHER = "linear", "corrective"
STEPS = ("following", "decomposition", "rewriting", "readings", "useful_check")
GRADING = ("grading_precision", "grading_recall", "mean_retries")
COMPARED = ("recall@5", "f1", "f1_overall", "success", "answered", "citation_recall")


def measured(name: str, limit: int, *, timed: bool) -> dict[str, Any]:
    folder = CACHE / "eval" / f"corrective-{name}-{limit}"
    queries = each_once(rows(name, "queries"))
    taken = chosen(queries, limit) if timed else queries[:limit]
    data = write_set(folder, rows(name, "corpus"), taken)
    plan = [Configuration(BASE, BASE), Configuration(OTHER, OTHER)]
    without = [
        Configuration(f"without {step}", OTHER, {f"corrective.enable_{step}": False})
        for step in STEPS
    ]
    memory, shared = folder if timed else CACHE / "eval", {"models.default": "none"}
    both = answered(data, plan, folder / "runs", memory=memory, shared=shared)
    parts = answered(
        data, [plan[1], *without], folder / "runs-without", memory=memory, shared=shared
    )
    found = both.rows
    kinds = {row.type for row in found[BASE] if row.type}
    return {
        "questions": len(taken),
        "configurations": figures(both, (*SHOWN, *GRADING, "retry_rate", "needs_review")),
        "differences": differences(found, [(BASE, OTHER)], metrics=COMPARED),
        "by_type": {
            kind: differences(
                {key: [row for row in some if row.type == kind] for key, some in found.items()},
                [(BASE, OTHER)],
                metrics=COMPARED,
            )
            for kind in sorted(kinds)
        },
        "asked_again_though_right": asked_again(found[BASE], found[OTHER]),
        "beliefs": beliefs(found),
        "seconds": times(found) if timed else None,
        "steps": differences(
            parts.rows, [(one.name, OTHER) for one in without], metrics=("recall@5", "f1")
        ),
    }


def asked_again(base: Sequence[Row], other: Sequence[Row]) -> dict[str, float]:
    """Of the questions that the baseline gets right, how many are asked again in other words."""
    again = {row.case: row.retries > 0 for row in other}
    right = [again[row.case] for row in base if row.right]
    return {"questions": len(right), "share": round(fmean(right), 4) if right else 0.0}


def beliefs(held: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Whether rewriting helps where the first search was judged insufficient, and what each retry
    gains. Questions are chosen by that judgement, which both share: choosing those that failed
    without rewriting would make any second try look helpful."""
    retried = {row.case for row in held[OTHER] if row.retries}
    again = {name: [row for row in some if row.case in retried] for name, some in held.items()}
    won = [(row.retries, succeeded(row) is True) for row in held[OTHER]]
    return {
        "rewriting": differences(again, [(BASE, OTHER)], metrics=("success", "recall@5")),
        "gain_by_retry": [
            round(fmean(right and retries == at for retries, right in won), 4) for at in range(4)
        ],
    }


def times(held: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Seconds of a question, and their ratio in the same run."""
    base, other = ([row.seconds for row in held[name]] for name in (BASE, OTHER))
    tail = [quantiles(one, n=20)[-1] for one in (base, other)]
    return {
        BASE: round(fmean(base), 4),
        OTHER: round(fmean(other), 4),
        "ratio": round(fmean(other) / fmean(base), 4),
        "ratio_p95": round(tail[1] / tail[0], 4),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--squad", type=int, default=500)
    options.add_argument("--hotpot", type=int, default=700)
    given = options.parse_args()
    found = {
        "squad2-dev": measured("squad2-dev", given.squad, timed=True),
        "hotpot": measured("hotpot", given.hotpot, timed=False),
    }
    save("corrective", found)


if __name__ == "__main__":
    main()
