"""How well the reader tells an answer that addresses its question from one that does not.

    export SECONDLOOK_DATA=...
    python -m benchmarks.useful [--questions 1600] [--save]

Questions of `squad2-dev`, each with its own passage. Four kinds of sentences are put to the reader,
alone, as `check_useful` does: those with the right answer; those with the answer to another
question of the same passage; and those that the product gives without a model, right and wrong
(the wrong ones include every answer to a question that has none). What the margin is worth, the
threshold and the grey band come from half of the articles, the error rates from the other half.

Also measured: the cosine of the embedder between such a sentence and its own passage, another
passage of the article and a passage of another article, for the judge `similarity`.

Writes `benchmarks/results/useful.json`; `--save` also what the product goes by,
`nodes/checking/useful.json`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import secondlook.nodes.checking
from benchmarks.reading_answers import SEED, answer_scores, auroc, rows
from secondlook.nodes.limits import MIN_LIKENESS
from secondlook.reading import load_embedder, load_reader
from secondlook.reading.calibration import Candidate, load_calibration
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.retrieval.search import read_in_context
from secondlook.roles.sentences import sentence_around, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.reading.calibration import Calibration
    from secondlook.reading.logistic import Logistic
    from secondlook.reading.port import Reader, Reading

RESULTS = Path(__file__).parent / "results" / "useful.json"
SHIPPED = Path(secondlook.nodes.checking.__file__).parent / "useful.json"
RIGHT_F1 = 0.5
MOST_GIVEN_REJECTED = 0.01
"""Of the right answers that the product gives; half of what it must keep to elsewhere."""
MOST_RIGHT_REJECTED = 0.05
LIKENESS_QUESTIONS = 300
GREY_RIGHT = 0.02
GREY_OTHER = 0.95
KINDS = ("right", "other", "given right", "given wrong")


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    article: str
    margin: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=1600)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--save", action="store_true", help="let the product go by it")
    given = parser.parse_args()
    reader = load_reader(threads=given.threads)
    corpus = {row["id"]: row for row in rows("squad2-dev", "corpus")}
    asked = [row for row in rows("squad2-dev", "queries") if row["gold"][0] in corpus]
    sample = random.Random(SEED).sample(asked, min(given.questions, len(asked)))
    others = _answered_places(asked, corpus)
    calibration = load_calibration(reader.name)
    cases: list[Case] = []
    for at, row in enumerate(sample):
        if at % 100 == 0:
            print(f"{at} of {len(sample)} questions", flush=True)
        cases += _cases(reader, calibration, row, corpus[row["gold"][0]], others)
    found = _measured(cases)
    found = {"reader": reader.name, "questions": len(sample), **found}
    found["likeness"] = _likeness(sample, corpus, given.threads)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.save:
        _save(found)
    print(json.dumps(found, indent=1))


def _answered_places(
    asked: Sequence[Mapping[str, Any]], corpus: Mapping[str, Any]
) -> dict[str, set[tuple[int, int]]]:
    """Of each passage the sentences that answer one of its questions."""
    found: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for row in asked:
        if (place := _right_place(row, corpus[row["gold"][0]]["text"])) is not None:
            found[row["gold"][0]].add(place)
    return found


def _right_place(row: Mapping[str, Any], text: str) -> tuple[int, int] | None:
    if not row["answerable"] or not row.get("answer_starts"):
        return None
    start, said = row["answer_starts"][0], row["answer_texts"][0]
    whole = text[start : start + len(said)] == said
    return sentence_around(text, start, start + len(said)) if whole else None


def _cases(
    reader: Reader,
    calibration: Calibration,
    row: Mapping[str, Any],
    passage: Mapping[str, Any],
    others: Mapping[str, set[tuple[int, int]]],
) -> Iterator[Case]:
    text = passage["text"]
    places: list[tuple[str, tuple[int, int]]] = []
    if (right := _right_place(row, text)) is not None:
        places.append(("right", right))
        rest = sorted(others[passage["id"]] - {right})
        places += [
            ("other", place) for place in random.Random(row["id"]).sample(rest, 1 if rest else 0)
        ]
    if (given := _given(reader, calibration, row, passage)) is not None:
        places.append(given)
    texts = [" ".join(text[slice(*place)].split()) for _, place in places]
    readings = reader.read(row["question"], texts) if texts else []
    for (kind, _), reading in zip(places, readings, strict=True):
        yield Case(kind, passage["title"], reading.span_score - reading.null_score)


def _given(
    reader: Reader, calibration: Calibration, row: Mapping[str, Any], passage: Mapping[str, Any]
) -> tuple[str, tuple[int, int]] | None:
    """The sentence that the product gives without a model where it has found the passage."""
    parts = [(passage["title"], (), passage["text"])]
    (reading,) = read_in_context(reader, row["question"], parts)
    probability = calibration.answer_probability([_candidate(reading)], 0)
    if reading.start == reading.end or (probability or 0.0) < calibration.min_answer:
        return None
    start, end = whole_numbers(passage["text"], reading.start, reading.end)
    said = passage["text"][start:end]
    right = row["answerable"] and answer_scores(said, row["answers"])[1] >= RIGHT_F1
    return (f"given {'right' if right else 'wrong'}", sentence_around(passage["text"], start, end))


def _candidate(reading: Reading) -> Candidate:
    """As the first of both searches."""
    return Candidate(
        relevance=reading.relevance,
        answerable=reading.answerable,
        span_score=reading.span_score,
        null_score=reading.null_score,
        score=1.0,
        fusion_score=1.0,
        dense_rank=1,
        lexical_rank=1,
    )


def _measured(cases: Sequence[Case]) -> dict[str, Any]:
    articles = sorted({case.article for case in cases})
    fitted_on = set(articles[::2])
    ours = [case for case in cases if case.article in fitted_on]
    theirs = [case for case in cases if case.article not in fitted_on]
    worth = fit_logistic(
        [
            Outcome({"margin": case.margin}, case.kind == "right")
            for case in ours
            if case.kind in {"right", "other"}
        ],
        ["margin"],
    )
    scores = _scores(ours, worth)
    threshold = min(
        float(np.quantile(scores["given right"], MOST_GIVEN_REJECTED)),
        float(np.quantile(scores["right"], MOST_RIGHT_REJECTED)),
    )
    threshold = round(threshold - 0.005, 2)
    grey = [np.quantile(scores["right"], GREY_RIGHT), np.quantile(scores["other"], GREY_OTHER)]
    return {
        "bias": worth.bias,
        "weight": worth.weights["margin"],
        "threshold": threshold,
        "grey": [round(float(edge), 2) for edge in grey],
        "fitted_on": _figures(scores, threshold, grey),
        "measured_on": _figures(_scores(theirs, worth), threshold, grey),
    }


def _scores(cases: Sequence[Case], worth: Logistic) -> dict[str, list[float]]:
    return {
        kind: [worth.probability({"margin": case.margin}) for case in cases if case.kind == kind]
        for kind in KINDS
    }


def _figures(
    scores: Mapping[str, list[float]], threshold: float, grey: Sequence[float]
) -> dict[str, Any]:
    def below(kind: str) -> float:
        return round(float(np.mean(np.array(scores[kind]) < threshold)), 4)

    def between(kind: str) -> float:
        values = np.array(scores[kind])
        return round(float(np.mean((values >= grey[0]) & (values < grey[1]))), 4)

    return {
        "sentences": {kind: len(values) for kind, values in scores.items()},
        "auroc": round(auroc(scores["right"], scores["other"]), 4),
        "auroc_given": round(auroc(scores["given right"], scores["given wrong"]), 4),
        "rejected": {kind: below(kind) for kind in KINDS},
        "in_grey_band": {kind: between(kind) for kind in KINDS},
    }


def _likeness(
    sample: Sequence[Mapping[str, Any]], corpus: Mapping[str, Any], threads: int | None
) -> dict[str, Any]:
    """Cosines of a sentence and the evidence that it does, or does not, come from."""
    embedder = load_embedder(threads=threads)
    by_title: dict[str, list[str]] = defaultdict(list)
    for passage in corpus.values():
        by_title[passage["title"]].append(passage["text"])
    titles = sorted(by_title)
    found: dict[str, list[float]] = {"own": [], "same article": [], "another article": []}
    for row in sample[:LIKENESS_QUESTIONS]:
        passage = corpus[row["gold"][0]]
        if (place := _right_place(row, passage["text"])) is None:
            continue
        rng = random.Random(row["id"])
        other = rng.choice([title for title in titles if title != passage["title"]])
        texts = [
            passage["text"],
            rng.choice([text for text in by_title[passage["title"]] if text != passage["text"]]),
            rng.choice(by_title[other]),
        ]
        vectors = embedder.embed_passages([passage["text"][slice(*place)], *texts])
        for name, vector in zip(found, vectors[1:], strict=True):
            found[name].append(float(vectors[0] @ vector))
    return {
        name: {
            "pairs": len(values),
            "mean": round(float(np.mean(values)), 3),
            "passes": round(float(np.mean(np.array(values) >= MIN_LIKENESS)), 3),
        }
        for name, values in found.items()
    }


def _save(found: Mapping[str, Any]) -> None:
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
