"""Questions about rows, answered without a model: WikiTableQuestions (Pasupat and Liang, ACL 2015).

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.analyst_wikitables                 # questions 0 to 199
    python -m benchmarks.analyst_wikitables --fit           # weights from questions 1000 to 2999

Each table is written as a CSV file, read, profiled and computed with as the product does it. The
grammar and its weights were made with questions 1000 to 2999; 0 to 199 were looked at once they
stood. Prints how many were answered, how many of those are wrong, and both by family and by the
bound on the doubt. Unanswered counts as wrong in `accuracy`. Writes
`benchmarks/results/analyst_wikitables.json`, or with `--fit` the weights in the product and
`benchmarks/results/analyst_wikitables_fit.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import secondlook
from benchmarks.analyst_wikitables_data import Tables, questions
from benchmarks.eval_runs import RESULTS, write_results
from secondlook.evaluation.metrics import denoted, right
from secondlook.evaluation.statistics import wilson
from secondlook.tables.understand.interpreter import understand
from secondlook.tables.understand.readings import queries, values_of
from secondlook.tables.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.analyst_wikitables_data import Asked

WEIGHTS = Path(secondlook.__file__).parent / "tables" / "understand" / "rows_weights.json"
DOUBTS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 1.0)
FIT = (1000, 3000)
TOLD_EVERY = 50


@dataclass(frozen=True, slots=True)
class Outcome:
    family: str
    """Empty where nothing was answered."""
    doubt: float
    right: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--first", type=int, default=0, help="the first question")
    parser.add_argument("--questions", type=int, default=200, help="how many")
    parser.add_argument("--fit", action="store_true", help="fit the weights instead")
    arguments = parser.parse_args()
    data = Path(os.environ["SECONDLOOK_DATA"])
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        tables = Tables(data, Path(folder), worker)
        if arguments.fit:
            _fit(questions(data, *FIT), tables)
        else:
            last = arguments.first + arguments.questions
            _evaluate(questions(data, arguments.first, last), tables, arguments.first)


def _evaluate(asked: Sequence[Asked], tables: Tables, first: int) -> None:
    found = [_answered(one, tables) for one in _told(asked)]
    answered = [one for one in found if one.family]
    correct = sum(one.right for one in answered)
    wrong = len(answered) - correct
    figures = {
        "questions": len(found),
        "answered": len(answered),
        "right": correct,
        "answered_share": round(len(answered) / len(found), 3),
        "accuracy": round(correct / len(found), 3),
        "wrong_among_answered": round(wrong / max(1, len(answered)), 3),
    }
    low, high = wilson(wrong / max(1, len(answered)), max(1, len(answered)))
    families = _by_family(answered)
    print(json.dumps(figures | {"interval": [round(low, 3), round(high, 3)]}, indent=1))
    for name, row in families.items():
        print(f"{name:14} {row}")
    write_results(
        RESULTS / "analyst_wikitables.json",
        f"python -m benchmarks.analyst_wikitables --first {first} --questions {len(found)}",
        {**figures, "wrong_interval_95": [round(low, 3), round(high, 3)], "families": families},
    )


def _answered(one: Asked, tables: Tables) -> Outcome:
    table = tables[one.table]
    understood = understand(one.question, [table])
    best = understood.best
    if best is None or table.compute is None:
        return Outcome("", 1.0, right=False)
    computed = [table.compute(query) for query in queries(best)]
    values = values_of(best, computed)
    flat = denoted(values)
    if not flat:
        return Outcome("", 1.0, right=False)
    return Outcome(best.family, best.doubt, right(flat, one.answers))


def _by_family(answered: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"answered": 0, "right": 0})
    for one in answered:
        found[one.family]["answered"] += 1
        found[one.family]["right"] += one.right
    return dict(sorted(found.items()))


def _fit(asked: Sequence[Asked], tables: Tables) -> None:
    from benchmarks.analyst_wikitables_fitting import fitted, held_out, options, sweep

    every = [options(one, tables) for one in _told(asked)]
    reachable = sum(any(one.right for one in each[:-1]) for each in every) / len(every)
    table = sweep(held_out(every), DOUBTS)
    for row in table:
        print(row)
    weights = {
        "fitted_on": "WikiTableQuestions (Pasupat and Liang, 2015; CC BY-SA 4.0), "
        f"questions {FIT[0]} to {FIT[1] - 1}",
        "weights": fitted(every),
    }
    WEIGHTS.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8", newline="\n")
    write_results(
        RESULTS / "analyst_wikitables_fit.json",
        "python -m benchmarks.analyst_wikitables --fit",
        {
            "questions": len(every),
            "some_reading_right": round(reachable, 3),
            "readings": round(sum(len(each) - 1 for each in every) / len(every), 1),
            "held_out": table,
        },
    )


def _told(asked: Sequence[Asked]) -> Iterable[Asked]:
    began = time.monotonic()
    for place, one in enumerate(asked, 1):
        yield one
        if place % TOLD_EVERY == 0:
            seconds = time.monotonic() - began
            print(f"{place} of {len(asked)}, {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
