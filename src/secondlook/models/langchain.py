"""Models behind LangChain: Ollama, OpenAI and its likes, and every provider with a package."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from secondlook.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    SecondlookError,
)
from secondlook.models.chat import (
    ChatRequest,
    ChatResult,
    Message,
    ModelBusy,
    ModeRefused,
    approximate_prompt,
    approximate_tokens,
)
from secondlook.models.specs import KEY_VARIABLES, PACKAGES, window_of
from secondlook.settings.addresses import sent_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from secondlook.models.chat import Finish, OutputMode
    from secondlook.models.specs import ModelSpec
    from secondlook.settings.sections import ModelSettings

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WHY_IT_ENDED = ("finish_reason", "done_reason", "stop_reason", "done")
_SAY_WHY = frozenset({"ollama", "openai", "azure_openai"})  # a reply without a reason broke off
_OPTIONAL = frozenset({"temperature", "seed", "stop", "stream_options"})  # some models refuse them
OLLAMA_WINDOW = 8192
# Ollama's own default is half of it; what a model was trained with is often more than fits.
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


@dataclass(slots=True)
class _Heard:
    """What has come of a stream."""

    text: str = ""
    arguments: str = ""  # of a tool call: the reply, where one was asked for in that form
    finish: Finish = "stop"
    ended: bool = False
    usage: dict[str, Any] = field(default_factory=dict)

    def add(self, chunk: Any) -> str:
        """Take in one chunk; returns what it adds to the reply."""
        from langchain_core.messages.ai import add_usage

        said = str(chunk.text)
        called = "".join(part.get("args") or "" for part in chunk.tool_call_chunks)
        self.text += said
        self.arguments += called
        if chunk.usage_metadata:
            known = cast("Any", self.usage or None)
            self.usage = cast("dict[str, Any]", add_usage(known, chunk.usage_metadata))
        why = [chunk.response_metadata.get(name) for name in _WHY_IT_ENDED]
        self.ended = self.ended or any(why)
        if any(str(reason).lower() in _CUT for reason in why):
            self.finish = "length"
        return said or called


class LangChainChat:
    """Implements `Chat` over whatever `init_chat_model` makes of the spec."""

    def __init__(self, spec: ModelSpec, settings: ModelSettings) -> None:
        self._spec = spec
        self._told_window = window_of(settings)
        self._models: WeakKeyDictionary[Any, asyncio.Future[BaseChatModel]] = WeakKeyDictionary()
        self._window: int | None = None
        self._has_answered = False  # one that does not tell its window is not asked each time
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
        heard = _Heard()
        while await self._refuses_a_parameter(request, heard, on_text):
            pass
        self._has_answered = True
        reply = heard.arguments or heard.text
        tokens_in = heard.usage.get("input_tokens") or approximate_prompt(request.messages)
        cached = (heard.usage.get("input_token_details") or {}).get("cache_read") or 0
        return ChatResult(
            text=reply,
            finish=heard.finish,
            tokens_in=tokens_in,
            tokens_out=heard.usage.get("output_tokens") or approximate_tokens(reply),
            tokens_cached=min(cached, tokens_in),
        )

    async def count(self, messages: Sequence[Message]) -> int:
        """Rather high. What cannot be opened fails here, before a call is paid for."""
        await self._model()
        return approximate_prompt(messages) + 1

    async def context_tokens(self) -> int | None:
        if self._window is None and not self._has_answered:
            spec = self._spec
            if spec.provider == "ollama":
                # As set, as the model file says, or our default; within what it was trained with.
                body = {"model": spec.model}
                shown = await _json(spec, "POST", f"{spec.base_url}/api/show", body)
                in_file = _NUM_CTX.search(str(shown.get("parameters") or ""))
                wanted = self._told_window or (int(in_file[1]) if in_file else 0) or OLLAMA_WINDOW
                about = shown.get("model_info")
                known = about.items() if isinstance(about, dict) else ()
                trained = [size for name, size in known if name.endswith(".context_length")]
                self._window = min(wanted, _first_positive(trained) or wanted)
            elif self._told_window:
                self._window = self._told_window
            elif spec.provider == "openai" and spec.base_url:
                self._window = await _server_window(spec)
            else:
                self._window = ((await self._model()).profile or {}).get("max_input_tokens")
        return self._window

    async def aclose(self) -> None:
        opened = self._models.pop(asyncio.get_running_loop(), None)
        if opened is None or not opened.done() or opened.exception():
            return
        # Which attribute holds the connections is each provider's own affair.
        for name, closing in (("http_async_client", "aclose"), ("_async_client", "close")):
            end = getattr(getattr(opened.result(), name, None), closing, None)
            if end is not None:
                await end()

    async def _refuses_a_parameter(
        self, request: ChatRequest, heard: _Heard, on_text: Callable[[str], None] | None
    ) -> bool:
        """Hear the reply out. True where the model refuses an optional parameter."""
        try:
            await self._hear(request, heard, on_text)
        except ModelError:
            raise
        except Exception as error:
            unwanted = getattr(error, "param", None) if _status(error) in {400, 422} else None
            new = unwanted in _OPTIONAL - self._unwanted if isinstance(unwanted, str) else False
            if heard.text or heard.arguments or not new:
                raise translated(error, self._spec, request.mode) from error
            self._unwanted.add(str(unwanted))
            return True
        return False

    async def _hear(
        self, request: ChatRequest, heard: _Heard, on_text: Callable[[str], None] | None
    ) -> None:
        runnable = _bound(await self._model(), self._spec, request)
        arguments = await self._arguments(request)
        # No callbacks: a graph around us must not take inner replies for its own output.
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        chunks: Any = runnable.astream(
            [kinds[message.role](content=message.content) for message in request.messages],
            config={"callbacks": []},
            **arguments,
        )
        async with aclosing(chunks):
            async for chunk in chunks:
                said = heard.add(chunk)
                if said and on_text is not None:
                    on_text(said)
                # Of a server that is faster than we are every read is ready at once: without a
                # turn for the others nobody could stop it.
                await asyncio.sleep(0)
        if self._spec.provider in _SAY_WHY and not heard.ended:
            raise ModelUnavailable(f"{self.spec!r} broke off in the middle of its reply")

    async def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        """Length, temperature, seed, stops and form, under the names the provider has for them."""
        spec = self._spec
        given: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed}
        given["stop"] = list(request.stop) or None
        if spec.provider == "ollama":
            # Never left out: a server that assumes less silently drops the start of the prompt.
            window = await self.context_tokens()
            given |= {"num_predict": request.max_tokens, "num_ctx": window}
            return {"options": {name: one for name, one in given.items() if one is not None}}
        if request.idempotency_key and spec.provider in {"openai", "azure_openai"}:
            given["extra_headers"] = {"Idempotency-Key": request.idempotency_key}
        if spec.provider == "openai" and spec.base_url:
            # Other servers mostly know this name only; the client would send the newer one.
            given["extra_body"] = {"max_tokens": request.max_tokens}
        else:
            google = spec.provider.startswith("google_") and "anthropic" not in spec.provider
            given["max_output_tokens" if google else "max_tokens"] = request.max_tokens
        if "stream_options" in self._unwanted:
            given["stream_usage"] = False
        if native := response_format(spec, request):
            given["extra_body"] = given.get("extra_body", {}) | native
        known = {name: one for name, one in given.items() if name not in self._unwanted}
        return {name: one for name, one in known.items() if one is not None}

    async def _model(self) -> BaseChatModel:
        """Of this event loop; the packages are imported beside it, for that takes seconds."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models[loop] = asyncio.ensure_future(asyncio.to_thread(_build, self._spec))
        try:
            return await asyncio.shield(self._models[loop])
        except ModelError:
            self._models.pop(loop, None)  # a package or a key may be there the next time
            raise


