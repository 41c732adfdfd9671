"""What can be seen of a run while it happens. Every face draws from this one stream. Order:
RunStarted, then NodeStarted / PassagesFound / Token / Warned / NodeFinished / Routed as the run
goes, then Answered. `Token` carries text of the answer and nothing else."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from secondlook.answer import Answer, Record, Scalar, SeenPassage, Trouble

_WORKFLOW = Field(default=None, description="Whose node it is, where a workflow runs another one.")


class _Event(Record):
    run: str
    at: float = Field(default=0.0, description="Seconds since the run began.")


class RunStarted(_Event):
    type: Literal["run_started"] = "run_started"
    question: str
    workflow: str


class NodeStarted(_Event):
    type: Literal["node_started"] = "node_started"
    node: str
    workflow: str | None = _WORKFLOW


class NodeFinished(_Event):
    type: Literal["node_finished"] = "node_finished"
    node: str
    said: str
    numbers: dict[str, Scalar] = Field(default_factory=dict)
    seconds: float = 0.0
    workflow: str | None = _WORKFLOW


class Routed(_Event):
    type: Literal["routed"] = "routed"
    source: str
    to: str
    why: str
    workflow: str | None = _WORKFLOW


class PassagesFound(_Event):
    type: Literal["passages_found"] = "passages_found"
    query: str
    passages: tuple[SeenPassage, ...]


class Token(_Event):
    type: Literal["token"] = "token"
    text: str


class Redrafted(_Event):
    """The answer is written anew: the tokens so far belong to a draft that is withdrawn."""

    type: Literal["redrafted"] = "redrafted"
    why: str


class Warned(_Event):
    type: Literal["warned"] = "warned"
    trouble: Trouble


class Answered(_Event):
    type: Literal["answered"] = "answered"
    answer: Answer


Event = (
    RunStarted
    | NodeStarted
    | NodeFinished
    | Routed
    | PassagesFound
    | Token
    | Redrafted
    | Warned
    | Answered
)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])
"""Reads an event back: `EVENT.validate_json(line)`."""
