"""What an answer is, whatever workflow made it: data only, the same in every face. The code owns
the evidence: citations, passages and numbers are filled in by code from what was retrieved. A model
contributes words, never a source. `docs/answer.schema.json` is made from here."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Status = Literal["answered", "partial", "abstained", "refused", "failed"]
StopReason = Literal[
    "answered",
    "no_evidence",
    "low_confidence",
    "attempts_exhausted",
    "no_progress",
    "ambiguous",
    "budget",
    "deadline",
    "cancelled",
    "refused",
    "cannot_proceed",
    "model_unavailable",
    "error",
]
Tier = Literal["sure", "likely"]  # `likely`: more likely right than wrong, and marked as not sure
Method = Literal[
    "extractive", "generative", "computed", "outline", "summary", "survey", "catalogue", "none"
]
"""How the text came about: a span of a passage, a model's words, arithmetic on cited values,
headings and lead sentences, what each document of a set says, the titles and counts of the
library."""
Operation = Literal["difference", "sum", "least", "most", "same", "years"]
"""What code does with cited values: `years` counts them between two dates."""
Origin = Literal["library", "web"]
QueryType = Literal["simple", "multi_hop"]
StepStatus = Literal["pending", "completed", "weak", "failed"]
"""Of a step of research; `weak` is kept with a caveat."""
ScreenVerdict = Literal["safe", "refused", "unclear", "not screened"]
"""`unclear` where whoever should have told could not: the question was let through."""
EvidenceKind = Literal["documents", "tables"]
"""What an answer rests on: quoted places of documents, or a result computed from tables."""
Met = Literal["met", "not met", "unknown"]
AnalysisKind = Literal["computed", "generated", "concept", "limitation", "survey"]
"""By our own code from a question that it understands; by code that a model wrote; an explanation
of a word; that the tables cannot answer, and why; or what each document of a set says."""
ResolvedHow = Literal["exact", "case", "fuzzy", "value", "meaning"]
Remedy = Literal["rewrite_code", "revise_requirements", "reexamine_data", "cannot_proceed"]
Scalar = str | int | float | bool | None

EXIT_CODES: dict[Status, int] = {
    "answered": 0,
    "partial": 0,
    "abstained": 3,
    "refused": 4,
    "failed": 1,
}


class Record(BaseModel):
    """Frozen, and exact through JSON and back."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Citation(Record):
    """One place that stands behind a claim. `quote` is the document's text at [start, end)."""

    number: int = Field(ge=1, description="As printed: the 1 of [1].")
    passage: str
    document: str
    sha256: str
    title: str
    page: int | None = None
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    quote: str
    path: str | None = Field(default=None, description="Where the file was when it was added.")
    origin: Origin = "library"
    url: str | None = None
    fetched: str | None = Field(default=None, description="When a web page was read (ISO 8601).")


class Operand(Record):
    """A value as a cited passage states it."""

    text: str = Field(description="Verbatim in the quote of the citation.")
    citation: int = Field(ge=1)
    name: str | None = Field(default=None, description="What it is the value of.")


class Computation(Record):
    """How a claim follows from cited values: anybody can do it again."""

    operation: Operation
    operands: tuple[Operand, ...]
    result: str


class Claim(Record):
    """One sentence of the answer, and what stands behind it."""

    text: str
    citations: tuple[int, ...] = Field(description="Numbers of the citations behind it.")
    support: float | None = Field(default=None, description="0 to 1; None when not checked.")
    supported: bool | None = Field(
        default=None,
        description="Verified, with the question where the claim is a quote; None: only quoted.",
    )
    computation: Computation | None = Field(
        default=None, description="Set where code computed the claim from cited values."
    )
    answers: bool = Field(
        default=False, description="Judged together with the question, as its answer."
    )


class AnswerPart(Record):
    """One of the questions that a question was split into."""

    question: str = Field(description="As it was asked: earlier answers are filled in.")
    short: str | None = None
    citations: tuple[int, ...] = ()
    kind: EvidenceKind = "documents"
    claims: tuple[int, ...] = Field(
        default=(), description="Of the answer, from 1, where parts are told one after another."
    )
    status: Status | None = Field(
        default=None, description="Of this part, where it has an answer of its own."
    )
    stop_reason: StopReason | None = None


class ChoiceElement(Record):
    """Something that must hold, as the research states it."""

    text: str
    citations: tuple[int, ...] = ()


