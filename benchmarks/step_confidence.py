"""What the confidence of a step of research is worth, and how much of it is the wording.

    export SECONDLOOK_DATA=...
    python -m benchmarks.step_confidence [--questions 150]

Questions of `squad2-dev`, `hotpot` and `barexam` (there: the sentence that asks), each searched
and read as asked and in a second wording, its words without stop words. Told of each set: how well
the confidence parts searches whose five best hold a gold passage from the others (AUROC), how often
they do above and around the threshold, and how far the two wordings differ. The median difference
on `barexam`, where steps mostly fail, is the noise that stagnation is measured by; on the others,
the margin in which a step is called weak. The same of the mean cosine, by which the seed judges.
Writes `benchmarks/results/step_confidence.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.grading_cases import desk, drawn
from secondlook.evaluation.intervals import wilson
from secondlook.nodes.assess import measured
from secondlook.nodes.researching.weighing import Scale
from secondlook.retrieval.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.grading_cases import Asked, Desk
    from secondlook.evaluation.records import Case

RESULTS = Path(__file__).parent / "results" / "step_confidence.json"
SETS = ("squad2-dev", "hotpot", "barexam")
_K = 5
_SENTENCE = re.compile(r"(?<=[.?!])\s+")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=150, help="of each set")
    given = parser.parse_args()
    figures = {name: _figures(name, given.questions) for name in SETS}
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


def _figures(name: str, questions: int) -> dict[str, Any]:
    with desk(name) as at:
        cases = [_asking(case) for case in drawn(at.data.cases, questions) if case.gold]
        pairs = [(_seen(at, case), _seen(at, _reworded(case))) for case in cases]
        scale = Scale.of(at.context(cases[0].question))
    every = [one for pair in pairs for one in pair]
    near = [held for sure, _, held in every if abs(sure - scale.threshold) < scale.margin]
    above = [held for sure, _, held in every if sure >= scale.threshold]
    return {
        "questions": len(pairs),
        "gold_in_best_five": _share([held for _, _, held in every]),
        "auroc_confidence": _auroc([(sure, held) for sure, _, held in every]),
        "auroc_cosine": _auroc([(like, held) for _, like, held in every]),
        "threshold": scale.threshold,
        "margin": scale.margin,
        "gold_above_threshold": _share(above),
        "gold_within_margin": _share(near),
        "between_wordings": {
            "confidence": _spread([abs(one[0] - other[0]) for one, other in pairs]),
            "cosine": _spread([abs(one[1] - other[1]) for one, other in pairs]),
        },
        "cosine_at_least_0.70": sum(like >= 0.70 for _, like, _ in every) / len(every),
    }


def _asking(case: Case) -> Case:
    """A fact pattern is no question; what it ends with is."""
    return replace(case, question=_SENTENCE.split(case.question.strip())[-1])


def _reworded(case: Case) -> Case:
    kept = [word for word in case.question.split() if word.casefold() not in STOP_WORDS["english"]]
    return replace(case, question=" ".join(kept) or case.question)


def _seen(at: Desk, case: Case) -> tuple[float, float, bool]:
    """Confidence, mean cosine, and whether gold is among the best five."""
    asked: Asked = at.asked(case, most=_K)
    found = list(asked.found)
    context = at.context(case.question)
    held = context.shelf.passages([item["id"] for item in found])
    pairs = [(case.question, held[item["id"]].text) for item in found]
    likes = context.shelf.similarity(pairs) if pairs else [0.0]
    sure = measured(found, context.calibration) or 0.0
    gold = any(name in case.gold for name in asked.names)
    return sure, sum(likes) / len(likes), gold


def _share(held: Sequence[bool]) -> dict[str, Any]:
    if not held:
        return {"n": 0}
    share = round(sum(held) / len(held), 4)
    low, high = wilson(share, len(held))
    return {"n": len(held), "share": share, "low": round(low, 4), "high": round(high, 4)}


def _spread(differences: Sequence[float]) -> dict[str, float]:
    tenths = quantiles(differences, n=10)
    return {"median": round(median(differences), 4), "p90": round(tenths[-1], 4)}


def _auroc(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The share of pairs, one with gold and one without, that the score puts in order."""
    yes = [score for score, held in pairs if held]
    no = [score for score, held in pairs if not held]
    if not yes or not no:
        return None
    won = math.fsum((one > other) + 0.5 * (one == other) for one in yes for other in no)
    return round(won / (len(yes) * len(no)), 4)


if __name__ == "__main__":
    main()