# LangChain's chat models, made for us: no retries of their own, no proxy to this machine.


def install_hint(provider: str) -> str:
    return f"pip install langchain {PACKAGES[provider]}"


def _build(spec: ModelSpec) -> BaseChatModel:
    """The chat model that `init_chat_model` makes of a spec, or an error with the way out."""
    variable = KEY_VARIABLES.get(spec.provider)
    has_key = bool(spec.key)
    package = PACKAGES[spec.provider].replace("-", "_")
    if spec.provider in {"openai", "ollama"} and find_spec(package) is None:
        raise _not_installed(spec)
    if spec.provider == "openai" and not has_key and not spec.base_url:
        hint = (
            "secondlook models key openai keeps one; or set OPENAI_API_KEY, or name a server: "
            "openai:MODEL@http://host:port/v1."
        )
        raise ModelError(f"{spec.text!r} needs a key, and OPENAI_API_KEY is not set", hint=hint)
    try:
        from langchain.chat_models import init_chat_model

        made: Any = init_chat_model(spec.model, model_provider=spec.provider, **_opening(spec))
    except ImportError as missing:
        raise _not_installed(spec) from missing
    except Exception as refused:
        said = next(iter(str(refused).strip().splitlines()), "") or type(refused).__name__
        get_one = f"secondlook models key {spec.provider}, or set {variable}."
        hint = get_one if variable and not has_key else "See `secondlook doctor`."
        raise ModelError(f"{spec.text!r} cannot be opened: {said}", hint=hint) from refused
    return cast("BaseChatModel", made)