class ChoiceVerdict(Record):
    """Whether one element holds, were one option right."""

    element: int = Field(ge=1, description="Which of the choice's elements.")
    met: Met
    fact: str | None = Field(default=None, description="Word for word from the question.")


class ChoiceOption(Record):
    letter: str
    text: str
    verdicts: tuple[ChoiceVerdict, ...] = ()
    reason: str = ""


class Choice(Record):
    """What was chosen among the options of a question, and why. Code derives the letter."""

    letter: str | None = Field(default=None, description="None where no option could be chosen.")
    text: str | None = None
    options: tuple[ChoiceOption, ...] = ()
    elements: tuple[ChoiceElement, ...] = ()
    model: str | None = None
    grounded: bool = Field(
        default=True, description="False: from the model's own knowledge, without a source."
    )
    agreed: bool | None = Field(
        default=None, description="Whether a second try in another order chose the same."
    )
    confidence: float | None = Field(default=None, ge=0, le=1)
    why: str = ""


class StepEvidence(Record):
    """A passage that a step of research looked at, and what became of it."""

    passage: str
    rank: int = Field(ge=1)
    score: float
    relevance: float | None = None
    answer_score: float | None = None
    cosine: float | None = Field(default=None, description="Likeness to the step's first query.")
    kept: bool
    why: str


class ResearchStep(Record):
    """One question of a research, what was found and what is known of it now."""

    id: int = Field(ge=1)
    phase: str
    question: str
    status: StepStatus
    attempt: int = Field(default=1, ge=1)
    retry_of: int | None = None
    confidence: float | None = None
    model: str | None = None
    queries: tuple[str, ...] = ()
    claims: tuple[int, ...] = Field(default=(), description="Of the answer, from 1.")
    cut: int = Field(default=0, description="Sentences that the evidence does not carry.")
    evidence: tuple[StepEvidence, ...] = ()


class Screening(Record):
    verdict: ScreenVerdict = "not screened"
    by: str | None = Field(default=None, description="`rules`, or a model.")
    score: float | None = None
    where: str | None = Field(default=None, description="`question`, or the letter of a choice.")
    reasons: tuple[str, ...] = ()


class Recalled(Record):
    """Earlier research that answers the question."""

    entry: int
    question: str
    similarity: float
    created: str
    run: str


class Research(Record):
    """How an answer was researched."""

    query_type: QueryType
    classified_by: str
    escalated: bool = False
    cycles: int = 0
    completed: int = 0
    weak: int = 0
    failed: int = 0
    pending: int = 0
    steps: tuple[ResearchStep, ...] = ()
    screen: Screening = Screening()
    quarantined: int = 0
    recalled: Recalled | None = None
    remembered: bool = False
    stopped: str = Field(default="", description="Why no further step was made.")


class InputTable(Record):
    """A table that an analysis was given."""

    name: str
    id: str
    title: str
    sha256: str
    rows: int
    path: str | None = None


class Requirements(Record):
    """What is needed to answer a question over tables."""

    variables: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    analysis: str = Field(default="", description="`descriptive`, `correlation`, `group`, ...")
    success: str = Field(default="", description="What the result must hold.")
    by: str = Field(default="rules", description="`rules`, or the model that formulated them.")


class ResolvedColumn(Record):
    """Which column a word of the question was taken for."""

    asked: str
    table: str
    column: str
    score: float = Field(ge=0, le=1)
    how: ResolvedHow


class AnalysisCheck(Record):
    name: str
    passed: bool
    said: str


class AnalysisAttempt(Record):
    """Code that was written, and what became of it."""

    code: str
    status: str
    error: str | None = None


class AnalysisRemedy(Record):
    """What was made of a result that could not stand."""

    cause: str
    action: Remedy
    guidance: str


class ResultTable(Record):
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    total_rows: int
    citations: tuple[tuple[int | None, ...], ...] = Field(
        default=(), description="Of a survey: the citation behind each cell."
    )


class AnalysisFigure(Record):
    kind: Literal["plotly", "png"]
    title: str = ""
    data: JsonValue = Field(description="Plotly's JSON, or a PNG in base64.")


