"""How well the judge that counts words tells supported sentences from others.

    SECONDLOOK_DATA=... python benchmarks/support.py

HaluEval and the inference sets decide the threshold; BEGIN (people's judgements of sentences that
models wrote from a given text, the case nearest to ours) only reports. HaluEval's wrong answers
are longer than its right ones, so right answers of fewer than four words are left out: what is
compared must at least be a phrase. The trained judge is measured by
`python -m benchmarks.groundedness`. Writes benchmarks/results/support.json.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.reading_answers import SEED, auroc, rows
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, load_support

SIZE = 1000
LEAST_WORDS = 4
THRESHOLDS = (0.4, 0.5, 0.6)
RESULTS = Path(__file__).parent / "results" / "support.json"

Pairs = list[tuple[str, str]]


def inference(name: str) -> tuple[Pairs, Pairs]:
    supported: Pairs = []
    other: Pairs = []
    for row in rows("nli", name):
        pairs = supported if row["label"] == "entailment" else other
        pairs.append((row["hypothesis"], row["premise"]))
    return supported, other


def halueval() -> tuple[Pairs, Pairs]:
    chosen = [
        row
        for row in rows("halueval-qa", "rows")
        if len(row["right_answer"].split()) >= LEAST_WORDS
    ]
    return (
        [(row["right_answer"], row["knowledge"]) for row in chosen],
        [(row["hallucinated_answer"], row["knowledge"]) for row in chosen],
    )


def begin() -> tuple[Pairs, Pairs]:
    labelled: dict[str, Pairs] = {"Fully attributable": [], "Not fully attributable": []}
    for row in rows("faithfulness-human", "begin"):
        if row["begin_label"] in labelled:
            labelled[row["begin_label"]].append((row["response"], row["knowledge"]))
    return labelled["Fully attributable"], labelled["Not fully attributable"]


def measure(supported: Pairs, other: Pairs) -> dict[str, Any]:
    judge = load_support("coverage")
    supported, other = sample(supported), sample(other)
    began = time.process_time()
    right, wrong = np.array(judge.support(supported)), np.array(judge.support(other))
    seconds = time.process_time() - began
    return {
        "supported": len(right),
        "other": len(wrong),
        "auroc": round(auroc(right.tolist(), wrong.tolist()), 3),
        "keeps_95_percent": round(float(np.quantile(right, 0.05)), 3),
        "kept": {
            str(at): [round(float((some >= at).mean()), 3) for some in (right, wrong)]
            for at in THRESHOLDS
        },
        "microseconds_each": round(1e6 * seconds / (len(right) + len(wrong))),
    }


def sample(pairs: Pairs) -> Pairs:
    return random.Random(SEED).sample(pairs, min(SIZE, len(pairs)))


def main() -> None:
    sets = {
        "halueval-qa": halueval(),
        "nli/fever": inference("fever_validation"),
        "nli/rte": inference("rte_train"),
        "nli/scitail": inference("scitail_dev"),
        "nli/mnli": inference("mnli_dev"),
        "begin": begin(),
    }
    found: dict[str, Any] = {name: measure(*pairs) for name, pairs in sets.items()}
    print(json.dumps(found, indent=1))
    judged = {
        "judge": load_support("coverage").name,
        "threshold": DEFAULT_MIN_SUPPORT,
        "sets": found,
    }
    RESULTS.write_text(json.dumps(judged, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