def _not_installed(spec: ModelSpec) -> ModelError:
    # The command is part of the message: a run that goes on without the model tells no hints.
    command = install_hint(spec.provider)
    said = f"{spec.text!r} needs a package that is not installed: {command}"
    return ModelError(said, hint=command)


def _opening(spec: ModelSpec) -> dict[str, Any]:
    # Without TLS there is nothing to verify, and reading certificates takes a tenth of a second.
    # A proxy from the environment is for the outside, never for this machine.
    plain = str(spec.base_url).startswith("http://")
    http: dict[str, Any] = {"trust_env": not spec.local, "verify": not plain}
    http |= sent_to(spec.base_url)
    if spec.provider == "ollama":
        return {"base_url": spec.base_url, "client_kwargs": http}
    given: dict[str, Any] = {"max_retries": 0}
    if spec.base_url:
        given["base_url"] = spec.base_url
    variable = KEY_VARIABLES.get(spec.provider, "")
    if spec.key and not os.environ.get(variable, "").strip():
        # Two providers have a name of their own for it, the same as their variable's.
        own = spec.provider in {"cohere", "huggingface"}
        given[variable.lower() if own else "api_key"] = spec.key
    if spec.provider == "openai":
        from openai import DefaultAsyncHttpxClient

        given |= {
            # Servers of one's own mostly want no key, but the client insists on one.
            "api_key": spec.key or "not-needed",
            "stream_usage": True,
            # One per event loop, ours: shared ones break when their loop is closed.
            "http_async_client": DefaultAsyncHttpxClient(**http, timeout=None),
        }
    return given


