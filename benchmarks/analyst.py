"""Questions over tables: how many are right, what the steps buy a model, and what confidence is
worth.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.analyst dabench                        # without a model, all 105
    python -m benchmarks.analyst wikitables                     # questions 2500 to 2999
    python -m benchmarks.analyst dabench --n 40 --model gguf:FILE
    python -m benchmarks.analyst calibrate [--minutes 30]

`dabench` is InfiAgent-DABench (evaluate only), `wikitables` WikiTableQuestions (Pasupat and Liang,
ACL 2015; CC BY-SA 4.0). Every question is asked of the engine as `secondlook eval` asks it, over
its one table. Unanswered counts as wrong in `accuracy`. Of DABench every second question was looked
at while its tasks were made readable, so both halves are reported; of the other set, questions over
tables are asked that the understander has not learned from. With a model the workflow stands beside
the same model writing code in one shot, with the same prompt, in the same sandbox; questions are
drawn by a fixed seed, evenly over the levels.

`calibrate` fits the probability that an answer is right on questions 2000 to 2499 of `wikitables`
and checks it on 2500 to 2999; only answers that our own code computed, from 20 on. Writes
`confidence.json` beside the code that reads it.

Answers are kept under `.cache/analyst` as they come, for the code as it stands: a run goes on where
it stopped. Figures go to `benchmarks/results/analyst_*.json`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
import time
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import wikitables
from benchmarks.common import CACHE, data_folder, parser, save, share
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation import datasets
from secondlook.evaluation.cache import Memory, RememberingModels
from secondlook.evaluation.library import GivenTables, cache_folder, given, open_indexed
from secondlook.evaluation.metrics import is_answered
from secondlook.evaluation.statistics import Pool, mcnemar, pooled
from secondlook.evaluation.summary import auroc, ece
from secondlook.nodes.judge import result as confidence
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.settings import load
from secondlook.store.answers import AnswerMemory
from secondlook.tables import understand as asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.records import Case

    Row = dict[str, Any]

KEPT = CACHE / "analyst"
SHIPPED = Path(confidence.__file__).parent / confidence.FILE
ONE_SHOT: dict[str, object] = {
    "analyst.max_code_attempts": 1,
    "models.servers.query": "model",
    **{
        f"analyst.enable_{step}": False
        for step in ("understanding", "alignment", "code_check", "arithmetic", "remediation")
    },
}
WAYS: dict[str, dict[str, object]] = {"workflow": {}, "one_shot": ONE_SHOT}
FIT, CHECK = (2000, 2500), (2500, 3000)
FEWEST = 20
"""Answers from which a probability is fitted."""
SOURCE = "WikiTableQuestions (Pasupat and Liang, 2015; CC BY-SA 4.0)"


async def asked(
    data: EvalSet,
    cases: Sequence[Case],
    *,
    model: str = "none",
    changes: Mapping[str, object] | None = None,
    minutes: float = 1e6,
) -> dict[str, Row]:
    """What came of each question, by its id; no question is begun after `minutes`."""
    digest = hashlib.sha256(f"{data.name} {model} {changes}".encode())
    for file in sorted(Path(asking.__file__).parent.iterdir()):
        if file.suffix in {".py", ".json"}:
            digest.update(file.read_bytes())
    file = KEPT / f"{digest.hexdigest()[:12]}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    held: dict[str, Row] = {row["id"]: row for row in map(json.loads, lines)}
    missing = [case for case in cases if case.id not in held]
    if not missing:
        return held
    settings = load({"models.default": model, "runs.keep": 0, **(changes or {})}).settings
    memory = Memory(KEPT / "replies.db")
    library = open_indexed(data, settings, memory)
    tables = GivenTables(data.read_table, cache_folder() / "tables", library.worker)
    models = RememberingModels(settings, memory=memory)
    engine = Secondlook(library, settings=settings, models=models, memory=AnswerMemory.temporary())
    until = time.monotonic() + 60 * minutes
    try:
        for at, case in enumerate(missing, 1):
            if time.monotonic() > until:
                break
            began = time.monotonic()
            with given(await asyncio.to_thread(tables.desk, case.table or "")):
                answer = await engine.aask(case.question, workflow="analyst", run=f"c-{case.id}")
            row = held[case.id] = told(case, answer) | {"seconds": time.monotonic() - began}
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            if at % 20 == 0:
                print(f"{at} of {len(missing)}", file=sys.stderr)
    finally:
        await engine.adetach()
        library.close()
        memory.close()
    return held


def told(case: Case, answer: Answer) -> Row:
    parts, analysis = list(wikitables.parts_right(case, answer).values()), answer.analysis
    row: Row = {
        "id": case.id,
        "level": case.type or "any",
        "answered": answer.status in {"answered", "partial"},
        "right": bool(parts) and all(parts),
        "parts": parts,
        "calls": answer.usage.calls,
    }
    if analysis is None:
        return row
    row |= {
        "computed": analysis.kind == "computed",
        "attempts": [one.status == "ok" for one in analysis.attempts],
    }
    if analysis.kind == "computed" and isinstance(analysis.query, dict) and is_answered(answer):
        scores = [column.score for column in analysis.columns]
        checks = [check.passed for check in analysis.checks]
        row["signals"] = confidence.signals(analysis.query, scores, checks)
    return row


# How many are right


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    answered = [row for row in rows if row["answered"]]
    attempts = [fine for row in rows for fine in row.get("attempts", ())]
    proportions = [sum(row["parts"]) / len(row["parts"]) for row in rows if row["parts"]]
    return {
        "accuracy": share([row["right"] for row in rows]),
        "answered": share([row["answered"] for row in rows]),
        "wrong_among_answered": share([not row["right"] for row in answered]),
        "proportional": round(sum(proportions) / max(1, len(rows)), 4),
        "computed": sum(row.get("computed", False) for row in rows),
        "code_error_rate": round(1 - sum(attempts) / len(attempts), 4) if attempts else None,
        "calls": round(sum(row["calls"] for row in rows) / max(1, len(rows)), 2),
        "seconds_median": round(float(np.median([row["seconds"] for row in rows])), 2),
    }


def measure(options: argparse.Namespace) -> None:
    loading = wikitables.load if options.what == "wikitables" else datasets.load
    data = loading(data_folder() / options.what)
    cases: Sequence[Case] = data.cases
    if options.what == "wikitables":
        last = options.first + (options.n or 500)
        cases = wikitables.unlearned(data, options.first, last)
    elif options.n:
        cases = _evenly(cases, options.n)
    places = {case.id: at for at, case in enumerate(data.cases)}
    ways = options.ways or ["workflow", *([] if options.model == "none" else ["one_shot"])]
    found: dict[str, Any] = {}
    held: dict[str, list[Row]] = {}
    for way in ways:
        rows = asyncio.run(asked(data, cases, model=options.model, changes=WAYS[way]))
        held[way] = [rows[case.id] for case in cases]
        found[way] = {"all": figures(held[way])}
        parts: dict[str, list[Row]] = defaultdict(list)
        for row in held[way]:
            parts[f"level {row['level']}"].append(row)
            if options.what == "dabench":
                parts["not looked at" if places[row["id"]] % 2 else "looked at"].append(row)
        found[way] |= {name: figures(some) for name, some in sorted(parts.items())}
    if {"workflow", "one_shot"} <= held.keys():
        pairs = list(zip(held["workflow"], held["one_shot"], strict=True))
        better = sum(ours["right"] and not theirs["right"] for ours, theirs in pairs)
        worse = sum(theirs["right"] and not ours["right"] for ours, theirs in pairs)
        p = round(mcnemar(better, worse), 4)
        found["paired"] = {"better": better, "worse": worse, "p": p}
    model = Path(options.model).stem.replace(":", "-")
    name = "" if model == "none" else f"_{model}"
    save(f"analyst_{options.what}{name}", {"model": model, "questions": len(cases), **found})


def _evenly(cases: Sequence[Case], n: int) -> list[Case]:
    """Over the levels, each drawn by a seed."""
    levels: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        levels[case.type or ""].append(case)
    chance = random.Random(1)
    order = [chance.sample(held, len(held)) for _, held in sorted(levels.items())]
    return [case for at in range(len(cases)) for held in order for case in held[at : at + 1]][:n]


# What confidence is worth


def calibrate(options: argparse.Namespace) -> None:
    data = wikitables.load(data_folder() / "wikitables")
    fit, check = wikitables.unlearned(data, *FIT), wikitables.unlearned(data, *CHECK)
    mixed = [case for two in zip_longest(fit, check) for case in two if case]
    rows = asyncio.run(asked(data, mixed, model=options.model, minutes=options.minutes))
    known = {
        name: [rows[case.id] for case in cases if rows.get(case.id, {}).get("signals")]
        for name, cases in (("fit", fit), ("check", check))
    }
    outcomes = [Outcome(row["signals"], row["right"]) for row in known["fit"]]
    if len(outcomes) < FEWEST or not known["check"]:
        raise SystemExit(f"{len(outcomes)} answers are too few to fit")
    model = fit_logistic(outcomes, sorted(outcomes[0].features))
    sure = np.array([model.probability(row["signals"]) for row in known["check"]])
    right = np.array([float(row["right"]) for row in known["check"]])
    pool = Pool.of([row["id"] for row in known["check"]])
    found = {
        "fitted_on": len(outcomes),
        "checked_on": len(right),
        "right_in_check": round(float(right.mean()), 4),
        "mean_confidence": round(float(sure.mean()), 4),
        "ece": _estimate(pooled(ece(sure, right), pool, recentred=True)),
        "auroc": _estimate(pooled(auroc(sure, right), pool)),
    }
    weights = dict(model.weights)
    made = {
        "made_by": "python -m benchmarks.analyst calibrate",
        "fitted_on": f"{SOURCE}, questions {FIT[0]} to {FIT[1] - 1}",
        "fitted": {"bias": model.bias, "weights": weights, "answers": len(outcomes)},
    }
    if not options.look:
        SHIPPED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8", newline="\n")
    save("analyst_calibration", {"source": SOURCE, "kinds": {"rows": found}})


def _estimate(one: Any) -> dict[str, float | None]:
    values = {name: getattr(one, name) for name in ("value", "low", "high")}
    return {name: None if value is None else round(value, 4) for name, value in values.items()}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=("dabench", "wikitables", "calibrate"))
    options.add_argument("--n", type=int, help="questions")
    options.add_argument(
        "--first", type=int, default=CHECK[0], help="the first question of wikitables"
    )
    options.add_argument("--model", default="none")
    options.add_argument("--ways", nargs="*", choices=WAYS)
    options.add_argument("--minutes", type=float, default=1e6, help="`calibrate`: at most so long")
    options.add_argument("--look", action="store_true", help="`calibrate`: leave the product as is")
    given_options = options.parse_args()
    (calibrate if given_options.what == "calibrate" else measure)(given_options)


if __name__ == "__main__":
    main()
