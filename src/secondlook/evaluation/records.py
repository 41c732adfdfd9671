"""What an evaluation is made of: questions with their right answers, what came of each, and what
follows from all. Data only; `results.json` is these records as JSON (docs/evaluation.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from secondlook.answer import Record, Scalar
from secondlook.evaluation.row import Analysed, Looked, Researched, Row, Tried

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Ablation",
    "Analysed",
    "Attempt",
    "Cap",
    "Case",
    "Comparison",
    "Configuration",
    "Criterion",
    "Difference",
    "Estimate",
    "Hypothesis",
    "Looked",
    "Passes",
    "Point",
    "Problem",
    "Researched",
    "Results",
    "Row",
    "Split",
    "Spread",
    "Summary",
    "Sweep",
    "SweepPoint",
    "Tried",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a set, and what is known about its answer."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Any of them is right. Empty where a set only says which passages matter."""
    gold: Mapping[str, int] = field(default_factory=dict)
    """Documents of the set that hold the answer, each with its grade of relevance (1 or more)."""
    answerable: bool = True
    type: str | None = None
    """Kind, level or subject of the question, where the set has one."""
    subject: str | None = None
    """What it is about, where the set says so; `type` too where it says nothing else."""
    choices: Mapping[str, str] | None = None
    """Of multiple choice: letter to text."""
    choice: str | None = None
    """The right letter."""
    table: str | None = None
    """Of a question over a table: its name in the set. All of `answers` are right together then."""
    values: tuple[tuple[str, str], ...] = ()
    """The right values by name, where such a question names the values that it wants."""

    @property
    def scored(self) -> bool:
        """Whether there is a right answer to compare with."""
        return self.answerable and bool(self.answers)


@dataclass(frozen=True, slots=True)
class Problem:
    """A row of a set that cannot be used."""

    file: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to answer that is evaluated: a workflow and what is set differently for it."""

    name: str
    workflow: str
    changes: Mapping[str, Scalar] = field(default_factory=dict)
    """Dotted settings, on top of those that all configurations share."""
    about: str = ""


class Estimate(Record):
    """A figure with its 95 % interval over `n` questions."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Spread(Record):
    """How a number is distributed."""

    n: int
    mean: float | None = None
    median: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None


class Point(Record):
    """One point of a curve; `n` is how many questions stand behind it."""

    x: float
    y: float
    n: int = 0


class Attempt(Record):
    """The queries of one number, over the runs that came to ask it (0 = the question itself)."""

    number: int
    runs: int
    recall: float | None = Field(
        default=None, description="Share of the gold among the five best, after it was searched."
    )
    recall_first: float | None = Field(
        default=None, description="The same runs' after their first search."
    )
    relevant: float | None = None
    new: float | None = None
    words_kept: float | None = None


class Summary(Record):
    """What one configuration amounts to."""

    workflow: str
    changes: dict[str, Scalar] = Field(default_factory=dict)
    about: str = ""
    metrics: dict[str, Estimate] = Field(default_factory=dict)
    by_type: dict[str, dict[str, Estimate]] = Field(default_factory=dict)
    by_subject: dict[str, dict[str, Estimate]] = Field(
        default_factory=dict, description="Where a set tells subjects apart from types."
    )
    calls_by_node: dict[str, float] = Field(
        default_factory=dict, description="Model calls of each node per question."
    )
    stop_reasons: dict[str, int] = Field(default_factory=dict)
    seconds_by_node: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="p50 and p95 of each node."
    )
    risk_coverage: tuple[Point, ...] = Field(
        default=(), description="x: share answered, the surest first; y: share of those wrong."
    )
    reliability: tuple[Point, ...] = Field(
        default=(), description="x: mean confidence of a bin; y: share right in it."
    )
    success_by_retry: tuple[Point, ...] = Field(
        default=(), description="x: number of retries; y: share that succeeded."
    )
    attempts: tuple[Attempt, ...] = Field(
        default=(), description="How queries fare, by how many came before them."
    )
    rerank_scores: dict[str, Spread] = Field(
        default_factory=dict,
        description="Lowest score among the best five: `all`, `fallback`, `no_fallback`.",
    )
    failed: tuple[str, ...] = Field(default=(), description="Questions that failed.")


class Difference(Record):
    """One metric of two configurations on the same questions: other minus base."""

    metric: str
    base: float
    other: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float | None = Field(
        default=None, description="Corrected for how many comparisons were made together."
    )
    test: Literal["mcnemar", "paired permutation", "paired bootstrap"]
    n: int
    improved: int
    same: int
    degraded: int


