"""The figures of docs/results.md: answers without a model, and when to search again.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.eval_results embedded      # all answerable questions, without a model
    python -m benchmarks.eval_results thresholds    # when to search again

Both are over `squad2-dev`. Each can be interrupted and goes on when it is run again; `.cache/eval`
holds what was done. Writes `benchmarks/results/eval_*.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import (
    CACHE,
    RESULTS,
    SEED,
    answered,
    by_answerable,
    differences,
    figures,
    parser,
    rows,
    save,
    write_set,
)
from secondlook.evaluation.records import Configuration
from secondlook.reading.calibration import load_calibration
from secondlook.reading.weights import find_weights

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from benchmarks.common import Rows
    from secondlook.answer import Scalar
    from secondlook.evaluation.study import Evaluated

DATA, LINEAR, ADAPTIVE = "squad2-dev", "linear", "adaptive"
FORCED: dict[str, Scalar] = {"answer.enable_abstention": False}
PRESET = "seed004"
"""The adaptive design as it was published."""
SCORES = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Thresholds that were published with it."""
QUALITIES = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Probabilities; the calibrated one (docs/confidence.md) is tried beside them."""
QUESTIONS: dict[str, tuple[int | None, int]] = {
    "embedded": (None, 500),
    "thresholds": (500, 0),
}
"""How many are asked unless another number is given: answerable ones (None = all), and others."""


def embedded(folder: Path, queries: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """`linear` and `adaptive`, as they are and answering whatever the evidence."""
    data = write_set(folder, rows(DATA, "corpus"), queries)
    plans = [Configuration(name, name) for name in (LINEAR, ADAPTIVE)]
    forced = [Configuration(f"{one.name}, forced", one.workflow, FORCED) for one in plans]
    found = answered(data, [*plans, *forced], folder / "runs", memory=options.cache)
    pairs = [(LINEAR, ADAPTIVE), (forced[0].name, forced[1].name)]
    return {
        "questions": len(found.cases),
        "answerable": sum(case.answerable for case in found.cases),
        "documents": found.data.document_count,
        "configurations": figures(found),
        "differences": differences(found.rows, pairs),
    }


def thresholds(folder: Path, queries: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """The published design with its thresholds, and ours with probabilities, each against
    searching once. Nothing is withheld: only the search differs."""
    data = write_set(folder, rows(DATA, "corpus"), queries)
    default = load_calibration(find_weights("reader").identity).min_quality
    swept: dict[str, Any] = {"default": default}
    for param, values, preset in (
        ("adaptive.min_rerank_score", SCORES, PRESET),
        ("adaptive.min_quality", sorted({*QUALITIES, default}), None),
    ):
        base = Configuration(LINEAR, "linear", FORCED)
        tried = [
            Configuration(f"{param} {value:g}", "adaptive", {**FORCED, param: value})
            for value in values
        ]
        found = answered(
            data, [base, *tried], folder / str(preset), memory=options.cache, preset=preset
        )
        swept[param] = {
            "preset": preset,
            "configurations": figures(found),
            "differences": [change for one in tried for change in _effect(found, one.name)],
        }
    return swept


def _effect(evaluated: Evaluated, name: str) -> list[dict[str, Any]]:
    """On all questions, and on those that were searched for again."""
    again = {row.case for row in evaluated.rows[name] if row.fallback}
    parts = {"all": lambda _row: True, "searched again": lambda row: row.case in again}
    return differences(evaluated.rows, [(LINEAR, name)], parts=parts)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("study", choices=QUESTIONS)
    options.add_argument("--questions", type=int, help="answerable ones")
    options.add_argument("--unanswerable", type=int)
    options.add_argument("--cache", type=Path, default=CACHE / "eval", help="what was done is here")
    options.add_argument("--results", type=Path, default=RESULTS, help="folder of the figures")
    given = options.parse_args(arguments)
    can, cannot = QUESTIONS[given.study]
    can = can if given.questions is None else given.questions
    cannot = cannot if given.unanswerable is None else given.unanswerable
    queries = by_answerable(rows(DATA, "queries"), answerable=can, unanswerable=cannot)
    folder = given.cache / f"{given.study}-{'all' if can is None else can}-{cannot}"
    study = {"embedded": embedded, "thresholds": thresholds}[given.study]
    found = {"data": DATA, "seed": SEED, **study(folder, queries, given)}
    save(f"eval_{given.study}", found, folder=given.results)


if __name__ == "__main__":
    main()
