"""Rows as an evaluation leaves them: of one kind, or of all kinds, planted by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.records import Row


def a_row(case: str = "q1", **known: Any) -> Row:
    """A row of which only what a test is about is said."""
    status = known.get("status", "answered")
    stopped = {"answered": "answered", "failed": "error"}.get(status, "low_confidence")
    usual = {"configuration": "linear", "status": "answered", "stop_reason": stopped}
    return Row(case=case, **(usual | known))


def planted(n: int, *, seed: int = 0, repeats: int = 1) -> list[Row]:
    """Rows of all kinds: answered and withheld, right and wrong, failed, without an answer."""
    generator = np.random.default_rng(seed)
    return [
        _planted(generator, number, repeat, answerable=number % 3 > 0)
        for number in range(n)
        for repeat in range(repeats)
    ]


def _planted(generator: np.random.Generator, number: int, repeat: int, *, answerable: bool) -> Row:
    sure = float(generator.random())
    known: dict[str, Any] = {
        "case": f"q{number:05}",
        "repeat": repeat,
        "type": f"type {number % 7}",
        "answerable": answerable,
        "scored": answerable,
        "seconds": float(generator.gamma(2.0)),
    }
    if generator.random() < 0.01:
        return a_row(status="failed", error="broke", **known)
    answered = sure > 0.3
    right = bool(answered and answerable and generator.random() < sure)
    metrics = _metrics(generator, answerable=answerable, answered=answered, right=right)
    read = tuple(
        (int(answerable and rank == number % 2), float(generator.normal(2 - rank)))
        for rank in range(10)
    )
    return a_row(
        status="answered" if answered else "abstained",
        confidence=sure,
        right=right if answered else None,
        metrics=metrics,
        read=read,
        judged=tuple((grade, score > 0) for grade, score in read),
        fallback=sure < 0.5,
        web=sure < 0.1,
        grounded="yes" if right else "no",
        useful="yes" if sure > 0.4 else "no",
        retries=int(generator.integers(0, 3)),
        llm_calls=int(generator.integers(0, 4)),
        tokens_in=int(generator.integers(0, 4000)),
        tokens_out=int(generator.integers(0, 200)),
        cost=float(generator.random()) / 1000,
        seconds_by_node={"retrieve": float(generator.random()), "rerank": sure},
        **known,
    )


def _metrics(
    generator: np.random.Generator, *, answerable: bool, answered: bool, right: bool
) -> dict[str, float]:
    """What is measured of such a question, by what each metric is over."""
    over = {"all", *(["scored", "gold"] if answerable else ["unanswerable"])}
    over |= {"answered", "claims"} if answered else set()
    return {
        name: float(right) if metric.yes_no else float(generator.random()) * right
        for name, metric in METRICS.items()
        if metric.per_question
        and metric.group in {"retrieval", "answers", "truth"}
        and metric.over in over
    }
