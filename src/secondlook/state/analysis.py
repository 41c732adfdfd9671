"""A question over tables on its way: what it needs, the code for it, and what was made of it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from secondlook.answer import (  # noqa: TC001  # langgraph reads annotations
    Remedy,
    ResolvedHow,
    StopReason,
)
from secondlook.state.evidence import Question

Work = Literal["data", "concept"]
GapKind = Literal["requirements", "data", "nothing"]
"""Where a gap is closed: in what is asked for, by a closer look at the data, or not at all."""


class Understood(TypedDict):
    work: Work
    understood_by: str
    """`rules`, or a model."""


class RequirementsData(TypedDict):
    variables: list[str]
    constraints: list[str]
    analysis: str
    success: str
    wanted: list[str]
    """Names that the values must have, where the question gives some."""
    by: str


class ResolvedData(TypedDict):
    asked: str
    table: str
    """Its id."""
    column: str
    score: float
    how: ResolvedHow


class Required(TypedDict):
    requirements: RequirementsData | None
    resolved: list[ResolvedData]
    unresolved: list[str]
    """Variables for which no column was found."""
    query: dict[str, Any] | None
    """A `tables.query.Query` where our own code understands the question."""
    reading: str
    """How it was understood, in a sentence."""
    doubt: float
    """Share of the question that the reading does not account for; 1 where there is none."""


class LookedAt(TypedDict):
    looked: list[dict[str, Any]]
    """Every `Examination` so far, beyond the profile."""


class GapData(TypedDict):
    kind: GapKind
    variable: str
    said: str


class Alignment(TypedDict):
    gaps: list[GapData]
    alignments: int
    """Times it was checked since the last remedy."""


class AttemptData(TypedDict):
    code: str
    status: str
    """`refused` before it ran, or the status of its outcome."""
    error: str | None
    line: int | None
    kept: str | None
    """Under which name its outcome is kept; None where it did not run."""
    stop: NotRequired[StopReason]
    """Where no model or no sandbox was to be had: why."""


class Coding(TypedDict):
    attempts: list[AttemptData]
    """Every one of the run."""
    tries: int
    """Attempts since the last remedy."""


class AnalysisCheckData(TypedDict):
    name: str
    passed: bool
    said: str


class Judged(TypedDict):
    checks: list[AnalysisCheckData]
    """Of the last result."""
    issues: list[str]
    """Why it cannot stand; empty where it can."""


class RemedyData(TypedDict):
    cause: str
    action: Remedy
    guidance: str


class Remedies(TypedDict):
    remedies: list[RemedyData]


class Analysed(Question, Understood, Required, LookedAt, Alignment, Coding, Judged, Remedies):
    """An analysis as it stands."""
