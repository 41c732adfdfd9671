"""What was asked and what was found, as steps see it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import TypedDict

from secondlook.answer import Origin  # noqa: TC001  # langgraph reads annotations

if TYPE_CHECKING:
    from secondlook.passage import Passage

Grade = Literal["not graded", "irrelevant", "about", "answers"]
"""What a grader holds of a passage: `about` the question, or that it `answers` it as well."""
RELEVANT: frozenset[Grade] = frozenset({"about", "answers"})
READER = "reader"
"""In `graded_by`, beside names of models."""


class Scope(TypedDict):
    """Where to look."""

    documents: list[str] | None
    labels: list[str]


class Found(TypedDict):
    """A passage that a search returned, with its place and every score so far."""

    id: str
    document: str
    title: str
    page: int | None
    start: int
    end: int
    score: float
    fusion_score: float
    dense_rank: int | None
    dense_score: float | None
    lexical_rank: int | None
    lexical_score: float | None
    relevance: float | None
    """The reader's; None like the six below until it has read the passage. Only the relevance is
    there where it has glanced at the passage and not looked."""
    answerable: float | None
    span_start: int | None
    span_end: int | None
    span_score: float | None
    null_score: float | None
    windows: int | None
    """Over how many windows the reader looked at it."""
    origin: Origin
    url: str | None
    fetched: str | None
    kept: bool
    why: str
    grade: Grade
    graded_by: str | None
    search: int
    """Which search of the run found it first, from 0."""
    pinned: bool
    """Stays among the kept whatever its score: another passage points to it."""


class Question(TypedDict):
    question: str
    scope: Scope


class Query(Question):
    queries: Annotated[list[str], operator.add]
    """Every query in order; the last is the current one."""


class Evidence(TypedDict):
    found: list[Found]
    """Best first."""


class Asked(Query, Evidence):
    """What a node sees that weighs the evidence for the question."""


class Quality(TypedDict):
    quality: float | None
    """Probability that the evidence holds the answer; None when it cannot be told."""
    route: str
    """Where the last decision leads."""


class Assessed(Asked, Quality):
    pass


def unread(passage: Passage, *, fusion_score: float = 0.0, origin: Origin = "library") -> Found:
    """A passage as a search returned it, before the reader has seen it."""
    return Found(
        id=passage.id,
        document=passage.document,
        title=passage.title,
        page=passage.page,
        start=passage.start,
        end=passage.end,
        score=fusion_score,
        fusion_score=fusion_score,
        dense_rank=None,
        dense_score=None,
        lexical_rank=None,
        lexical_score=None,
        relevance=None,
        answerable=None,
        span_start=None,
        span_end=None,
        span_score=None,
        null_score=None,
        windows=None,
        origin=origin,
        url=None,
        fetched=None,
        kept=False,
        why="not read",
        grade="not graded",
        graded_by=None,
        search=0,
        pinned=False,
    )
