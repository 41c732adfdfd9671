"""What comes in and goes out, in the shapes that OpenAI's clients know."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from secondlook.answer import Answer, Status, StopReason
from secondlook.api.asking.forms import AskBudget
from secondlook.api.whole_number import OrWithPoint

MODEL_PREFIX = "secondlook"
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class Part(BaseModel):
    """A piece of a message. Only text is read."""

    type: str
    text: str | None = None
    refusal: str | None = None


class Message(BaseModel):
    role: Role
    content: str | list[Part] | None = None


class StreamOptions(BaseModel, strict=True):
    include_usage: bool | None = False


class ResponseFormat(BaseModel):
    type: str


class Extension(BaseModel):
    """What OpenAI's form has no place for. Clients send it as `extra_body`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    library: str = "default"
    documents: list[str] = Field(
        default_factory=list, description="Only these: ids, file names or titles."
    )
    filters: dict[str, str] = Field(default_factory=dict, description="Such as `kind: pdf`.")
    max_risk: float | None = Field(default=None, gt=0, lt=1)
    budget: AskBudget | None = None
    answer: bool = Field(default=False, description="Send the whole answer along.")


class ChatRequest(BaseModel):
    """Parameters that are not listed here are ignored."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "example": {
                "model": "secondlook",
                "messages": [{"role": "user", "content": "How deep is berth 4?"}],
                "stream": False,
            }
        },
    )

    model: str = Field(description="`secondlook`, or `secondlook-` and the name of a workflow.")
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, OrWithPoint] | None = Field(
        default=None, description="One answer is given: 1, or left out."
    )
    response_format: ResponseFormat | None = Field(default=None, description="Text alone.")
    tool_choice: Any = Field(default=None, description="No tool is ever called.")
    secondlook: Extension = Field(default_factory=Extension)


class UrlCitation(BaseModel):
    start_index: int = Field(description="Of the link in `content`, in Unicode characters.")
    end_index: int = Field(description="One behind its last character.")
    title: str
    url: str


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AssistantMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation] = Field(default_factory=list)


class Choice(BaseModel):
    index: int = 0
    message: AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class CachedTokens(BaseModel):
    cached_tokens: int


class TokenUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class About(BaseModel):
    """What an answer is, beyond its words."""

    run: str
    url: str = Field(description="The page that shows how the answer was made.")
    status: Status
    stop_reason: StopReason
    confidence: float | None
    workflow: str
    answer: Answer | None = Field(default=None, description="Where it was asked for.")


_ANSWER_URL = "http://127.0.0.1:8765/#/runs/20260102-1f2e3d4c5b6a"
_CITED: JsonDict = {
    "start_index": 28,
    "end_index": 97,
    "title": "Harbour Survey 2024",
    "url": f"{_ANSWER_URL}/citations/1",
}


class Completion(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "chatcmpl-20260102-1f2e3d4c5b6a",
                "object": "chat.completion",
                "created": 1767323045,
                "model": "secondlook",
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "role": "assistant",
                            "content": "Berth 4 is 7.8 metres deep. "
                            f"[[1]]({_ANSWER_URL}/citations/1)",
                            "refusal": None,
                            "annotations": [{"type": "url_citation", "url_citation": _CITED}],
                        },
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": 0,
                    "completion_tokens": 0,
                    "total_tokens": 0,
                    "prompt_tokens_details": {"cached_tokens": 0},
                },
                "secondlook": {
                    "run": "20260102-1f2e3d4c5b6a",
                    "url": _ANSWER_URL,
                    "status": "answered",
                    "stop_reason": "answered",
                    "confidence": 0.92,
                    "workflow": "linear",
                    "answer": None,
                },
            }
        }
    )

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: TokenUsage
    secondlook: About


class Delta(BaseModel):
    role: Literal["assistant"] | None = None
    content: str | None = None
    annotations: list[Annotation] | None = None


class ChunkChoice(BaseModel):
    index: int = 0
    delta: Delta
    logprobs: None = None
    finish_reason: Literal["stop"] | None = None


class Chunk(BaseModel):
    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: TokenUsage | None = None
    secondlook: About | None = None


class Model(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "secondlook-linear",
                "object": "model",
                "created": 1767323045,
                "owned_by": "secondlook",
                "about": "retrieve, rerank, answer: the baseline",
            }
        }
    )

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["secondlook"] = "secondlook"
    about: str = Field(description="What the workflow does.")


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorBody(BaseModel):
    error: ErrorDetail
