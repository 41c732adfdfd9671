"""Steps of a research, the choices of its question, and what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from secondlook.answer import (  # noqa: TC001  # langgraph reads annotations
    Met,
    QueryType,
    ScreenVerdict,
    StepStatus,
)
from secondlook.state.drafts import Cited, DraftData  # noqa: TC001
from secondlook.state.evidence import Evidence, Question

if TYPE_CHECKING:
    from collections.abc import Sequence


class Choices(TypedDict):
    choices: dict[str, str]
    """By letter; empty where the question has none. Kept out of `question`: whoever plans,
    searches and writes does not name this slice and so never sees them."""


class ScreenData(TypedDict):
    verdict: ScreenVerdict
    by: str | None
    score: float | None
    where: str | None
    reasons: list[str]


class Screened(TypedDict):
    screen: ScreenData


class EvidenceData(TypedDict):
    """A passage that a step looked at, and what became of it."""

    passage: str
    rank: int
    score: float
    relevance: float | None
    answerable: float | None
    cosine: float | None
    kept: bool
    why: str


class StepData(TypedDict):
    """One step of a research."""

    id: int
    phase: str
    question: str
    """Stands by itself: names no other step."""
    queries: list[str]
    """What is searched for, the primary first; empty until that is known."""
    status: StepStatus
    attempt: int
    retry_of: int | None
    confidence: float | None
    evidence: list[EvidenceData]
    draft: DraftData | None
    """Its findings; None until there are some."""
    complaints: list[str]
    """Sentences that were cut: the evidence does not carry them."""


class Plan(TypedDict):
    plan: list[StepData]
    """Every step, in order; the last may be pending."""


class Kind(TypedDict):
    query_type: QueryType
    classified_by: str
    escalated: bool


class Cycles(TypedDict):
    cycles: int
    """Steps tried so far."""
    stopped: str
    """Why no further step is made; empty while that is open."""


class RecalledData(TypedDict):
    entry: int
    question: str
    similarity: float
    created: str
    run: str


class Recall(TypedDict):
    recalled: RecalledData | None
    """Earlier research that was taken up; its steps are then the plan."""


class ElementData(TypedDict):
    text: str
    cited: list[Cited]


class VerdictData(TypedDict):
    element: int
    met: Met
    fact: str | None


class OptionData(TypedDict):
    letter: str
    text: str
    verdicts: list[VerdictData]
    reason: str


class ChoiceData(TypedDict):
    letter: str | None
    options: list[OptionData]
    elements: list[ElementData]
    model: str | None
    grounded: bool
    agreed: bool | None
    confidence: float | None
    why: str


class Chosen(TypedDict):
    choice: ChoiceData | None


class Researched(Question, Evidence, Plan, Kind, Cycles):
    """A research as it stands: what whoever evaluates, plans on or tells of it sees."""


def pending(
    number: int,
    question: str,
    *,
    phase: str,
    queries: Sequence[str] = (),
    retry_of: int | None = None,
    attempt: int = 1,
) -> StepData:
    """A step of research that is still to be done."""
    return StepData(
        id=number,
        phase=phase,
        question=question,
        queries=list(queries),
        status="pending",
        attempt=attempt,
        retry_of=retry_of,
        confidence=None,
        evidence=[],
        draft=None,
        complaints=[],
    )
