"""Graders against pairs that were labelled by hand (benchmarks/labelled/README.md has the rule).

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.labelled_pairs                        # the reader
    python -m benchmarks.labelled_pairs --model gguf:PATH      # and a model, all ten in one call

Each grader is given the ten best passages of the question, as the product would give them, and
what it says of the labelled one counts. `relevant` is *about* or *answers*; `answers` that alone.
Writes `benchmarks/results/labelled_pairs.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.grading_cases import Asked, Desk, desk, with_settings
from secondlook.evaluation.intervals import wilson
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.grading import graded
from secondlook.nodes.retrieve import found_by
from secondlook.retrieval.index.port import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from secondlook.evaluation.records import Case
    from secondlook.state import Found, Grade

PAIRS = Path(__file__).parent / "labelled" / "pairs.jsonl"
LABELS = ("answers", "about", "neither")
RELEVANT = frozenset({"answers", "about"})
BY_MODEL = ("llm-batch", "auto")


@dataclass(frozen=True, slots=True)
class Pair:
    set: str
    query: str
    document: str
    label: str
    why: str
    band: str
    weight: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One pair, and what a grader made of it."""

    pair: Pair
    grade: str
    gold: bool


def pairs() -> list[Pair]:
    return [Pair(**json.loads(line)) for line in PAIRS.read_text("utf-8").splitlines()]


def given(place: Desk, case: Case, document: str) -> tuple[Asked, int]:
    """What the grader sees, and where in it the labelled passage is."""
    asked = place.asked(case)
    if document in asked.names:
        return asked, asked.names.index(document)
    # Another reader or other settings may not find it any more: it is graded all the same.
    item = _fetched(place, case, document)
    kept = Asked(
        case,
        (*asked.found[:-1], item),
        (*asked.gold[:-1], document in case.gold),
        (*asked.names[:-1], document),
    )
    return kept, len(kept.found) - 1


def _fetched(place: Desk, case: Case, document: str) -> Found:
    context = place.context(case.question)
    inside = next(key for key, names in place.names.items() if document in names)
    options = search_options(place.settings.search)
    hits = context.shelf.find(case.question, options, Filter(documents=frozenset({inside})))
    first = min(hits, key=lambda hit: hit.passage.start)
    (item,) = place.do(ranking.read(context, case.question, [found_by(first)]))
    return item


def judged_by(place: Desk, of_set: Sequence[Pair], grader: str) -> Iterator[Judged]:
    cases = {case.id: case for case in place.data.cases}
    settings = with_settings(place.settings, grader=grader)
    for pair in of_set:
        case = cases[pair.query]
        asked, at = given(place, case, pair.document)
        context = place.context(case.question, settings=settings)
        made = place.do(graded(context, case.question, list(asked.found)))
        grade: Grade = made.found[at]["grade"]
        yield Judged(pair, grade, asked.gold[at])
        print(f"{grader}: {pair.label:8} {grade}", file=sys.stderr, flush=True)


def figures(found: Sequence[Judged]) -> dict[str, Any]:
    """Precision and recall of both questions that a grader answers."""
    return {
        "pairs": len(found),
        "said": _crossed(found),
        "relevant": scores(
            (one.grade in RELEVANT, one.pair.label in RELEVANT, one.pair.weight) for one in found
        ),
        "answers": scores(
            (one.grade == "answers", one.pair.label == "answers", one.pair.weight) for one in found
        ),
        "relevant, against gold": scores(
            (one.grade in RELEVANT, one.gold, one.pair.weight) for one in found
        ),
    }


def _crossed(found: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """By label, how often each grade was given."""
    told: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        told[one.pair.label][one.grade] += 1
    return {label: dict(told[label]) for label in LABELS}


def scores(outcomes: Iterable[tuple[bool, bool, float]]) -> dict[str, Any]:
    """Of (said so, is so, weight): plain with 95 % intervals, and weighted."""
    held = list(outcomes)
    return {
        "precision": _share(held, of=lambda said, _: said),
        "recall": _share(held, of=lambda _, is_so: is_so),
    }


def _share(
    held: Sequence[tuple[bool, bool, float]], *, of: Callable[[bool, bool], bool]
) -> dict[str, Any]:
    """How many of those are both said and so."""
    whole = [(said and is_so, weight) for said, is_so, weight in held if of(said, is_so)]
    if not whole:
        return {"value": None, "n": 0}
    value = sum(both for both, _ in whole) / len(whole)
    low, high = wilson(value, len(whole))
    weighted = sum(weight for both, weight in whole if both) / sum(weight for _, weight in whole)
    return {
        "value": round(value, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "n": len(whole),
        "weighted": round(weighted, 3),
    }


def run(model: str | None) -> dict[str, Any]:
    flags = {"models.default": model} if model else {}
    graders = ("reader", *(BY_MODEL if model else ()))
    found: dict[str, list[Judged]] = {grader: [] for grader in graders}
    every = pairs()
    reader = ""
    for name in dict.fromkeys(pair.set for pair in every):
        with desk(name, flags) as place:
            reader = place.library.reader().name
            for grader in graders:
                of_set = [pair for pair in every if pair.set == name]
                found[grader] += judged_by(place, of_set, grader)
    return {
        "reader": reader,
        "model": Path(model.partition(":")[2]).name if model else None,
        "labels": dict(Counter(pair.label for pair in every)),
        "graders": {grader: _by_set(those) for grader, those in found.items()},
    }


def _by_set(found: Sequence[Judged]) -> dict[str, Any]:
    names = dict.fromkeys(one.pair.set for one in found)
    parts = {name: figures([one for one in found if one.pair.set == name]) for name in names}
    return {"all": figures(found), **parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="also grade with this model, such as gguf:PATH")
    model = parser.parse_args().model
    made = run(model)
    for grader, of_grader in made["graders"].items():
        print(grader, json.dumps(of_grader["all"], indent=1))
    write_results(RESULTS / "labelled_pairs.json", "python -m benchmarks.labelled_pairs", made)


if __name__ == "__main__":
    main()
