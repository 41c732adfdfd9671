# ruff: noqa: RUF012 - pydantic copies the default of each field
"""What an evaluation is made of: questions with their right answers, what came of each, and what
follows from all. Data only; `results.json` is these records as JSON (docs/evaluation.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from secondlook.answer import (
    AnalysisKind,
    Method,
    QueryType,
    Record,
    Scalar,
    ScreenVerdict,
    Status,
    StopReason,
)

Checked = Literal["yes", "no", "not checked"]
Outcome = Literal["right", "wrong", "withheld", "uncommitted"]
"""Of a question of an exam; see `judging`."""


class Kept(Record, extra="ignore"):
    """Results of an earlier version may be compared with: what it told besides is left out."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    question: str
    answers: tuple[str, ...] = ()  # any is right; empty where a set only names passages
    wrong: tuple[str, ...] = ()  # what is known to be wrong, where nobody said what is right
    gold: Mapping[str, int] = field(default_factory=dict)  # documents with the answer, and grades
    answerable: bool = True
    type: str | None = None  # kind, level or subject of the question, where the set has one
    choices: Mapping[str, str] | None = None  # of multiple choice: letter to text
    choice: str | None = None  # the right letter
    table: str | None = None  # of a question over a table: its name in the set
    values: tuple[tuple[str, str], ...] = ()  # the right values of such a question by name
    thread: str = ""  # questions of one thread are one conversation, in this order
    need: Literal["any", "all"] | None = None  # of an exam: how many of `answers` it takes

    @property
    def scored(self) -> bool:
        return self.answerable and bool(self.answers)


@dataclass(frozen=True, slots=True)
class Problem:
    file: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Configuration:
    name: str
    workflow: str
    changes: Mapping[str, Scalar] = field(default_factory=dict)
    """Dotted settings, on top of those that all configurations share."""
    about: str = ""


# What came of one question under one configuration.


class Researched(Kept):
    query_type: QueryType = "multi_hop"
    escalated: bool = False
    cycles: int = 0
    completed: int = 0
    weak: int = 0
    failed: int = 0
    pending: int = 0
    screen: ScreenVerdict = "not screened"
    quarantined: int = 0
    recalled: bool = False


class Analysed(Kept):
    kind: AnalysisKind | None = None
    parts: dict[str, bool] = {}  # of each value that was wanted, whether it is right
    attempts: int = 0  # times that a model wrote code
    failed_attempts: int = 0
    remedies: int = 0


class Row(Kept):
    configuration: str
    case: str
    question: str = ""
    expected: tuple[str, ...] = ()
    repeat: int = 0
    type: str | None = None
    answerable: bool = True
    scored: bool = True
    status: Status
    stop_reason: StopReason
    method: Method = "none"
    short: str | None = None
    chosen: str | None = None  # of multiple choice: the letter
    ungrounded: bool = False  # whether it was chosen from a model's own knowledge
    text: str = ""
    confidence: float | None = None
    right: bool | None = None  # None where nothing was answered or none is known
    outcome: Outcome | None = None
    tier: str | None = None  # how sure the answer says it is: `sure`, `likely`
    metrics: dict[str, float] = {}  # figures of this question alone, by name of the metric
    read: tuple[tuple[int, float], ...] = ()  # of each passage, best first: grade and score
    judged: tuple[tuple[int, bool], ...] = ()  # grade, and if about the question
    graded: tuple[tuple[int, bool], ...] = ()  # grade, and if accepted
    graded_by: tuple[str | None, ...] = ()  # and by whom: `reader`, or a model
    grounded: Checked = "not checked"
    useful: Checked = "not checked"
    needs_review: bool = False
    queries: tuple[str, ...] = ()
    fallback: bool = False
    web: bool = False
    retries: int = 0
    regenerations: int = 0
    trigger: float | None = None  # what the decision to search again was based on
    trigger_below: float | None = None  # and the threshold
    shown: int = 0  # passages that the answer could rest on
    research: Researched | None = None
    analysed: Analysed | None = None
    llm_calls: int = 0
    calls_by_node: dict[str, int] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    parse_failures: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0  # as if nothing had been remembered from an earlier question
    seconds_by_node: dict[str, float] = {}
    warnings: tuple[str, ...] = ()
    error: str | None = None  # why it failed; it counts as wrong

    @property
    def answered(self) -> bool:
        """A letter that was guessed is an answer, whatever the research came to."""
        guessed = self.chosen is not None and self.ungrounded
        return self.status in {"answered", "partial"} or guessed


# What one configuration amounts to.


class Estimate(Kept):
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Tally(Kept):
    n: int
    counts: dict[str, int] = {}
    shares: dict[str, Estimate] = {}


class Summary(Kept):
    workflow: str
    changes: dict[str, Scalar] = {}
    about: str = ""
    metrics: dict[str, Estimate] = {}
    by_type: dict[str, dict[str, Estimate]] = {}
    judged: dict[str, Tally] = {}  # of an exam: by kind, of kinds together, by tier
    calls_by_node: dict[str, float] = {}
    stop_reasons: dict[str, int] = {}
    seconds_by_node: dict[str, dict[str, float]] = {}  # p50 and p95 of each node
    rerank_scores: dict[str, dict[str, float]] = {}  # lowest among the best five
    failed: tuple[str, ...] = ()


# What follows from comparing.


class Difference(Kept):
    metric: str
    base: float
    other: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float | None = None  # corrected for how many comparisons were made together
    test: Literal["mcnemar", "paired permutation"]
    n: int
    improved: int
    same: int
    degraded: int


class Comparison(Kept):
    base: str
    other: str
    metric: str  # the one that decides; it is among `differences`
    differences: tuple[Difference, ...]
    cost_difference: float | None = None
    calls_difference: float = 0.0
    tokens_difference: float = 0.0
    latency_ratio: float | None = None  # of the medians, other to base
    latency_difference: float | None = None
    cost_per_point: float | None = None  # dollars per question for each point (0.01) gained
    seconds_per_point: float | None = None
    right_withheld: int = 0  # right in base, withheld in other
    wrong_withheld: int = 0

    @property
    def deciding(self) -> Difference:
        return next(item for item in self.differences if item.metric == self.metric)


class Verdict(Kept):
    configuration: str
    verdict: Literal["non-inferior", "worse", "undecided", "reference"]
    price: tuple[float | None, float, float]  # dollars, model calls, seconds per question
    more_questions: int | None = None  # about how many more would decide it
    why: str


class Ablation(Kept):
    reference: str
    metric: str
    margin: float
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    cheapest: str  # the cheapest that is not inferior to the reference
    left_out: dict[str, str] = {}  # flags that could not be tried, and why


class Results(Kept):
    form: int = 2
    command: str = ""
    data: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    versions: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    comparisons: tuple[Comparison, ...] = ()
    ablation: Ablation | None = None
    passes: dict[str, float | None] = {}
    rows: tuple[Row, ...] = ()
