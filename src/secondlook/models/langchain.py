"""Models behind LangChain: Ollama, OpenAI and its likes, and every provider with a package."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from secondlook.errors import ModelError, ModelTimeout, ModelUnavailable
from secondlook.models.counting import approximate_prompt, approximate_tokens, longest_reply
from secondlook.models.forms_of_reply import bound, response_format
from secondlook.models.langchain_errors import translated, unwanted_parameter
from secondlook.models.port import ChatRequest, ChatResult, Message
from secondlook.models.providers import build, call_arguments, close
from secondlook.models.windows import ollama_window, server_window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from secondlook.models.port import Finish
    from secondlook.models.specs import ModelSpec
    from secondlook.settings import ModelSettings

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WHY_IT_ENDED = ("finish_reason", "done_reason", "stop_reason", "done")
_SAY_WHY = frozenset({"ollama", "openai", "azure_openai"})
"""Providers that end every reply with a reason: one without was broken off."""
_OPTIONAL = frozenset({"temperature", "seed", "stop", "stream_options"})
"""What some models refuse to be told; they are asked again without it."""
_SECONDS_FOR_LOGPROBS = 60.0


@dataclass(slots=True)
class _Heard:
    """What has come of a stream."""

    text: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    """Of a tool call: the reply, where one was asked for in that form."""
    length: int = 0
    finish: Finish = "stop"
    ended: bool = False
    usage: Any = None
    first: float | None = None

    def add(self, chunk: Any) -> str:
        """Take in one chunk; returns what it adds to the reply."""
        said = str(chunk.text)
        called = "".join(part.get("args") or "" for part in chunk.tool_call_chunks)
        self.text.append(said)
        self.arguments.append(called)
        self.length += len(said) + len(called)
        if (said or called) and self.first is None:
            self.first = time.monotonic()
        self._note(chunk)
        return said or called

    def _note(self, chunk: Any) -> None:
        from langchain_core.messages.ai import add_usage

        if chunk.usage_metadata:
            self.usage = add_usage(self.usage, chunk.usage_metadata)
        why = [chunk.response_metadata.get(name) for name in _WHY_IT_ENDED]
        self.ended = self.ended or any(why)
        if any(str(reason).lower() in _CUT for reason in why):
            self.finish = "length"

    @property
    def reply(self) -> str:
        return "".join(self.arguments) or "".join(self.text)


class LangChainChat:
    """Implements `Chat` over whatever `init_chat_model` makes of the spec."""

    def __init__(self, spec: ModelSpec, settings: ModelSettings) -> None:
        self._spec = spec
        self._told_window = settings.context_tokens or None
        self._models: WeakKeyDictionary[Any, asyncio.Future[BaseChatModel]] = WeakKeyDictionary()
        self._window: int | None = None
        self._has_answered = False
        """A server that answers and does not tell its window is not asked for it each time."""
        self._unwanted: set[str] = set()

    @property
    def spec(self) -> str:
        return self._spec.text

    @property
    def local(self) -> bool:
        return self._spec.local

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        await self._model()  # its packages are imported once; that is no time of this call
        started = time.monotonic()
        heard = _Heard()
        try:
            async with asyncio.timeout(request.timeout):
                await self._stream(request, heard, on_text)
        except TimeoutError as late:
            raise ModelTimeout(
                f"{self.spec!r} did not finish within {request.timeout:g} s",
                hint="Give it longer with models.timeout.",
            ) from late
        return self._result(request, heard, started)

    async def count(self, messages: Sequence[Message]) -> int:
        """Rather high.

        What cannot be opened fails here, before a call is paid for: it was never made.
        """
        await self._model()
        return approximate_prompt(messages) + 1

    async def context_tokens(self) -> int | None:
        if self._window is None and not self._has_answered:
            self._window = await self._find_window()
        return self._window

    async def has_logprobs(self) -> bool:
        """Whether it tells how probable its words are."""
        question = (Message("user", "Say yes."),)
        request = ChatRequest(question, max_tokens=1, timeout=_SECONDS_FOR_LOGPROBS)
        try:
            model = (await self._model()).bind(logprobs=True, **await self._arguments(request))
            async with asyncio.timeout(request.timeout):
                reply = await model.ainvoke(_messages(question), config={"callbacks": []})
        except Exception:  # noqa: BLE001  # whatever it says to the question: it does not
            return False
        return bool(reply.response_metadata.get("logprobs"))

    async def aclose(self) -> None:
        opened = self._models.pop(asyncio.get_running_loop(), None)
        if opened is not None and opened.done() and not opened.exception():
            await close(opened.result())

    async def _stream(
        self, request: ChatRequest, heard: _Heard, on_text: Callable[[str], None] | None
    ) -> None:
        for _ in range(len(_OPTIONAL) + 1):
            try:
                return await self._stream_once(request, heard, on_text)
            except (ModelError, TimeoutError):
                raise
            except Exception as error:
                unwanted = unwanted_parameter(error)
                if heard.length or unwanted not in _OPTIONAL - self._unwanted:
                    raise translated(error, self._spec, request.mode) from error
                self._unwanted.add(str(unwanted))
        raise ModelError(f"{self.spec!r} takes none of the usual parameters")

    async def _stream_once(
        self, request: ChatRequest, heard: _Heard, on_text: Callable[[str], None] | None
    ) -> None:
        model = await self._model()
        runnable = bound(model, self._spec, request)
        arguments = await self._arguments(request)
        limit = longest_reply(request.max_tokens)
        # No callbacks: a graph around us must not take inner replies for its own output.
        chunks: Any = runnable.astream(
            _messages(request.messages), config={"callbacks": []}, **arguments
        )
        async with aclosing(chunks):
            async for chunk in chunks:
                said = heard.add(chunk)
                if said and on_text is not None:
                    on_text(said)
                if heard.length >= limit:
                    heard.finish = "length"
                    return
                # Of a server that is faster than we are every read is ready at once: without a
                # turn for the others nobody could stop it.
                await asyncio.sleep(0)
        if self._spec.provider in _SAY_WHY and not heard.ended:
            raise ModelUnavailable(f"{self.spec!r} broke off in the middle of its reply")

    async def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        window = await self.context_tokens() if self._spec.provider == "ollama" else None
        given = call_arguments(self._spec, request, num_ctx=window)
        if "stream_options" in self._unwanted:
            given["stream_usage"] = False
        if native := response_format(self._spec, request):
            given["extra_body"] = given.get("extra_body", {}) | native
        return {name: value for name, value in given.items() if name not in self._unwanted}

    def _result(self, request: ChatRequest, heard: _Heard, started: float) -> ChatResult:
        self._has_answered = True
        estimate = approximate_prompt(request.messages)
        usage = heard.usage or {}
        tokens_in = usage.get("input_tokens") or estimate
        cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
        return ChatResult(
            text=heard.reply,
            finish=heard.finish,
            tokens_in=tokens_in,
            tokens_out=usage.get("output_tokens") or approximate_tokens(heard.reply),
            tokens_cached=min(cached, tokens_in),
            estimate=estimate,
            seconds=time.monotonic() - started,
            first_token_seconds=None if heard.first is None else heard.first - started,
        )

    async def _model(self) -> BaseChatModel:
        """Of this event loop; the packages are imported beside it, for that takes seconds."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models[loop] = asyncio.ensure_future(asyncio.to_thread(build, self._spec))
        try:
            return await asyncio.shield(self._models[loop])
        except ModelError:
            self._models.pop(loop, None)  # a package or a key may be there the next time
            raise

    async def _find_window(self) -> int | None:
        if self._spec.provider == "ollama":
            return await ollama_window(self._spec, self._told_window)
        if self._told_window:
            return self._told_window
        if self._spec.provider == "openai" and self._spec.base_url:
            return await server_window(self._spec)
        profile = (await self._model()).profile or {}
        return profile.get("max_input_tokens")


def _messages(messages: Sequence[Message]) -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    return [kinds[message.role](content=message.content) for message in messages]
