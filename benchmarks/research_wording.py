"""By which limits queries and questions of a research are told to be alike, near or neither.

    python -m benchmarks.research_wording

`sets/research_queries.jsonl` has 36 questions with a primary query, two alternatives in other
words, a repeat (the same words in another order) and a drifter (a word of it, about something
else). `sets/research_steps.jsonl` has 12 questions that take several steps, three steps of each and
the first one said in other words. All are our own. The limits in `nodes.planning.diversity` were
chosen on these rows, so the figures are of a fit and not of a test. Writes
`benchmarks/results/research_wording.json`.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from secondlook.evaluation.intervals import wilson
from secondlook.nodes.planning.diversity import (
    LEAST_LIKE,
    MOST_SHARED,
    SAME_LIKE,
    SAME_SHARED,
    asks_the_same,
    likeness,
    shared,
)
from secondlook.nodes.planning.questions import leans
from secondlook.nodes.rewriting import accepted
from secondlook.reading import load_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.context import Context

SETS = Path(__file__).parent / "sets"
RESULTS = Path(__file__).parent / "results" / "research_wording.json"
LANGUAGE = "english"
_OTHERS = (5, 7, 11)
"""How far away the rows are whose texts have nothing to do with a row."""


class Shelf:
    """The one thing of a library that is needed: its embedder."""

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(_vector(one) @ _vector(other)) for one, other in pairs]


@cache
def _vector(text: str) -> NDArray[np.float32]:
    return np.asarray(load_embedder().embed_passages([text])[0])


class _Context:
    shelf = Shelf()


def like(one: str, other: str) -> float:
    return asyncio.run(likeness(cast("Context", _Context()), one, [other]))[0]


def rows(name: str) -> list[dict[str, Any]]:
    lines = (SETS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def measure_queries(given: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What becomes of each kind of query, by the limits as they are."""

    def near(at: int, text: str) -> bool:
        return like(given[at]["primary"], text) >= LEAST_LIKE

    def repeats(row: dict[str, Any], text: str) -> bool:
        return shared(text, row["primary"], row["question"], LANGUAGE) > MOST_SHARED

    each = [(at, row, text) for at, row in enumerate(given) for text in row["alternatives"]]
    far = [((at + step) % len(given), text) for at, _, text in each for step in _OTHERS]
    return {
        "primaries_that_the_guard_takes": _share(
            [accepted(row["primary"], row["question"], ()).is_accepted for row in given]
        ),
        "alternatives_in_other_words": _share([not repeats(row, text) for _, row, text in each]),
        "alternatives_near_enough": _share([near(at, text) for at, _, text in each]),
        "repeats_refused": _share([repeats(row, row["repeat"]) for row in given]),
        "drifters_refused": _share([not near(at, row["drifter"]) for at, row in enumerate(given)]),
        "alternatives_of_other_rows_refused": _share([not near(at, text) for at, text in far]),
    }


def measure_steps(given: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pairs = [
        (one, other)
        for row in given
        for at, one in enumerate(row["steps"])
        for other in row["steps"][at + 1 :]
    ]
    again = [(row["steps"][0], row["retry"]) for row in given]
    every = [text for row in given for text in (*row["steps"], row["retry"])]
    return {
        "steps_that_are_new": _share([not _same(*pair) for pair in pairs]),
        "retries_in_other_words_taken_for_new": _share([not _same(*pair) for pair in again]),
        "the_same_question_refused": _share(
            [_same(text, f"{text[0].lower()}{text[1:]}") for text in every]
        ),
        "questions_that_stand_by_themselves": _share([not leans(text) for text in every]),
    }


def _same(one: str, other: str) -> bool:
    return asks_the_same(one, other, like(one, other), LANGUAGE)


def _share(held: Sequence[bool]) -> dict[str, Any]:
    low, high = wilson(sum(held) / len(held), len(held))
    return {
        "of": len(held),
        "share": round(sum(held) / len(held), 3),
        "interval": [round(low, 3), round(high, 3)],
    }


def main() -> None:
    found = {
        "embedder": load_embedder().name,
        "limits": {
            "most_shared": MOST_SHARED,
            "least_like": LEAST_LIKE,
            "same_like": SAME_LIKE,
            "same_shared": SAME_SHARED,
        },
        "queries": measure_queries(rows("research_queries")),
        "steps": measure_steps(rows("research_steps")),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
