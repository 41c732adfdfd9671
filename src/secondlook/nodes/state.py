"""What flows through a graph, in small slices. Everything is plain data that a checkpoint can
hold, and refers to passages by id: their texts stay in the library."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from secondlook.answer import (
    EvidenceKind,
    Met,
    Method,
    Operation,
    Origin,
    QueryType,
    Remedy,
    ResolvedHow,
    Route,
    Scalar,
    ScreenVerdict,
    Step,
    StepStatus,
    StopReason,
    Trouble,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.passage import Passage

# What was asked and what was found, as steps see it.

Grade = Literal["not graded", "irrelevant", "about", "answers"]
"""What a grader holds of a passage: `about` the question, or that it `answers` it as well."""
RELEVANT: frozenset[Grade] = frozenset({"about", "answers"})
READER = "reader"  # in `graded_by`, beside names of models


class Scope(TypedDict):
    documents: list[str] | None
    labels: list[str]


class Found(TypedDict):
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
    origin: Origin
    url: str | None
    fetched: str | None
    kept: bool
    why: str
    cut: NotRequired[bool]  # a part that gives a model orders is read by nobody
    grade: Grade
    graded_by: str | None
    search: int  # which search of the run found it first, from 0
    pinned: bool  # stays among the kept whatever its score: another passage points to it


class Question(TypedDict):
    question: str
    scope: Scope


class Query(Question):
    queries: Annotated[list[str], operator.add]  # every query in order; the last is the current one


class Evidence(TypedDict):
    found: list[Found]


class Asked(Query, Evidence):
    """What a node sees that weighs the evidence for the question."""


class Quality(TypedDict):
    quality: float | None
    """Probability that the evidence holds the answer; None when it cannot be told."""
    route: str


READ = ("relevance", "answerable", "span_start", "span_end", "span_score", "null_score", "windows")
"""What the reader adds to a passage."""
_PLACE = ("id", "document", "title", "page", "start", "end")
_RANKS = ("dense_rank", "dense_score", "lexical_rank", "lexical_score")


def unread(passage: Passage, *, fusion_score: float = 0.0, origin: Origin = "library") -> Found:
    """A passage as a search returned it, before the reader has seen it."""
    found = {name: getattr(passage, name) for name in _PLACE}
    found |= dict.fromkeys((*_RANKS, *READ, "url", "fetched", "graded_by"))
    found |= {"score": fusion_score, "fusion_score": fusion_score, "origin": origin, "search": 0}
    found |= {"kept": False, "pinned": False, "why": "not read", "grade": "not graded"}
    return cast("Found", found)


# Answers in the making, and what checks made of them.


class Cited(TypedDict):
    passage: str
    start: int
    end: int


class OperandData(TypedDict):
    text: str
    cited: int  # which of the sentence's own `cited` states it, from 0
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
    answers: NotRequired[bool]  # It was judged together with the question, as its answer


class DraftData(TypedDict):
    method: Method
    model: str | None
    sentences: list[Sentence]
    short: str | None
    stop: StopReason  # `answered`, or why there is none
    confidence: float | None
    reasons: list[str]
    note: str | None  # what the answer must say about itself, such as that sentences were cut
    fits: NotRequired[float]
    """How likely what a model wrote answers the question, as the reader judges both together."""


class Draft(TypedDict):
    draft: DraftData


class Search(TypedDict):
    query: str
    new: int  # passages about the question, among the best, that no earlier search had found
    relevant: int  # passages about the question, of all found so far


class Searches(TypedDict):
    searches: Annotated[list[Search], operator.add]
    web_tried: bool
    stuck: bool


class JudgedDraft(TypedDict):
    draft: DraftData
    grounded: float | None  # share of its sentences that the evidence carries; None = not checked
    is_grounded: bool | None
    useful: float | None  # how far it addresses the question, 0 to 1; None = not checked
    is_useful: bool | None


class Drafts(TypedDict):
    drafts: Annotated[list[JudgedDraft], operator.add]
    """Every draft that was checked, in order: a later, worse one never replaces a better one."""
    complaints: list[str]
    """Sentences of the last draft that its evidence does not carry, for whoever writes anew."""
    regenerations: int


class PartData(TypedDict):
    question: str  # may hold {1}, {2}: what the parts before it came to
    asked: str | None  # with those filled in; None until it is asked
    draft: DraftData | None


class Parts(TypedDict):
    parts: list[PartData]  # empty where the question is asked as a whole
    combining: str
    """How the answers are put together, as `nodes.parts` names it; empty with no parts."""


class Settled(TypedDict):
    settled: JudgedDraft | None  # the draft that was chosen, as it was judged; None where none was
    needs_review: bool


class Readings(TypedDict):
    assumed: str | None
    asks_back: str | None


# Steps of a research, the choices of its question, and what was chosen.


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
    passage: str
    rank: int
    score: float
    relevance: float | None
    answerable: float | None
    cosine: float | None
    kept: bool
    why: str


class StepData(TypedDict):
    id: int
    phase: str
    question: str  # stands by itself: names no other step
    queries: list[str]  # what is searched for, the primary first; empty until that is known
    status: StepStatus
    attempt: int
    retry_of: int | None
    confidence: float | None
    evidence: list[EvidenceData]
    draft: DraftData | None
    complaints: list[str]


class Plan(TypedDict):
    plan: list[StepData]


class Kind(TypedDict):
    query_type: QueryType
    classified_by: str
    escalated: bool


class Cycles(TypedDict):
    cycles: int
    stopped: str  # why no further step is made; empty while that is open


class RecalledData(TypedDict):
    entry: int
    question: str
    similarity: float
    created: str
    run: str


class Recall(TypedDict):
    recalled: RecalledData | None  # earlier research that was taken up; its steps are then the plan


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


# A question over tables on its way: what it needs, the code for it, and what was made of it.

Work = Literal["data", "concept"]
GapKind = Literal["requirements", "data", "nothing"]
"""Where a gap is closed: in what is asked for, by a closer look at the data, or not at all."""


class Understood(TypedDict):
    work: Work
    understood_by: str


class RequirementsData(TypedDict):
    variables: list[str]
    constraints: list[str]
    analysis: str
    success: str
    wanted: list[str]  # names that the values must have, where the question gives some
    by: str


class ResolvedData(TypedDict):
    asked: str
    table: str
    column: str
    score: float
    how: ResolvedHow


class Required(TypedDict):
    requirements: RequirementsData | None
    resolved: list[ResolvedData]
    unresolved: list[str]
    query: dict[str, Any] | None
    """A `tables.query.Query` where our own code understands the question."""
    reading: str
    doubt: float
    """Share of the question that the reading does not account for; 1 where there is none."""


class LookedAt(TypedDict):
    looked: list[dict[str, Any]]


class GapData(TypedDict):
    kind: GapKind
    variable: str
    said: str


class Alignment(TypedDict):
    gaps: list[GapData]
    alignments: int


class AttemptData(TypedDict):
    code: str
    status: str  # `refused` before it ran, or the status of its outcome
    error: str | None
    line: int | None
    kept: str | None  # under which name its outcome is kept; None where it did not run
    stop: NotRequired[StopReason]  # where no model or no sandbox was to be had: why


class Coding(TypedDict):
    attempts: list[AttemptData]
    tries: int  # attempts since the last remedy


class AnalysisCheckData(TypedDict):
    name: str
    passed: bool
    said: str


class Judged(TypedDict):
    checks: list[AnalysisCheckData]
    issues: list[str]


class RemedyData(TypedDict):
    cause: str
    action: Remedy
    guidance: str


class Remedies(TypedDict):
    remedies: list[RemedyData]


class Analysed(Question, Understood, Required, LookedAt, Alignment, Coding, Judged, Remedies):
    """An analysis as it stands."""


# A question on its way to the workflow that suits it: who is called, and what came back.


class CallData(TypedDict):
    workflow: str
    question: str  # the whole question, or the part of it that this workflow is asked
    scope: Scope
    kind: EvidenceKind  # what the answer is expected to rest on
    why: str


class Calls(TypedDict):
    calls: list[CallData]  # in the order made; the first `len(answers)` of them are done
    answers: list[dict[str, Any]]
    both: bool  # whether they are parts of one question; else a later one is a second try


def next_call(state: Calls) -> CallData | None:
    done = len(state["answers"])
    return state["calls"][done] if done < len(state["calls"]) else None


# What a run did, in the order done, and what came of it.


class Trace(TypedDict):
    steps: Annotated[list[dict[str, Any]], operator.add]
    warnings: Annotated[list[dict[str, Any]], operator.add]


class Outcome(TypedDict):
    answer: dict[str, Any]


def step(
    node: str,
    said: str,
    counted: Mapping[str, Scalar] | None = None,
    /,
    *,
    route: tuple[str, str] | None = None,
    **numbers: Scalar,
) -> dict[str, Any]:
    """What a node did, for people and for the record. `route` is where it leads, and why."""
    way = Route(to=route[0], why=route[1]) if route else None
    rounded = {
        name: (round(value, 4) if math.isfinite(value) else None)
        if isinstance(value, float)
        else value
        for name, value in {**(counted or {}), **numbers}.items()
    }
    return Step(node=node, said=said, numbers=rounded, route=way).model_dump()


def trouble(node: str, error: BaseException, consequence: str) -> dict[str, Any]:
    """What went wrong in a node, and what the run did about it."""
    message = " ".join(str(error).split())[:500] or type(error).__name__
    return Trouble(
        node=node, error=type(error).__name__, message=message, consequence=consequence
    ).model_dump()


class Finishing(Asked, Draft, Trace):
    """All that goes into an answer."""