class Split(Record):
    """A part of the questions, by what happened to them."""

    part: Literal["all", "fallback", "no_fallback"]
    n: int
    improved: int
    same: int
    degraded: int
    f1: float | None = Field(default=None, description="Mean change.")
    faithfulness: float | None = Field(default=None, description="Mean change.")


class Comparison(Record):
    """Two configurations on the same questions."""

    base: str
    other: str
    metric: str = Field(description="The one that decides; it is among `differences`.")
    differences: tuple[Difference, ...]
    splits: tuple[Split, ...] = ()
    cost_difference: float | None = None
    calls_difference: float = 0.0
    tokens_difference: float = 0.0
    latency_ratio: float | None = Field(default=None, description="Of the medians, other to base.")
    latency_difference: float | None = Field(default=None, description="Seconds, medians.")
    cost_per_point: float | None = Field(
        default=None, description="Dollars per question for each point (0.01) gained."
    )
    seconds_per_point: float | None = None
    right_withheld: int = Field(
        default=0, description="Right in one, withheld in the other: counted where base answers."
    )
    wrong_withheld: int = 0
    right_in_base: int = Field(default=0, description="Questions that base gets right.")
    asked_again: int = Field(
        default=0, description="Of those, the ones that other asked again in other words."
    )

    @property
    def deciding(self) -> Difference:
        return next(item for item in self.differences if item.metric == self.metric)


class Verdict(Record):
    """What a comparison with the reference says about taking a configuration instead."""

    configuration: str
    verdict: Literal["non-inferior", "worse", "undecided", "reference"]
    price: tuple[float | None, float, float] = Field(
        description="Dollars (None when unknown), model calls and seconds per question: what "
        "`cheapest` goes by."
    )
    more_questions: int | None = Field(
        default=None, description="About how many more would decide it."
    )
    why: str


class Ablation(Record):
    """What each step of a workflow buys."""

    reference: str
    metric: str
    margin: float
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    cheapest: str = Field(description="The cheapest that is not inferior to the reference.")
    left_out: dict[str, str] = Field(
        default_factory=dict, description="Flags that could not be tried, and why."
    )


class SweepPoint(Record):
    """One value of a setting."""

    value: Scalar
    configuration: str
    fallback_rate: float | None = None
    metrics: dict[str, Estimate] = Field(default_factory=dict)
    difference: Difference | None = None
    on_fallback: Difference | None = Field(
        default=None, description="Over the questions where the fallback fired."
    )


class Sweep(Record):
    param: str
    reference: str
    metric: str
    points: tuple[SweepPoint, ...]


class Hypothesis(Record):
    name: str
    claim: str
    verdict: Literal["supported", "not supported", "undecided", "not tested"]
    why: str
    test: str
    numbers: dict[str, Scalar] = Field(default_factory=dict)


class Criterion(Record):
    """A bar that was set beforehand, and whether it is reached."""

    name: str
    bar: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    met: bool | None = Field(default=None, description="None = could not be measured.")
    why: str


class Cap(Record):
    """What comes of asking again at most so many times."""

    rewrites: int
    configuration: str
    success: Estimate
    recall: Estimate | None = None
    retry_rate: float
    seconds: float
    success_lost: Difference | None = Field(
        default=None, description="Against the most that was tried: other is this cap."
    )
    recall_lost: Difference | None = None


class Passes(Record):
    """What the run spent in the small models, and beside them."""

    indexing_seconds: float = 0.0
    reader_seconds: float = 0.0
    reader_pairs: int = 0
    reader_remembered: int = 0
    embedder_seconds: float = 0.0
    embedder_texts: int = 0
    embedder_remembered: int = 0
    model_calls: int = 0
    model_remembered: int = 0
    total_seconds: float = 0.0
    ratio: float | None = Field(
        default=None, description="Total to the sum of reader and embedder passes."
    )


class Results(Record):
    """All of it: `results.json`."""

    form: int = 1
    command: str = ""
    data: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    summaries: dict[str, Summary] = Field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    ablation: Ablation | None = None
    sweep: Sweep | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    caps: tuple[Cap, ...] = ()
    recommended_rewrites: int | None = Field(
        default=None, description="The fewest that lose nothing against the most that was tried."
    )
    passes: Passes = Passes()
    rows: tuple[Row, ...] = ()
