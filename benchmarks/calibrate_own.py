"""What a calibration made from a library's own documents is worth on real questions about them.

export SECONDLOOK_DATA=...           the folder with the evaluation sets
python -m benchmarks.calibrate_own           both sets; what was read is remembered
python -m benchmarks.calibrate_own --table   the table of docs/confidence.md, from the results

For each set its corpus is the library. A calibration is made as `secondlook calibrate` makes it,
once from questions made without a model, once from real questions, and judged on other real
questions, none of whose gold passages were asked about in the fit. A set without unanswerable
questions has the gold passages of every other question left out of the search.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import LoopThread
from secondlook.evaluation import datasets
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.confidence import (
    CONFIDENCE,
    RISKS,
    Answering,
    fit,
    judge,
    judgement_data,
    ways,
)
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.generated_questions import Asked, Place, made_questions
from secondlook.evaluation.library import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.reading import load_reader
from secondlook.reading.calibration import load_calibration
from secondlook.reading.risk import risk_table
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.confidence import Answered
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.library import EvaluatedLibrary
    from secondlook.reading.calibration import Calibration

RESULTS = Path(__file__).parent / "results" / "calibrate_own.json"
SETS = ("squad2-dev", "shift-new_wiki")
OWN = (100, 200)
"""Real questions that a person may have written."""
FIGURES = ("ece", "brier", "auroc")
NAMES = {
    "shipped": "the shipped calibration",
    "made": "made questions",
    **{f"own {number}": f"{number} real questions" for number in OWN},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--made", type=int, default=400, help="questions made from the documents")
    parser.add_argument("--real", type=int, default=800, help="real questions, fit and test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads(options.out.read_text("utf-8"))))
        return
    data_folder = Path(os.environ["SECONDLOOK_DATA"])
    results: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.calibrate_own", *sys.argv[1:]]),
        "made": options.made,
        "real": options.real,
        "seed": options.seed,
        "reader": load_reader().name,
        "sets": {},
    }
    with closing(Memory(cache_folder() / MEMORY_FILE)) as memory:
        for name in options.sets.split(","):
            data = datasets.load(data_folder / name)
            results["sets"][name] = measured(data, memory, options)
            options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def measured(data: EvalSet, memory: Memory, options: argparse.Namespace) -> dict[str, Any]:
    settings = load({"models.default": "none"}).settings
    with closing(open_indexed(data, settings, memory)) as library:
        shipped = load_calibration(library.reader().name)
        real = real_questions(data, library, options.real, options.seed)
        own, test = halves(real)
        made = made_questions(library, most=options.made, seed=options.seed)
        answering = Answering(library, shipped)
        answered = {
            name: answers(answering, asked, f"{data.name}: {name}")
            for name, asked in (("made", made), ("own", own), ("test", test))
        }
    return judged(answered, shipped)


def real_questions(data: EvalSet, library: EvaluatedLibrary, number: int, seed: int) -> list[Asked]:
    documents = {
        name: document
        for document, names in names_by_document(library, data).items()
        for name in names
    }
    cases = [case for case in data.cases if case.scored or not case.answerable]
    leave_out = all(case.answerable for case in cases)
    found = []
    for at, case in enumerate(sample(cases, limit=number, seed=seed)):
        gold = [documents[name] for name in case.gold if name in documents]
        without = leave_out and at % 2 == 1
        found.append(
            Asked(
                question=case.question,
                answers=case.answers,
                answerable=case.answerable and not without,
                group=gold[0] if gold else case.id,
                kind="left out" if without else "own",
                left_out=tuple(Place(document) for document in gold) if without else (),
            )
        )
    return found


def halves(asked: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    """Two halves that share no gold passage."""
    groups = {group: at % 2 for at, group in enumerate(dict.fromkeys(one.group for one in asked))}
    first = [one for one in asked if groups[one.group] == 0]
    return first, [one for one in asked if groups[one.group] == 1]


def answers(answering: Answering, asked: Sequence[Asked], name: str) -> list[Answered]:
    began, found = time.monotonic(), []
    with closing(LoopThread()) as loop:
        for at, one in enumerate(asked):
            if at % 50 == 0:
                print(f"{name}: {at} of {len(asked)}, {time.monotonic() - began:.0f} s", flush=True)
            answered = loop.run(answering.answer(one))
            if answered is not None:
                found.append(answered)
    return found


def judged(answered: dict[str, list[Answered]], shipped: Calibration) -> dict[str, Any]:
    test = answered["test"]
    found: dict[str, Any] = {
        "questions": {name: _described(part) for name, part in answered.items()},
        "shipped": on_test(shipped, test),
    }
    own = answered["own"]
    fits = {"made": answered["made"], **{f"own {n}": own[:n] for n in OWN if n <= len(own)}}
    for name, part in fits.items():
        chosen = fit(part, shipped, promising=name != "made")
        found[name] = {
            "method": chosen.method,
            "would be stored": chosen.better,
            "out of fold": judgement_data(chosen.after),
            **on_test(chosen.calibration, test),
        }
        right = [one.outcome.right for one in part]
        for way in ways(part, shipped, [one.asked.group for one in part]):
            risk = risk_table(way.out_of_fold, right)
            found[f"{name}, {way.method}"] = on_test(
                replace(shipped, answer=way.answer, risk=risk), test
            )
    for name, figures in found.items():
        if "ece" in figures:
            print(f"{name:<22} " + " ".join(f"{key} {figures[key]}" for key in FIGURES))
    return found


def on_test(calibration: Calibration, test: Sequence[Answered]) -> dict[str, Any]:
    said = [calibration.answer.probability(one.outcome.features) for one in test]
    right = [one.outcome.right for one in test]
    thresholds = {
        risk: calibration.risk.threshold(risk, confidence=CONFIDENCE) if calibration.risk else None
        for risk in RISKS
    }
    return judgement_data(judge(said, right, [thresholds] * len(said)))


def table(results: dict[str, Any]) -> str:
    lines = [
        "| library | made from | ECE | Brier | AUROC | wrong / given at .10 | at .20 | at .30 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in results["sets"].items():
        for way in (way for way in NAMES if way in found):
            figures = found[way]
            promises = [_promised(one) for one in figures["promises"] if one["max_risk"] > 0.05]
            cells = [f"`{name}`", NAMES[way], *(_short(figures[key]) for key in FIGURES), *promises]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _promised(promise: dict[str, float | None]) -> str:
    risk = promise["risk"]
    return f"{'-' if risk is None else _short(risk)} / {_short(promise['coverage'] or 0.0)}"


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _described(part: Sequence[Answered]) -> dict[str, Any]:
    by_kind: dict[str, Counter[bool]] = {}
    for one in part:
        kind = f"{one.asked.kind}, {'answerable' if one.asked.answerable else 'not answerable'}"
        by_kind.setdefault(kind, Counter())[one.outcome.right] += 1
    return {
        kind: {"answers": counts.total(), "right": counts[True]}
        for kind, counts in sorted(by_kind.items())
    }


if __name__ == "__main__":
    main()
