"""A model that is a function: it reads the prompt it is sent, and what it returns is its reply."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from secondlook.models.budget import Ledger
from secondlook.models.calls import Asker, Models
from secondlook.models.chat import (
    ChatRequest,
    ChatResult,
    Message,
    approximate_prompt,
    approximate_tokens,
)
from secondlook.models.journal import Journal, MemoryJournal
from secondlook.models.prices import Caps
from secondlook.models.probe import Probe
from secondlook.settings.sections import ModelSettings, Settings

Said = str | ChatResult | Iterator[str]
Function = Callable[[ChatRequest], Said | Awaitable[Said]]


class FunctionModel:
    """Implements `Chat`. The function may return a text, a whole result, an iterator of pieces
    (also an endless one) or an awaitable of these, and it may raise anything. Like a server, the
    model cuts a text at `max_tokens`; with `obedient=False` it says all it wants to."""

    def __init__(
        self,
        function: Function,
        *,
        spec: str = "ollama:function",
        local: bool = False,
        context: int | None = 8192,
        obedient: bool = True,
    ) -> None:
        self._function = function
        self._context = context
        self._obedient = obedient
        self.spec = spec
        self.local = local
        self.requests: list[ChatRequest] = []
        self.closed = False

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        self.requests.append(request)
        started = time.monotonic()
        said: Any = self._function(request)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, ChatResult):
            return said
        pieces = _words(said) if isinstance(said, str) else said
        spoken: list[str] = []
        tokens = 0
        cut = False
        for piece in pieces:
            tokens += approximate_tokens(piece)
            if self._obedient and tokens > request.max_tokens:
                cut = True
                break
            spoken.append(piece)
            if on_text is not None:
                on_text(piece)
            await asyncio.sleep(0)
        return ChatResult(
            "".join(spoken),
            "length" if cut else "stop",
            tokens_in=await self.count(request.messages),
            tokens_out=min(tokens, request.max_tokens) if self._obedient else tokens,
            seconds=time.monotonic() - started,
        )

    async def count(self, messages: Sequence[Message]) -> int:
        return approximate_prompt(messages)

    async def context_tokens(self) -> int | None:
        return self._context

    async def aclose(self) -> None:
        self.closed = True


def _words(text: str) -> Iterator[str]:
    """As a server streams it, a word at a time."""
    for number, word in enumerate(text.split(" ")):
        yield f" {word}" if number else word


async def no_pause(seconds: float) -> None:
    """Instead of waiting between retries."""


def of_all_roles(models: dict[str, Any]) -> dict[str, Any]:
    """`retries=0` and the like as options of all roles."""
    named = {
        name: models[name] for name in ("retries", "timeout", "context_tokens") if name in models
    }
    options = tuple(f"all.{name}={value}" for name, value in named.items() if value)
    options += ("all.retries=0",) if named.get("retries") == 0 else ()
    rest = {name: value for name, value in models.items() if name not in named}
    return {**rest, "options": (*rest.get("options", ()), *options)}


def models_of(chat: FunctionModel, *, probe: Probe | None = None, **options: Any) -> Models:
    """Models whose every role is served by the double. `options` are of `ModelSettings`."""
    settings = Settings(models=ModelSettings(**of_all_roles({"default": chat.spec, **options})))
    return Models(settings, open_chat=lambda _: chat, probes=lambda _: probe, pause=no_pause)


def asker_of(
    chat: FunctionModel,
    *,
    caps: Caps | None = None,
    ledger: Ledger | None = None,
    journal: Journal | None = None,
    workflow: str = "linear",
    **options: Any,
) -> Asker:
    """An `Asker` of one run over the double; `asker.ledger` tells what was spent."""
    return models_of(chat, **options).asker(
        run="test-run",
        workflow=workflow,
        ledger=ledger or Ledger(caps or Caps()),
        journal=journal or MemoryJournal(),
    )


def probe_of(spec: str, **measured: Any) -> Probe:
    """A measurement of a model, with what a test wants to be different."""
    values: dict[str, Any] = {
        "mode": "prompted",
        "json_rates": {},
        "context_tokens": 1000,
        "seen_tokens": 1000,
        "declared_tokens": 8192,
        "prefill_rate": None,
        "decode_rate": None,
        "first_token_seconds": None,
        "calls": 1,
        "tokens_in": 1,
        "tokens_out": 1,
        "seconds": 1.0,
        "measured": "2026-01-01T00:00:00+00:00",
    }
    return Probe(spec=spec, **{**values, **measured})
