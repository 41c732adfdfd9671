"""What a chat model is to the rest of Secondlook: counted, bounded, cancellable, typed in failure.
A backend never raises an exception of its provider; cancelling `complete()` stops the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from secondlook.errors import ModelUnavailable, UnusableReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secondlook.answer import CallUsage

_Answering = Literal["answer", "grade", "rewrite", "plan", "choose"]
_Analysing = Literal["understand", "require", "code", "judge", "remedy", "explain"]
Role = Literal[_Answering, _Analysing, "screen", "summarise", "condense"]
OutputMode = Literal["text", "json_schema", "tool", "prompted"]
# Free text; JSON schema support or a grammar; a tool call; or asked for in words and validated.
Finish = Literal["stop", "length"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    schema: dict[str, Any] | None = None  # JSON schema the reply must follow; None = text
    mode: OutputMode = "text"
    timeout: float | None = None  # kept by `replies.complete`, which cancels what takes longer
    stop: tuple[str, ...] = ()
    idempotency_key: str | None = None  # the same where it is sent again, its fate being unknown


@dataclass(frozen=True, slots=True)
class ChatResult:
    text: str  # what was said; for a request with a schema, the JSON text
    finish: Finish
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    seconds: float = 0.0
    first_token_seconds: float | None = None


class Chat(Protocol):
    """One backend: one model, wherever it runs."""

    @property
    def spec(self) -> str:
        """`gguf:PATH`, `ollama:qwen2.5`, `openai:gpt-x@http://...`."""
        ...

    @property
    def local(self) -> bool:
        """It runs on this machine: a small context and a slow start."""
        ...

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult: ...

    async def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt: exact where possible, else rather too many than too few."""
        ...

    async def context_tokens(self) -> int | None:
        """How much the model can see, prompt and reply together; None when unknown."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What `Asker.ask` gives back; `value` is set when a schema was asked for."""

    text: str
    value: T | None
    finish: Finish
    usage: CallUsage


class ModeRefused(UnusableReply):
    """The model or its server does not do this output mode; another one may work."""


class ModelBusy(ModelUnavailable):
    """It asked to be asked later; `wait` is for how many seconds, where it said so."""

    def __init__(self, message: str, *, wait: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.wait = wait


# Tokens of models whose tokenizer is not here: counted rather too high than too low.

_PER_MESSAGE = 8  # role, marks and line breaks that a chat template puts around each message
_PER_PROMPT = 8
_CHARACTERS_PER_TOKEN = 16
_ALWAYS_ALLOWED = 2000


def approximate_tokens(text: str) -> int:
    from secondlook.reading.embedders import approximate_starts

    return len(approximate_starts(text))


def approximate_prompt(messages: Iterable[Message]) -> int:
    each = (approximate_tokens(message.content) + _PER_MESSAGE for message in messages)
    return _PER_PROMPT + sum(each)


def longest_reply(max_tokens: int) -> int:
    """Characters after which a reply of so many tokens is taken for one that never ends."""
    return _ALWAYS_ALLOWED + max_tokens * _CHARACTERS_PER_TOKEN


def characters(messages: Iterable[Message]) -> int:
    """Of a prompt, as it was sent."""
    return sum(len(message.content) for message in messages)
