"""What a calibration made from a library's own documents is worth on real questions about them.

export SECONDLOOK_DATA=...           the folder with the evaluation sets
python -m benchmarks.calibrate_own           both sets; what was read is remembered

For each set its corpus is the library. A calibration is made as `secondlook calibrate` makes it,
once from questions made without a model, once from real questions, and judged on other real
questions, none of whose gold passages were asked about in the fit. A set without unanswerable
questions has the gold passages of every other question left out of the search.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from benchmarks.common import data_folder, parser, save
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
)
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.generated_questions import Asked, Place, made_questions
from secondlook.evaluation.library import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.reading import load_reader
from secondlook.reading.calibration import load_calibration
from secondlook.settings import load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from secondlook.evaluation.confidence import Answered
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.library import EvaluatedLibrary
    from secondlook.reading.calibration import Calibration

SETS = ("squad2-dev", "shift-new_wiki")
OWN = (100, 200)
"""Real questions that a person may have written."""
FIGURES = ("ece", "brier", "auroc")


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


def _described(part: Sequence[Answered]) -> dict[str, Any]:
    by_kind: dict[str, Counter[bool]] = {}
    for one in part:
        kind = f"{one.asked.kind}, {'answerable' if one.asked.answerable else 'not answerable'}"
        by_kind.setdefault(kind, Counter())[one.outcome.right] += 1
    return {
        kind: {"answers": counts.total(), "right": counts[True]}
        for kind, counts in sorted(by_kind.items())
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--made", type=int, default=400, help="questions made from the documents")
    options.add_argument("--real", type=int, default=800, help="real questions, fit and test")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    found: dict[str, Any] = {"reader": load_reader().name, "sets": {}}
    with closing(Memory(cache_folder() / MEMORY_FILE)) as memory:
        for name in given.sets.split(","):
            data = datasets.load(data_folder() / name)
            found["sets"][name] = measured(data, memory, given)
    save("calibrate_own", found)


if __name__ == "__main__":
    main()
