"""What is sent and what comes back when a question is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from secondlook.answer import Answer, Status, StopReason
from secondlook.app.conversation import MOST_TURNS
from secondlook.settings.serving import DEFAULT_LIBRARY

RunId = Annotated[str, Field(examples=["20260102-1f2e3d4c5b6a"])]
SeenStatus = Status | Literal["queued", "running", "interrupted"]
_MOST_NAMES = 1000
_LONGEST = 20_000
MOST = 10**12
"""Of anything: a number beyond it is a mistake."""
Name = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=_LONGEST)]


class Strict(BaseModel):
    """A misspelt field is told, not passed over; `"yes"` and `1` are not `true`."""

    model_config = ConfigDict(extra="forbid", strict=True)


class GivenTurn(Strict):
    question: Text
    answer: Text = ""


class Conversation(Strict):
    """What was said before: the run that came before, or the turns themselves."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "properties": {"after": {"type": "string"}, "turns": {"minItems": 1}},
                "required": ["after", "turns"],
            }
        }
    )

    after: RunId | None = Field(default=None, max_length=100)
    turns: list[GivenTurn] = Field(default_factory=list, max_length=MOST_TURNS)

    @model_validator(mode="after")
    def _one_of_them(self) -> Conversation:
        if self.after is not None and self.turns:
            raise ValueError("give either `after` or `turns`, not both")
        return self


class AskBudget(Strict):
    """No more than the server allows, whatever is asked for. What is left out is as it is set."""

    calls: int | None = Field(default=None, ge=1, le=MOST, description="Model calls.")
    tokens: int | None = Field(default=None, ge=1, le=MOST, description="Tokens, in and out.")
    money: float | None = Field(default=None, gt=0, le=MOST, description="US dollars.")
    seconds: float | None = Field(default=None, gt=0, le=MOST, description="Of time.")

    def caps(self) -> dict[str, float]:
        """Those that are given."""
        return self.model_dump(exclude_none=True)


class AskRequest(Strict):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "How deep is berth 4?"},
                {"question": "Who voted?", "budget": {"calls": 3, "seconds": 20}},
                {"question": "And in 2023?", "conversation": {"after": "20260102-1f2e3d4c5b6a"}},
                {
                    "question": "Which berth is the deepest?",
                    "choices": ["berth 2", "berth 4"],
                    "workflow": "research",
                    "detach": True,
                },
            ]
        },
    )

    question: str = Field(
        min_length=1,
        pattern=r"\S",
        description="What you want to know.",
        examples=["How deep is berth 4?"],
    )
    library: str = Field(default=DEFAULT_LIBRARY, max_length=100)
    workflow: str | None = Field(
        default=None, max_length=100, description="Left out: the server's usual one."
    )
    documents: list[Name] = Field(
        default_factory=list,
        max_length=_MOST_NAMES,
        description="Look only in these: ids, paths, file names or titles.",
    )
    filters: dict[str, str] = Field(
        default_factory=dict, description="Look only in documents with such metadata."
    )
    choices: list[Name] | dict[str, Name] | None = Field(
        default=None, description="Answers to choose from, in order or by letter."
    )
    web: bool | None = Field(
        default=None, description="Whether the web may be searched; no more than the server allows."
    )
    max_risk: float | None = Field(
        default=None, gt=0, lt=1, description="Share of answers that may be wrong."
    )
    budget: AskBudget | None = Field(
        default=None, description="The most that this question may take."
    )
    conversation: Conversation | None = None
    stream: bool = Field(
        default=False, description="Send events as they happen; leaving stops the run."
    )
    detach: bool = Field(
        default=False, description="Return at once; the run goes on whoever is watching."
    )


class Accepted(BaseModel):
    """A run that goes on by itself."""

    run: RunId
    status: SeenStatus = Field(examples=["running"])
    events: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a/events"])
    url: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a"])


class RunRow(BaseModel):
    """A run as it is listed."""

    id: RunId
    question: str
    workflow: str | None = Field(description="None while it waits.")
    status: SeenStatus
    stop_reason: StopReason | None
    started: str
    short: str | None
    after: RunId | None = Field(description="The run before it in its conversation.")
    library: str | None = Field(description="None where it is of a library not served here.")


class RunList(BaseModel):
    runs: list[RunRow]


class RunView(BaseModel):
    id: RunId
    question: str
    workflow: str | None
    status: SeenStatus
    position: int | None = Field(default=None, description="Its place in the queue; 1 = next.")
    started: str
    after: RunId | None = None
    library: str | None = None
    answer: Answer | None = None


class RunState(BaseModel):
    id: RunId
    status: SeenStatus
