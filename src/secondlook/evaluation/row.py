"""What came of one question under one configuration. Data only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from secondlook.answer import (
    Analysis,
    AnalysisKind,
    Method,
    QueryType,
    Record,
    Research,
    ScreenVerdict,
    SeenPassage,
    Status,
    StopReason,
)

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
