"""How well the reader tells an answer that addresses its question from one that does not.

    export SECONDLOOK_DATA=...
    python -m benchmarks.useful [--questions 1600] [--save]

Questions of `squad2-dev`, each with its own passage. Four kinds of sentences are put to the reader,
alone, as `check_useful` does: those with the right answer; those with the answer to another
question of the same passage; and those that the product gives without a model, right and wrong
(the wrong ones include every answer to a question that has none). What the margin is worth, the
threshold and the grey band come from half of the articles, the error rates from the other half.
Writes `benchmarks/results/useful.json`; `--save` also what the product goes by,
`nodes/useful.json`.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import ROOT, SQUAD_SEED, auroc, parser, rows, save
from secondlook.evaluation.metrics import f1
from secondlook.reading import load_reader
from secondlook.reading.calibration import Candidate, load_calibration
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.retrieval.search import read_in_context
from secondlook.roles.sentences import sentence_around, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.reading.calibration import Calibration
    from secondlook.reading.logistic import Logistic
    from secondlook.reading.port import Reader

    Place = tuple[int, int]

SHIPPED = ROOT / "src" / "secondlook" / "nodes" / "useful.json"
RIGHT_F1 = 0.5
MOST_GIVEN_REJECTED = 0.01
"""Of the right answers that the product gives; half of what it must keep to elsewhere."""
MOST_RIGHT_REJECTED = 0.05
GREY_RIGHT, GREY_OTHER = 0.02, 0.95
KINDS = ("right", "other", "given right", "given wrong")


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    article: str
    margin: float


def right_place(row: Mapping[str, Any], text: str) -> Place | None:
    """The sentence with the right answer."""
    if not row["answerable"] or not row.get("answer_starts"):
        return None
    start, said = row["answer_starts"][0], row["answer_texts"][0]
    whole = text[start : start + len(said)] == said
    return sentence_around(text, start, start + len(said)) if whole else None


def given_place(
    reader: Reader, calibration: Calibration, row: Mapping[str, Any], passage: Mapping[str, Any]
) -> tuple[str, Place] | None:
    """The sentence that the product gives without a model where it has found the passage first."""
    text = passage["text"]
    (reading,) = read_in_context(reader, row["question"], [(passage["title"], (), text)])
    candidate = Candidate(
        relevance=reading.relevance,
        answerable=reading.answerable,
        span_score=reading.span_score,
        null_score=reading.null_score,
        score=1.0,
        fusion_score=1.0,
        dense_rank=1,
        lexical_rank=1,
    )
    probability = calibration.answer_probability([candidate], 0)
    if reading.start == reading.end or (probability or 0.0) < calibration.min_answer:
        return None
    start, end = whole_numbers(text, reading.start, reading.end)
    right = row["answerable"] and f1(text[start:end], row["answers"]) >= RIGHT_F1
    return f"given {'right' if right else 'wrong'}", sentence_around(text, start, end)


def cases(
    reader: Reader,
    calibration: Calibration,
    row: Mapping[str, Any],
    passage: Mapping[str, Any],
    others: set[Place],
) -> Iterator[Case]:
    places: list[tuple[str, Place]] = []
    if (right := right_place(row, passage["text"])) is not None:
        places.append(("right", right))
        if rest := sorted(others - {right}):
            places.append(("other", random.Random(row["id"]).choice(rest)))
    if (given := given_place(reader, calibration, row, passage)) is not None:
        places.append(given)
    texts = [" ".join(passage["text"][slice(*place)].split()) for _, place in places]
    readings = reader.read(row["question"], texts) if texts else []
    for (kind, _), reading in zip(places, readings, strict=True):
        yield Case(kind, passage["title"], reading.span_score - reading.null_score)


def measured(held: Sequence[Case]) -> dict[str, Any]:
    fitted_on = set(sorted({case.article for case in held})[::2])
    halves = [
        [case for case in held if (case.article in fitted_on) is ours] for ours in (True, False)
    ]
    outcomes = [
        Outcome({"margin": case.margin}, case.kind == "right")
        for case in halves[0]
        if case.kind in {"right", "other"}
    ]
    worth = fit_logistic(outcomes, ["margin"])
    ours, theirs = (_scores(half, worth) for half in halves)
    threshold = min(
        float(np.quantile(ours["given right"], MOST_GIVEN_REJECTED)),
        float(np.quantile(ours["right"], MOST_RIGHT_REJECTED)),
    )
    threshold = round(threshold - 0.005, 2)
    grey = [np.quantile(ours["right"], GREY_RIGHT), np.quantile(ours["other"], GREY_OTHER)]
    return {
        "bias": worth.bias,
        "weight": worth.weights["margin"],
        "threshold": threshold,
        "grey": [round(float(edge), 2) for edge in grey],
        "fitted_on": _figures(ours, threshold, grey),
        "measured_on": _figures(theirs, threshold, grey),
    }


def _scores(held: Sequence[Case], worth: Logistic) -> dict[str, np.ndarray]:
    return {
        kind: np.array(
            [worth.probability({"margin": case.margin}) for case in held if case.kind == kind]
        )
        for kind in KINDS
    }


def _figures(
    scores: Mapping[str, np.ndarray], threshold: float, grey: Sequence[float]
) -> dict[str, Any]:
    sure = auroc(scores["right"].tolist(), scores["other"].tolist())
    given = auroc(scores["given right"].tolist(), scores["given wrong"].tolist())
    return {
        "sentences": {kind: len(values) for kind, values in scores.items()},
        "auroc": round(sure, 4),
        "auroc_given": round(given, 4),
        "rejected": {
            kind: round(float(np.mean(values < threshold)), 4) for kind, values in scores.items()
        },
        "in_grey_band": {
            kind: round(float(np.mean((values >= grey[0]) & (values < grey[1]))), 4)
            for kind, values in scores.items()
        },
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--questions", type=int, default=1600)
    options.add_argument("--save", action="store_true", help="let the product go by it")
    given = options.parse_args()
    reader = load_reader()
    calibration = load_calibration(reader.name)
    corpus = {row["id"]: row for row in rows("squad2-dev", "corpus")}
    asked = [row for row in rows("squad2-dev", "queries") if row["gold"][0] in corpus]
    answered: dict[str, set[Place]] = defaultdict(set)
    for row in asked:
        if (place := right_place(row, corpus[row["gold"][0]]["text"])) is not None:
            answered[row["gold"][0]].add(place)
    drawn = random.Random(SQUAD_SEED).sample(asked, min(given.questions, len(asked)))
    held: list[Case] = []
    for at, row in enumerate(drawn):
        if at % 100 == 0:
            print(f"{at} of {len(drawn)} questions", flush=True)
        passage = corpus[row["gold"][0]]
        held += cases(reader, calibration, row, passage, answered[passage["id"]])
    found = {"reader": reader.name, "questions": len(drawn), **measured(held)}
    save("useful", found)
    if given.save:
        names = ("reader", "bias", "weight", "threshold", "grey")
        made = {
            "format": 1,
            **{name: found[name] for name in names},
            "made": dt.datetime.now(dt.UTC).date().isoformat(),
            "by": "python -m benchmarks.useful --save",
            "data": "half of the articles of squad2-dev",
        }
        SHIPPED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