# Output modes in LangChain's terms: how a schema is bound to a chat model.

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_UNSUPPORTED = frozenset(
    {"default", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"}
)
"""What OpenAI's own strict mode refuses; other servers hold a model to it. We validate it all."""


def _bound(model: BaseChatModel, spec: ModelSpec, request: ChatRequest) -> Runnable[Any, Any]:
    """The model, made to answer in the form of the request."""
    schema = request.schema
    if schema is None or request.mode in {"text", "prompted"}:
        return model
    try:
        if request.mode == "tool":
            name = _schema_name(schema)
            about = str(schema.get("description") or "Give the reply by calling this.")
            function = {"name": name, "description": about, "parameters": schema}
            return model.bind_tools([{"type": "function", "function": function}], tool_choice=name)
        if spec.provider == "ollama":
            return model.bind(format=schema)
        if spec.provider in {"openai", "azure_openai"}:
            return model  # see response_format()
        # The bound model within what this makes: we parse for ourselves.
        made = model.with_structured_output(schema, method="json_schema")
    except (NotImplementedError, TypeError, ValueError) as unable:
        cannot = "call tools" if request.mode == "tool" else "take a JSON schema"
        raise ModeRefused(f"{type(model).__name__} does not {cannot}") from unable
    return cast("Runnable[Any, Any]", getattr(made, "first", made))


def response_format(spec: ModelSpec, request: ChatRequest) -> dict[str, Any]:
    """In the body, not as LangChain's argument: its client would raise on a cut reply."""
    schema = request.schema if request.mode == "json_schema" else None
    if schema is None or spec.provider not in {"openai", "azure_openai"}:
        return {}
    without = _UNSUPPORTED if spec.base_url is None else frozenset({"default"})
    form = {"name": _schema_name(schema), "schema": _strict(schema, without), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _schema_name(schema: dict[str, Any]) -> str:
    return _NOT_A_NAME.sub("_", str(schema.get("title") or "Reply"))[:_LONGEST_NAME]


def _strict(schema: Any, without: frozenset[str]) -> Any:
    """Every field required and no others, as OpenAI's strict mode wants it."""
    if isinstance(schema, list):
        return [_strict(item, without) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties")
    made = {name: _strict(value, without) for name, value in schema.items() if name not in without}
    if isinstance(fields, dict):
        # Here a word of schemas may be the name of a field.
        made["properties"] = {name: _strict(value, without) for name, value in fields.items()}
        made |= {"required": list(fields), "additionalProperties": False}
    return made


# How much a served model can see, asked of its server.

_SECONDS = 5.0


async def _server_window(spec: ModelSpec) -> int | None:
    """Of an OpenAI-compatible server: llama.cpp says it in /props, vLLM in its list of models."""
    address = str(spec.base_url)
    props = await _json(spec, "GET", f"{address.removesuffix('/v1')}/props")
    defaults = props.get("default_generation_settings")
    if isinstance(defaults, dict) and (found := _first_positive([defaults.get("n_ctx")])):
        return found
    data = (await _json(spec, "GET", f"{address}/models")).get("data")
    models = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    for model in models:
        if len(models) == 1 or model.get("id") == spec.model:
            about = model.get("meta")
            trained = about.get("n_ctx_train") if isinstance(about, dict) else None
            names = ("max_model_len", "context_length", "context_window")
            return _first_positive([*map(model.get, names), trained])
    return None


def _first_positive(values: Iterable[Any]) -> int | None:
    return next((value for value in values if isinstance(value, int) and value > 0), None)


async def _json(
    spec: ModelSpec, method: str, url: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the server says, or nothing: whether it is there at all shows when it is asked."""
    import httpx

    try:
        how: dict[str, Any] = {"trust_env": not spec.local, "timeout": _SECONDS}
        async with httpx.AsyncClient(**how, **sent_to(spec.base_url)) as client:
            reply = await client.request(method, url, json=body)
            content = reply.json() if reply.is_success else {}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


# What went wrong at a provider, in our own errors. By class and status, never by message.

_AWAY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_NOT_FOUND = 404
_NOT_UNDERSTOOD = frozenset({400, 404, 405, 415, 422, 500, 501})  # a form they do not know
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_LONGEST_MESSAGE = 300


def translated(  # noqa: C901, PLR0911
    error: Exception, spec: ModelSpec, mode: OutputMode
) -> SecondlookError:
    """Our error for one of a provider, its client, or its connection."""
    if isinstance(error, SecondlookError):
        return error
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.replace(spec.key or "\0", "...")  # some servers repeat what they were sent
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
    said, codes, status = f"{spec.text!r}: {text}", _codes(error), _status(error)
    # By name: which HTTP client a provider uses is its own affair.
    kinds = {kind.__name__ for one in _chain(error) for kind in type(one).__mro__}
    if "ContextOverflowError" in kinds or codes & _TOO_LONG:
        return ContextOverflow(said, hint="Give less evidence: answer.evidence_tokens.")
    if mode in {"json_schema", "tool"}:
        unable = isinstance(error, NotImplementedError | TypeError | ValueError | KeyError)
        if (unable and status is None) or status in _NOT_UNDERSTOOD:
            return ModeRefused(said)
    start = f"Check that {spec.base_url or spec.provider} runs and can be reached from here."
    missing = f"Check the name {spec.model!r} and the address (OpenAI-compatible ones end in /v1)."
    if spec.provider == "ollama":
        missing = f"Fetch it: ollama pull {spec.model}. `secondlook doctor` lists what is there."
    if kinds & {"TimeoutException", "ModelTimeoutError", "TimeoutError"}:
        return ModelTimeout(f"{spec.text!r} did not answer in time", hint=start)
    if status in {401, 403}:
        return ModelError(said, hint=f"Check the key {KEY_VARIABLES.get(spec.provider, '')}.")
    if codes & _OUT_OF_CREDIT:
        return ModelError(said, hint="The account has no credit left; see the provider's site.")
    if status == _NOT_FOUND:
        return ModelError(said, hint=missing)
    if status in _AWAY:
        return ModelBusy(said, wait=_retry_after(error))
    if status is None and kinds & {"TransportError", "ModelConnectionError", "OSError"}:
        return ModelUnavailable(f"{spec.text!r} cannot be reached", hint=start)
    return ModelError(said)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what caused it."""
    for _ in range(10):
        if error is not None:
            yield error
            error = error.__cause__ or error.__context__


def _status(error: Exception) -> int | None:
    return _first_positive(getattr(one, "status_code", None) for one in _chain(error))


def _codes(error: Exception) -> set[str]:
    """What the provider calls it: `code` and `type` of its error object."""
    found: set[str] = set()
    for one in _chain(error):
        body = getattr(one, "body", None)
        inner = body.get("error", body) if isinstance(body, dict) else {}
        values = [getattr(one, "code", None), getattr(one, "type", None)]
        if isinstance(inner, dict):
            values += [inner.get("code"), inner.get("type")]
        found |= {value for value in values if isinstance(value, str)}
    return found


def _retry_after(error: Exception) -> float | None:
    """Retry-After in seconds; its other form, a date, is left to our own pause."""
    for one in _chain(error):
        headers: Any = getattr(getattr(one, "response", None), "headers", None)
        value = headers.get("retry-after") if headers is not None else None
        if isinstance(value, str) and value.replace(".", "", 1).isdecimal():
            return float(value)
    return None
