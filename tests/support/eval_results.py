"""A made-up evaluation as large as a small real one: three configurations on the same questions,
with fallbacks, unanswerable questions, types, retries, a failure, an ablation, a sweep and
hypotheses. The figures follow from the rows; the rows follow from a seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Literal

from secondlook.evaluation.records import (
    Ablation,
    Comparison,
    Difference,
    Estimate,
    Hypothesis,
    Passes,
    Point,
    Results,
    Row,
    Split,
    Spread,
    Summary,
    Sweep,
    SweepPoint,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Status, StopReason

CONFIGURATIONS = ("linear", "adaptive", "adaptive+web")
TRIGGER_BELOW = -2.0
_TYPES = ("person", "number", "place", "reason")
_NODES = {"retrieve": 0.05, "rerank": 0.22, "answer": 0.12, "check": 0.03}
_GROUPS: dict[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "fallback": lambda row: row.fallback,
    "no_fallback": lambda row: not row.fallback,
}


@dataclass(frozen=True)
class _Question:
    """What makes a question hard, the same in every configuration."""

    number: int
    ease: float
    lowest: float
    answerable: bool

    @property
    def id(self) -> str:
        return f"q{self.number:03d}"

    @property
    def type(self) -> str:
        return _TYPES[self.number % len(_TYPES)]


def make_results(*, questions: int = 120, seed: int = 7, repeats: int = 1) -> Results:
    rows = make_rows(questions=questions, seed=seed, repeats=repeats)
    by_name = {name: [row for row in rows if row.configuration == name] for name in CONFIGURATIONS}
    comparisons = tuple(
        _comparison(by_name, base, other)
        for number, base in enumerate(CONFIGURATIONS)
        for other in CONFIGURATIONS[number + 1 :]
    )
    return Results(
        command="secondlook eval questions --workflow linear,adaptive --ablate",
        data={
            "name": "questions",
            "form": "lines",
            "documents": 300,
            "cases": questions,
            "fingerprint": "5b1e" * 16,
            "problems": [{"file": "queries.jsonl", "line": 17, "reason": "no question in it"}],
        },
        settings={
            "shared": {"retrieval.candidates": 20, "models.default": None},
            "adaptive+web": {"web.enable_web_search": True},
        },
        versions={"secondlook": "0.1.0", "python": "3.11.9"},
        summaries={name: _summary(name, by_name[name]) for name in CONFIGURATIONS},
        comparisons=comparisons,
        ablation=_ablation(comparisons),
        sweep=_sweep(by_name, comparisons[0].deciding),
        hypotheses=_hypotheses(),
        passes=Passes(
            indexing_seconds=12.5,
            reader_seconds=88.1,
            reader_pairs=7200,
            reader_remembered=2311,
            embedder_seconds=4.2,
            embedder_texts=420,
            total_seconds=104.9,
            ratio=1.137,
        ),
        rows=tuple(rows),
    )


def make_rows(*, questions: int = 120, seed: int = 7, repeats: int = 1) -> list[Row]:
    draw = random.Random(seed)
    asked = [
        _Question(number, draw.random(), draw.gauss(-1.5, 2.0), number % 6 != 5)
        for number in range(questions)
    ]
    return [
        _row(name, question, repeat, random.Random(f"{seed} {name} {question.id} {repeat}"))
        for name in CONFIGURATIONS
        for question in asked
        for repeat in range(repeats)
    ]


def _row(name: str, question: _Question, repeat: int, draw: random.Random) -> Row:
    fallback = name != "linear" and question.lowest < TRIGGER_BELOW
    lift = 0.12 * fallback + 0.02 * (fallback and name == "adaptive+web")
    churn = draw.gauss(0, 0.15) if fallback else 0.0  # without it, all do the same
    f1 = round(min(1.0, max(0.0, question.ease + lift + churn)), 3)
    withheld = f1 < 0.15 if question.answerable else question.ease < 0.6
    failed = name == "adaptive" and question.number == 40
    status: Status = "failed" if failed else "abstained" if withheld else "answered"
    reason: StopReason = "error" if failed else "low_confidence" if withheld else "answered"
    answered = status == "answered"
    right = (f1 > 0.4 if question.answerable else False) if answered else None
    seconds = {
        node: round(mean * (1.6 if fallback else 1.0) * draw.uniform(0.7, 1.5), 4)
        for node, mean in _NODES.items()
    }
    return Row(
        configuration=name,
        case=question.id,
        question=f"Which {question.type} is meant in passage {question.number}?",
        expected=(f"{question.type} {question.number}",) if question.answerable else (),
        repeat=repeat,
        type=question.type,
        answerable=question.answerable,
        scored=question.answerable,
        status=status,
        stop_reason=reason,
        method="extractive" if answered else "none",
        short=f"{question.type} {question.number}" if answered else None,
        text=f"It is {question.type} {question.number} [1]." if answered else "I do not know.",
        confidence=round(min(0.99, max(0.01, f1 * 0.8 + draw.uniform(0, 0.25))), 3),
        right=right,
        metrics=_metrics(question, f1 if answered else 0.0, answered=answered, draw=draw),
        read=tuple((int(rank == 0), question.lowest + 4.0 - rank) for rank in range(6)),
        judged=tuple((int(rank == 0), question.lowest + 4.0 > rank) for rank in range(6)),
        fallback=fallback,
        web=fallback and name == "adaptive+web",
        retries=int(fallback) + int(fallback and question.number % 3 == 0),
        trigger=None if name == "linear" else question.lowest,
        trigger_below=None if name == "linear" else TRIGGER_BELOW,
        llm_calls=1,
        tokens_in=800 + question.number,
        tokens_out=40,
        cost=0.0004,
        seconds=round(sum(seconds.values()) + 0.01, 4),
        seconds_by_node=seconds,
        error="ModelTimeout: it did not answer within 60 s" if failed else None,
    )


def _metrics(
    question: _Question, f1: float, *, answered: bool, draw: random.Random
) -> dict[str, float]:
    found = 1.0 if question.ease > 0.2 else 0.0
    figures: dict[str, float] = {}
    if question.answerable:
        figures |= {"recall@5": found, "mrr": found * 0.8, "ndcg@10": found * 0.85}
        figures |= {"em": float(f1 > 0.9), "f1": f1, "rouge_l": f1 * 0.95, "contains": found}
        figures |= {"citation_recall": found if answered else 0.0}
    if answered:
        figures |= {"faithfulness": round(draw.uniform(0.6, 1.0), 3), "citation_precision": found}
    return figures


def _summary(name: str, rows: Sequence[Row]) -> Summary:
    metrics = {metric: _estimate(rows, metric) for metric in _names(rows)}
    answered = [row for row in rows if row.answered]
    wrong = fmean(float(not row.right) for row in answered)
    metrics |= {
        "answered": _around([float(row.answered) for row in rows]),
        "wrong_among_answered": Estimate(value=wrong, low=wrong - 0.05, high=wrong + 0.06, n=90),
        "auroc": Estimate(value=0.81, low=0.74, high=0.88, n=len(answered)),
        "false_rejection_gold": Estimate(value=None, n=0),
        "fallback_rate": _around([float(row.fallback) for row in rows]),
        "llm_calls": _around([float(row.llm_calls) for row in rows]),
        "tokens_in": _around([float(row.tokens_in) for row in rows]),
        "cost": _around([row.cost or 0.0 for row in rows]),
        "latency_p50": Estimate(value=median(row.seconds for row in rows), n=len(rows)),
        "latency_p95": Estimate(value=_high(row.seconds for row in rows), n=len(rows)),
    }
    return Summary(
        workflow=name.split("+", maxsplit=1)[0],
        changes={"web.enable_web_search": True} if name.endswith("web") else {},
        about="the baseline" if name == "linear" else "",
        metrics=metrics,
        by_type={
            kind: {"f1": _estimate([row for row in rows if row.type == kind], "f1")}
            for kind in _TYPES
        },
        stop_reasons=_counts([row.stop_reason for row in rows]),
        seconds_by_node={
            node: {
                "p50": median(row.seconds_by_node[node] for row in rows),
                "p95": _high(row.seconds_by_node[node] for row in rows),
            }
            for node in _NODES
        },
        risk_coverage=_risk_coverage(answered, len(rows)),
        reliability=_reliability(answered),
        success_by_retry=tuple(_success(rows, retries) for retries in range(3))
        if name != "linear"
        else (),
        rerank_scores={
            part: _spread([min(score for _, score in row.read[:5]) for row in rows if belongs(row)])
            for part, belongs in _GROUPS.items()
        },
        failed=tuple(row.case for row in rows if row.status == "failed"),
    )


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.metrics))


def _estimate(rows: Sequence[Row], metric: str) -> Estimate:
    return _around([row.metrics[metric] for row in rows if metric in row.metrics])


def _around(values: Sequence[float]) -> Estimate:
    if not values:
        return Estimate(value=None)
    half = 1.96 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    mean = fmean(values)
    return Estimate(value=mean, low=mean - half, high=mean + half, n=len(values))


def _high(values: object) -> float:
    ordered = sorted(values)  # type: ignore[call-overload]
    return float(ordered[int(0.95 * (len(ordered) - 1))])


def _counts(values: Sequence[str]) -> dict[str, int]:
    return {value: values.count(value) for value in dict.fromkeys(values)}


def _spread(values: Sequence[float]) -> Spread:
    if len(values) < 2:
        return Spread(n=len(values))
    return Spread(
        n=len(values),
        mean=fmean(values),
        median=median(values),
        std=stdev(values),
        min=min(values),
        max=max(values),
    )


def _risk_coverage(answered: Sequence[Row], total: int) -> tuple[Point, ...]:
    surest = sorted(answered, key=lambda row: -(row.confidence or 0.0))
    wrong = 0
    points = []
    for number, row in enumerate(surest, start=1):
        wrong += not row.right
        points.append(Point(x=number / total, y=wrong / number, n=number))
    return tuple(points)


def _reliability(answered: Sequence[Row]) -> tuple[Point, ...]:
    bins = [
        [row for row in answered if start <= (row.confidence or 0.0) * 10 < start + 1]
        for start in range(10)
    ]
    return tuple(
        Point(
            x=fmean(row.confidence or 0.0 for row in rows),
            y=fmean(float(bool(row.right)) for row in rows),
            n=len(rows),
        )
        for rows in bins
        if rows
    )


def _success(rows: Sequence[Row], retries: int) -> Point:
    those = [row for row in rows if row.retries == retries]
    share = fmean(float(bool(row.right)) for row in those) if those else 0.0
    return Point(x=retries, y=share, n=len(those))


def _comparison(by_name: dict[str, list[Row]], base: str, other: str) -> Comparison:
    pairs = list(zip(by_name[base], by_name[other], strict=True))
    parts: tuple[Literal["all", "fallback", "no_fallback"], ...]
    parts = ("all", "fallback", "no_fallback")
    return Comparison(
        base=base,
        other=other,
        metric="f1",
        differences=tuple(_difference(pairs, metric) for metric in ("f1", "em", "faithfulness")),
        splits=tuple(
            _split(part, [pair for pair in pairs if _GROUPS[part](pair[1])]) for part in parts
        ),
        cost_difference=0.0,
        calls_difference=0.0,
        tokens_difference=0.5,
        latency_ratio=1.12,
        latency_difference=0.05,
        cost_per_point=None,
        seconds_per_point=0.018,
        right_withheld=1,
        wrong_withheld=4,
    )


def _both(pairs: Sequence[tuple[Row, Row]], metric: str) -> list[tuple[float, float]]:
    return [
        (base.metrics[metric], other.metrics[metric])
        for base, other in pairs
        if metric in base.metrics and metric in other.metrics
    ]


def _difference(pairs: Sequence[tuple[Row, Row]], metric: str) -> Difference:
    both = _both(pairs, metric)
    changes = [other - base for base, other in both]
    around = _around(changes)
    p = 0.0004 if (around.low or 0.0) > 0 else 0.31
    return Difference(
        metric=metric,
        base=fmean(base for base, _ in both),
        other=fmean(other for _, other in both),
        difference=around.value or 0.0,
        low=around.low or 0.0,
        high=around.high or 0.0,
        p=p,
        p_holm=min(1.0, 3 * p),
        test="mcnemar" if metric == "em" else "paired bootstrap",
        n=len(both),
        improved=sum(change > 0 for change in changes),
        same=sum(change == 0 for change in changes),
        degraded=sum(change < 0 for change in changes),
    )


def _split(
    part: Literal["all", "fallback", "no_fallback"], pairs: Sequence[tuple[Row, Row]]
) -> Split:
    changes = [other - base for base, other in _both(pairs, "f1")]
    faithful = [other - base for base, other in _both(pairs, "faithfulness")]
    return Split(
        part=part,
        n=len(changes),
        improved=sum(change > 0 for change in changes),
        same=sum(change == 0 for change in changes),
        degraded=sum(change < 0 for change in changes),
        f1=fmean(changes) if changes else None,
        faithfulness=fmean(faithful) if faithful else None,
    )


def _ablation(comparisons: Sequence[Comparison]) -> Ablation:
    return Ablation(
        reference="linear",
        metric="f1",
        margin=0.02,
        comparisons=(comparisons[0], _unsure(comparisons[1])),
        verdicts=(
            Verdict(
                configuration="linear",
                verdict="reference",
                price=(0.0004, 1.0, 0.43),
                why="what the others are compared with",
            ),
            Verdict(
                configuration="adaptive",
                verdict="non-inferior",
                price=(0.0004, 1.0, 0.52),
                why="the interval of its difference lies above -0.020",
            ),
            Verdict(
                configuration="adaptive+web",
                verdict="undecided",
                price=(0.0004, 1.0, 0.53),
                more_questions=1480,
                why="the interval of its difference reaches from below -0.020 to above it",
            ),
        ),
        cheapest="linear",
        left_out={"web.enable_web_search": "no web server is set up"},
    )


def _unsure(comparison: Comparison) -> Comparison:
    """With an interval that reaches below the margin."""
    first, *rest = comparison.differences
    wide = first.model_copy(update={"low": -0.031, "high": 0.094, "p": 0.21, "p_holm": 0.42})
    return comparison.model_copy(update={"differences": (wide, *rest)})


def _sweep(by_name: dict[str, list[Row]], difference: Difference) -> Sweep:
    values = (-4.0, -3.0, -2.0, -1.0, 0.0)
    return Sweep(
        param="adaptive.min_rerank_score",
        reference="linear",
        metric="f1",
        points=tuple(
            SweepPoint(
                value=value,
                configuration=f"adaptive, min_rerank_score={value}",
                fallback_rate=fmean(
                    float((row.trigger or 0.0) < value) for row in by_name["adaptive"]
                ),
                metrics={"f1": _estimate(by_name["adaptive"], "f1")},
                difference=difference,
                on_fallback=None if value == values[0] else difference,
            )
            for value in values
        ),
    )


def _hypotheses() -> tuple[Hypothesis, ...]:
    return (
        Hypothesis(
            name="H1",
            claim="Rewriting helps on failed questions",
            verdict="supported",
            why="12 of 30 questions that failed at first were right after rewriting",
            test="McNemar, one-sided",
            numbers={"recovered": 12, "n": 30, "p": 0.0002},
        ),
        Hypothesis(
            name="H2",
            claim="The grader has a precision of at least 80 % and a recall of at least 70 %",
            verdict="not tested",
            why="no passage was graded",
            test="lower 95 % bound (Wilson)",
        ),
    )
