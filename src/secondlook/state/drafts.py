"""Answers in the making, and what checks made of them."""

from __future__ import annotations

import operator
from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from secondlook.answer import Method, Operation, StopReason  # noqa: TC001  # langgraph reads them


class Cited(TypedDict):
    """A place in a document that stands behind a sentence."""

    passage: str
    start: int
    end: int


class OperandData(TypedDict):
    text: str
    cited: int
    """Which of the sentence's own `cited` states it, from 0."""
    name: str | None


class ComputationData(TypedDict):
    operation: Operation
    operands: list[OperandData]
    result: str


class Sentence(TypedDict):
    text: str
    cited: list[Cited]
    support: float | None
    supported: bool | None
    objection: NotRequired[str]
    """Why it was held back though a passage says so: it is not what was asked for."""
    computation: NotRequired[ComputationData | None]


class DraftData(TypedDict):
    method: Method
    model: str | None
    sentences: list[Sentence]
    short: str | None
    stop: StopReason
    """`answered`, or why there is none."""
    confidence: float | None
    reasons: list[str]
    note: str | None
    """What the answer must say about itself, such as that sentences were cut."""


class Draft(TypedDict):
    draft: DraftData


class Search(TypedDict):
    """One search of a run, and what it brought."""

    query: str
    new: int
    """Passages about the question, among the best, that no earlier search had found."""
    relevant: int
    """Passages about the question, of all found so far."""


class Searches(TypedDict):
    searches: Annotated[list[Search], operator.add]
    web_tried: bool
    stuck: bool
    """There was no other way to ask."""


class JudgedDraft(TypedDict):
    """A draft, and what the checks made of it."""

    draft: DraftData
    grounded: float | None
    """Share of its sentences that the evidence carries; None = not checked."""
    is_grounded: bool | None
    useful: float | None
    """How far it addresses the question, 0 to 1; None = not checked."""
    is_useful: bool | None


class Drafts(TypedDict):
    drafts: Annotated[list[JudgedDraft], operator.add]
    """Every draft that was checked, in order: a later, worse one never replaces a better one."""
    complaints: list[str]
    """Sentences of the last draft that its evidence does not carry, for whoever writes anew."""
    regenerations: int


class PartData(TypedDict):
    """One of the questions that a question was split into."""

    question: str
    """May hold {1}, {2}: what the parts before it came to."""
    asked: str | None
    """With those filled in; None until it is asked."""
    draft: DraftData | None
    """Its own answer; None until it is asked."""


class Parts(TypedDict):
    parts: list[PartData]
    """Empty where the question is asked as a whole."""
    combining: str
    """How the answers are put together, as `nodes.parts` names it; empty with no parts."""


class Settled(TypedDict):
    """What came of all tries."""

    settled: JudgedDraft | None
    """The draft that was chosen, as it was judged; None where none was."""
    needs_review: bool


class Readings(TypedDict):
    assumed: str | None
    """The reading that an unclear question was taken in."""
    asks_back: str | None