class Analysis(Record):
    """How an answer over tables came about: enough to do it again."""

    kind: AnalysisKind
    reading: str = Field(default="", description="How the question was understood.")
    requirements: Requirements | None = None
    columns: tuple[ResolvedColumn, ...] = ()
    query: JsonValue = Field(default=None, description="What our own code computed, as data.")
    sql: str | None = None
    code: str | None = None
    result: JsonValue = None
    stdout: str = ""
    table: ResultTable | None = None
    figures: tuple[AnalysisFigure, ...] = ()
    checks: tuple[AnalysisCheck, ...] = ()
    attempts: tuple[AnalysisAttempt, ...] = ()
    remedies: tuple[AnalysisRemedy, ...] = ()
    inputs: tuple[InputTable, ...] = ()
    sandbox: str | None = Field(default=None, description="The backend that ran the code.")
    grounded: bool = Field(
        default=True, description="False: an explanation from general knowledge, without a source."
    )


class Confidence(Record):
    value: float | None = Field(default=None, ge=0, le=1)
    label: Literal["provisional", "calibrated"] = "provisional"
    reasons: tuple[str, ...] = ()


class Check(Record):
    """One judgement of the answer as a whole."""

    value: Literal["yes", "no", "not checked"] = "not checked"
    score: float | None = None


class SeenPassage(Record):
    """A passage that was looked at, and what became of it."""

    id: str
    document: str
    title: str
    page: int | None = None
    start: int
    end: int
    score: float
    fusion_score: float | None = None
    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    rerank_score: float | None = Field(
        default=None, description="The reader's: how far the passage is about the question."
    )
    answer_score: float | None = Field(
        default=None,
        description="The reader's: how far it answers it; none where it was only glanced at.",
    )
    grade: Literal["relevant", "irrelevant", "not graded"] = "not graded"
    answers: bool | None = Field(
        default=None, description="Whether the grader holds that it answers; none if not graded."
    )
    graded_by: str | None = Field(default=None, description="`reader`, or the model that graded.")
    kept: bool
    why: str
    origin: Origin = "library"
    url: str | None = None
    text: str | None = Field(
        default=None, description="Of web passages only: the text as it was read, to check against."
    )


class Route(Record):
    to: str
    why: str


class Step(Record):
    """One visit of a node: a sentence for people and the numbers behind it."""

    node: str
    said: str
    numbers: dict[str, Scalar] = Field(default_factory=dict)
    route: Route | None = None
    seconds: float = 0.0
    workflow: str | None = Field(
        default=None, description="Whose node it is, where a workflow runs another one."
    )


class Trouble(Record):
    """Something went wrong and the run went on."""

    node: str
    error: str = Field(description="Class of the error.")
    message: str
    consequence: str


class CallUsage(Record):
    """What one node spent on one model in one role."""

    node: str
    role: str
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    cost: float | None = Field(default=None, description="US dollars; None when unknown.")
    saved: float = Field(default=0.0, description="US dollars that cached tokens saved.")
    seconds: float = 0.0
    retries: int = 0
    parse_failures: int = 0


class Usage(Record):
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    cost: float | None = Field(
        default=0.0, description="US dollars; None when any call's price is unknown."
    )
    saved: float = Field(default=0.0, description="US dollars that cached tokens saved.")
    cache_hit_rate: float | None = Field(default=None, description="Share of `tokens_in` cached.")
    seconds: float = 0.0
    by_node: tuple[CallUsage, ...] = ()


class Answer(Record):
    run: str
    question: str
    asked: str = Field(description="The question as it was worked on, made stand-alone.")
    workflow: str
    method: Method
    model: str | None = None
    text: str
    short: str | None = None
    status: Status
    tier: Tier | None = Field(default=None, description="None where there is no answer.")
    stop_reason: StopReason
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    confidence: Confidence = Confidence()
    grounded: Check = Check()
    useful: Check = Check()
    parts: tuple[AnswerPart, ...] = ()
    assumed: str | None = Field(
        default=None, description="What an unclear word of the question was taken to mean."
    )
    asks_back: str | None = Field(
        default=None, description="What must be known first, where there are several readings."
    )
    choice: Choice | None = None
    research: Research | None = None
    values: dict[str, JsonValue] = Field(
        default_factory=dict, description="Of an analysis: its results by name."
    )
    analysis: Analysis | None = None
    needs_review: bool = Field(
        default=False, description="Every try was used up: a person should look at the evidence."
    )
    queries: tuple[str, ...] = ()
    passages: tuple[SeenPassage, ...] = ()
    attempts: int = 0
    regenerations: int = 0
    web_used: bool = False
    warnings: tuple[Trouble, ...] = ()
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    created: str = Field(description="When the run began (ISO 8601, UTC).")
    version: str = Field(description="Version of Secondlook that made it.")

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]
