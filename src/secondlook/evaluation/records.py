"""What an evaluation is made of: questions with their right answers, what came of each, and what
follows from all. Data only; `results.json` is these records as JSON (docs/evaluation.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from secondlook.answer import (
    Analysis,
    AnalysisKind,
    Method,
    QueryType,
    Record,
    Research,
    Scalar,
    ScreenVerdict,
    SeenPassage,
    Status,
    StopReason,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

# What came of one question under one configuration. Data only.

Checked = Literal["yes", "no", "not checked"]


class Tried(Record):
    """One query of a run, and how the evidence stood after it was searched."""

    query: str
    recall: float | None = Field(
        default=None, description="Share of the gold among the five best; none where none is named."
    )
    relevant: int | None = Field(
        default=None, description="Passages about the question, of all found so far."
    )
    new: int | None = Field(default=None, description="Of those, the ones that it brought.")
    words_kept: float | None = Field(
        default=None, description="Share of the question's own words that the query has."
    )


class Looked(Record):
    """A passage for a person to look at, where an answer needs that."""

    document: str
    title: str
    page: int | None = None
    grade: str
    answers: bool | None = None
    graded_by: str | None = None
    score: float | None = None
    text: str = ""

    @classmethod
    def at(cls, passage: SeenPassage, *, document: str, text: str) -> Looked:
        return cls(
            document=document,
            title=passage.title,
            page=passage.page,
            grade=passage.grade,
            answers=passage.answers,
            graded_by=passage.graded_by,
            score=passage.rerank_score,
            text=text,
        )


class Researched(Record):
    """How a question was researched: an answer's `research` in numbers."""

    query_type: QueryType = "multi_hop"
    escalated: bool = False
    cycles: int = 0
    completed: int = 0
    weak: int = 0
    failed: int = 0
    pending: int = 0
    screen: ScreenVerdict = "not screened"
    quarantined: int = 0
    recalled: bool = Field(default=False, description="Whether earlier research was taken up.")
    remembered: bool = False

    @classmethod
    def of(cls, research: Research | None) -> Researched | None:
        if research is None:
            return None
        same = {"query_type", "escalated", "cycles", "completed", "weak", "failed", "pending"}
        return cls(
            **research.model_dump(include=same | {"quarantined", "remembered"}),
            screen=research.screen.verdict,
            recalled=research.recalled is not None,
        )


class Analysed(Record):
    """How a question over tables was worked on: an answer's `analysis` in numbers."""

    kind: AnalysisKind | None = Field(default=None, description="None where it failed.")
    parts: dict[str, bool] = Field(
        default_factory=dict, description="Of each value that was wanted, whether it is right."
    )
    attempts: int = Field(default=0, description="Times that code was written.")
    failed_attempts: int = Field(default=0, description="Of those, the ones that gave no result.")
    remedies: int = 0
    checks: dict[str, bool] = Field(
        default_factory=dict, description="What was checked of the last result, and if it passed."
    )

    @classmethod
    def of(cls, analysis: Analysis | None, parts: dict[str, bool]) -> Analysed:
        if analysis is None:
            return cls(parts=parts)
        # What our own code computes, or fails to, is no code that a model wrote.
        written = () if analysis.query is not None else analysis.attempts
        return cls(
            kind=analysis.kind,
            parts=parts,
            attempts=len(written),
            failed_attempts=sum(one.status != "ok" for one in written),
            remedies=len(analysis.remedies),
            checks={one.name: one.passed for one in analysis.checks},
        )


class Row(Record):
    """What came of one question under one configuration."""

    configuration: str
    case: str
    question: str = ""
    expected: tuple[str, ...] = Field(default=(), description="Right answers; any will do.")
    repeat: int = 0
    type: str | None = None
    subject: str | None = None
    answerable: bool = True
    scored: bool = True
    status: Status
    stop_reason: StopReason
    method: Method = "none"
    short: str | None = None
    chosen: str | None = Field(default=None, description="Of multiple choice: the letter.")
    ungrounded: bool = Field(
        default=False, description="Whether it was chosen from a model's own knowledge."
    )
    text: str = ""
    confidence: float | None = None
    right: bool | None = Field(
        default=None,
        description="Of an answer that was given: whether it is right. None where nothing was "
        "given, or where there is no right answer to compare with.",
    )
    metrics: dict[str, float] = Field(
        default_factory=dict, description="Figures of this question alone, by name of the metric."
    )
    read: tuple[tuple[int, float], ...] = Field(
        default=(),
        description="Of each passage that the reader read, best first: the grade of relevance "
        "(0 = not gold) and the reader's score.",
    )
    judged: tuple[tuple[int, bool], ...] = Field(
        default=(),
        description="Of each passage that the reader read: grade, and whether it looked at it and "
        "found it to be about the question.",
    )
    graded: tuple[tuple[int, bool], ...] = Field(
        default=(), description="Of each passage that a grader judged: grade, and if accepted."
    )
    graded_by: tuple[str | None, ...] = Field(
        default=(), description="And who that was: `reader`, or a model. Empty = a model."
    )
    grounded: Checked = "not checked"
    useful: Checked = "not checked"
    sent_back: bool = Field(
        default=False,
        description="Whether a check refused an answer, so that it was sought anew if it could be.",
    )
    needs_review: bool = False
    queries: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = Field(default=(), description="The same with what they brought.")
    best: tuple[Looked, ...] = Field(
        default=(), description="The best passages, of an answer that needs review."
    )
    fallback: bool = False
    web: bool = False
    retries: int = 0
    regenerations: int = 0
    trigger: float | None = Field(
        default=None, description="What the decision to search again was based on."
    )
    trigger_below: float | None = Field(default=None, description="And the threshold.")
    shown: int = Field(default=0, description="Passages that the answer could rest on.")
    gold: int = Field(default=0, description="Documents that hold the answer.")
    gold_ranks: tuple[int, ...] = Field(
        default=(),
        description="Of each of these that was found: the rank of its first passage, from 1.",
    )
    research: Researched | None = None
    analysed: Analysed | None = None
    llm_calls: int = 0
    calls_by_node: dict[str, int] = Field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    parse_failures: int = 0
    cost: float | None = 0.0
    seconds: float = Field(
        default=0.0, description="As if nothing had been remembered from an earlier question."
    )
    seconds_by_node: dict[str, float] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str | None = Field(default=None, description="Why it failed; it counts as wrong.")

    @property
    def answered(self) -> bool:
        """A letter that was guessed is an answer, whatever the research came to."""
        guessed = self.chosen is not None and self.ungrounded
        return self.status in {"answered", "partial"} or guessed


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
