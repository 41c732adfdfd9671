"""What int8 costs: the same reader in int8 and in float32 over the same gold passages."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.reading_answers import answer_scores, auroc, questions_with_passages
from secondlook.reading.reader import OnnxReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Reading
    from secondlook.reading.weights import Weights

DATA = "squad2-dev"
WITHIN = 0.005
"""What int8 may cost: half a point."""


def precision(int8: Weights, exact: Weights, size: int) -> dict[str, Any]:
    """Answers and answerability of both, how they differ, and whether that is little enough."""
    asked = questions_with_passages(DATA, size)
    read = {
        name: _read(OnnxReader(weights, remembered=0), asked)
        for name, weights in (("int8", int8), ("float32", exact))
    }
    figures = {name: _figures(asked, readings) for name, readings in read.items()}
    lost = {name: figures["float32"][name] - figures["int8"][name] for name in figures["int8"]}
    return {
        "data": DATA,
        "questions": size,
        "readers": {"int8": int8.identity, "float32": exact.identity},
        **figures,
        "lost": lost,
        "same_span": statistics.mean(
            (one.start, one.end) == (other.start, other.end)
            for one, other in zip(read["int8"], read["float32"], strict=True)
        ),
        "within_half_a_point": max(lost.values()) <= WITHIN,
    }


def _read(reader: OnnxReader, asked: Sequence[dict[str, Any]]) -> list[Reading]:
    readings = []
    for at, row in enumerate(asked, 1):
        readings += reader.read(row["question"], [row["passage"]])
        if at % 250 == 0:
            print(f"{at} of {len(asked)}", flush=True)
    return readings


def _figures(asked: Sequence[dict[str, Any]], readings: Sequence[Reading]) -> dict[str, float]:
    scored = [
        answer_scores(row["passage"][one.start : one.end], row["answers"])
        for row, one in zip(asked, readings, strict=True)
        if row["answerable"]
    ]
    sides: dict[bool, list[float]] = {True: [], False: []}
    for row, one in zip(asked, readings, strict=True):
        sides[row["answerable"]].append(one.answerable)
    exact, f1 = (statistics.mean(column) for column in zip(*scored, strict=True))
    return {"EM": exact, "F1": f1, "AUROC": auroc(sides[True], sides[False])}
