"""`corrective` beside `linear` without a model: what correcting buys, what it costs, and which of
its steps buys it.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.corrective            # on a quiet machine: it times
    python -m benchmarks.corrective --table    # the tables of docs/corrective.md

500 questions of `squad2-dev`, half of them without an answer, and the first 700 of `hotpot`; the
last 300 were looked at when `follow` was built. Both sides have the same candidates, the same
reading and five passages. It can be interrupted and goes on when it is run again. Time is of
`squad2-dev`, which has a memory of its own. Writes `benchmarks/results/corrective.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, answered, differences, figures, write_results
from benchmarks.eval_sets import CACHE, SEED, chosen, data_folder, each_once, read_rows, write_set
from secondlook.evaluation.records import Configuration
from secondlook.evaluation.statistics import paired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Row

FILE = "corrective.json"
BASE, OTHER = "linear", "corrective"
STEPS = ("following", "decomposition", "rewriting", "readings", "useful_check")
SHOWN = (
    "recall@5", "em", "f1", "f1_overall", "citation_recall", "answered", "wrong_among_answered",
    "refused_unanswerable", "auroc", "aurc", "ece", "success", "retry_rate", "mean_retries",
    "needs_review", "useful", "latency_p50", "latency_p95",
)  # fmt: skip
COMPARED = ("recall@5", "f1", "f1_overall", "success", "answered", "citation_recall")
COVERAGES = (0.2, 0.3, 0.4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--squad", type=int, default=500)
    parser.add_argument("--hotpot", type=int, default=700)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads((RESULTS / FILE).read_text("utf-8"))))
        return
    content = {
        "squad2-dev": measured("squad2-dev", options.squad, timed=True),
        "hotpot": measured("hotpot", options.hotpot, timed=False),
    }
    command = " ".join(["python -m benchmarks.corrective", *sys.argv[1:]])
    write_results(RESULTS / FILE, command, content)
    print(table(json.loads((RESULTS / FILE).read_text("utf-8"))))


def measured(name: str, limit: int, *, timed: bool) -> dict[str, Any]:
    folder = CACHE / f"corrective-{name}-{limit}"
    source = data_folder() / name
    queries = each_once(read_rows(source, "queries"))
    taken = chosen(queries, limit) if timed else queries[:limit]
    data = write_set(folder, read_rows(source, "corpus"), taken)
    plan = [Configuration(BASE, BASE, {}), Configuration(OTHER, OTHER, {})]
    memory = folder if timed else CACHE
    both = answered(data, plan, folder / "runs", memory=memory, shared={"models.default": "none"})
    without = [
        Configuration(f"without {step}", OTHER, {f"corrective.enable_{step}": False})
        for step in STEPS
    ]
    parts = answered(
        data,
        [plan[1], *without],
        folder / "runs-without",
        memory=memory,
        shared={"models.default": "none"},
    )
    rows = both.rows
    return {
        "questions": len(taken),
        "configurations": figures(both, SHOWN),
        "differences": differences(rows, [(BASE, OTHER)], metrics=COMPARED),
        "by_type": {
            kind: differences(
                {key: [row for row in found if row.type == kind] for key, found in rows.items()},
                [(BASE, OTHER)],
                metrics=COMPARED,
            )
            for kind in sorted({row.type for row in rows[BASE] if row.type})
        },
        "equal_coverage": equal_coverage(rows[BASE], rows[OTHER]),
        "asked_again_though_right": asked_again(rows[BASE], rows[OTHER]),
        "seconds": times(rows) if timed else None,
        "steps": differences(
            parts.rows, [(one.name, OTHER) for one in without], metrics=("recall@5", "f1")
        ),
    }


def equal_coverage(base: Sequence[Row], other: Sequence[Row]) -> list[dict[str, float]]:
    """Wrong among equally many answers, the surest of each."""
    least = min(sum(row.right is not None for row in rows) / len(rows) for rows in (base, other))
    return [
        {"coverage": round(share, 4)}
        | {
            name: round(wrong_among(rows, round(share * len(rows))), 4)
            for name, rows in ((BASE, base), (OTHER, other))
        }
        for share in (*[one for one in COVERAGES if one < least], least)
    ]


def wrong_among(rows: Sequence[Row], number: int) -> float:
    given = [row for row in rows if row.right is not None]
    surest = sorted(given, key=lambda row: (-(row.confidence or 0.0), row.case))[:number]
    return fmean(not row.right for row in surest)


def asked_again(base: Sequence[Row], other: Sequence[Row]) -> dict[str, float]:
    """Of the questions that the baseline gets right, how many are asked again in other words."""
    again = {row.case: row.retries > 0 for row in other}
    right = [again[row.case] for row in base if row.right]
    return {"questions": len(right), "share": round(fmean(right), 4)}


def times(rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Seconds of a question; their ratio question by question, in the same run."""
    base = question_seconds(rows[BASE])
    other = question_seconds(rows[OTHER])
    ratio = fmean(other.values()) / fmean(base.values())
    tail = [quantiles(list(one.values()), n=20)[-1] for one in (base, other)]
    change = paired(list(base.values()), [other[case] for case in base], yes_no=False, seed=SEED)
    return {
        BASE: round(fmean(base.values()), 4),
        OTHER: round(fmean(other.values()), 4),
        "ratio": round(ratio, 4),
        "ratio_p95": round(tail[1] / tail[0], 4),
        "difference": round(change.difference, 4),
    }


def question_seconds(rows: Sequence[Row]) -> dict[str, float]:
    return {row.case: row.seconds for row in rows}


def table(content: Mapping[str, Any]) -> str:
    lines = [
        "| set | questions | metric | linear | corrective | difference in points (95 %) |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("squad2-dev", "hotpot"):
        told = content[name]
        lines += [_line(name, told["questions"], one) for one in told["differences"] if one["n"]]
        for kind, found in told["by_type"].items():
            lines += [
                _line(f"{name}, {kind}", one["n"], one)
                for one in found
                if one["metric"] in {"recall@5", "f1"}
            ]
    lines += ["", "| set | without | recall@5 | F1 |", "|---|---|---|---|"]
    for name in ("squad2-dev", "hotpot"):
        for step in STEPS:
            found = {
                one["metric"]: one
                for one in content[name]["steps"]
                if one["base_name"] == f"without {step}"
            }
            cells = " | ".join(_gain(found[metric]) for metric in ("recall@5", "f1"))
            lines.append(f"| {name} | {step.replace('_', ' ')} | {cells} |")
    return "\n".join(lines)


def _line(name: str, number: int, one: Mapping[str, Any]) -> str:
    figures_ = f"{one['base']:.3f} | {one['other']:.3f} | {_gain(one)}"
    return f"| {name} | {number} | {one['metric']} | {figures_} |"


def _gain(one: Mapping[str, Any]) -> str:
    change, low, high = (100 * one[key] for key in ("difference", "low", "high"))
    return f"{change:+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    main()
