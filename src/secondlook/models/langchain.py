"""Models behind LangChain: Ollama, OpenAI and its likes, and every provider with a package."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
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
    longest_reply,
)
from secondlook.models.specs import KEY_VARIABLES, PACKAGES, window_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

    from secondlook.models.chat import Finish, OutputMode
    from secondlook.models.specs import ModelSpec
    from secondlook.settings.sections import ModelSettings

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
        from langchain_core.messages.ai import add_usage

        said = str(chunk.text)
        called = "".join(part.get("args") or "" for part in chunk.tool_call_chunks)
        self.text.append(said)
        self.arguments.append(called)
        self.length += len(said) + len(called)
        if (said or called) and self.first is None:
            self.first = time.monotonic()
        if chunk.usage_metadata:
            self.usage = add_usage(self.usage, chunk.usage_metadata)
        why = [chunk.response_metadata.get(name) for name in _WHY_IT_ENDED]
        self.ended = self.ended or any(why)
        if any(str(reason).lower() in _CUT for reason in why):
            self.finish = "length"
        return said or called

    @property
    def reply(self) -> str:
        return "".join(self.arguments) or "".join(self.text)


class LangChainChat:
    """Implements `Chat` over whatever `init_chat_model` makes of the spec."""

    def __init__(self, spec: ModelSpec, settings: ModelSettings) -> None:
        self._spec = spec
        self._told_window = window_of(settings)
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
                hint="Give it longer: models.options, all.timeout=SECONDS.",
            ) from late
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

    async def count(self, messages: Sequence[Message]) -> int:
        """Rather high.

        What cannot be opened fails here, before a call is paid for: it was never made.
        """
        await self._model()
        return approximate_prompt(messages) + 1

    async def context_tokens(self) -> int | None:
        if self._window is None and not self._has_answered:
            spec = self._spec
            if spec.provider == "ollama":
                self._window = await ollama_window(spec, self._told_window)
            elif self._told_window:
                self._window = self._told_window
            elif spec.provider == "openai" and spec.base_url:
                self._window = await server_window(spec)
            else:
                self._window = ((await self._model()).profile or {}).get("max_input_tokens")
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


def _messages(messages: Sequence[Message]) -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    return [kinds[message.role](content=message.content) for message in messages]


# LangChain's chat models, made for us: no retries of their own, no proxy to this machine.

_NAMES_OF_MAX_TOKENS = {
    "google_genai": "max_output_tokens",
    "google_vertexai": "max_output_tokens",
}
_TAKE_HEADERS = frozenset({"openai", "azure_openai"})
"""Whose clients pass on a header with one call."""


def build(spec: ModelSpec) -> BaseChatModel:
    """The chat model that `init_chat_model` makes of a spec, or an error with the way out."""
    try:
        package = PACKAGES[spec.provider].replace("-", "_")
        # Before the key is looked for, which we do for these providers ourselves.
        if spec.provider in {"openai", "ollama"} and find_spec(package) is None:
            raise ImportError(package)  # noqa: TRY301
        from langchain.chat_models import init_chat_model

        model: BaseChatModel = init_chat_model(
            spec.model, model_provider=spec.provider, **_arguments(spec)
        )
    except ModelError:
        raise
    except ImportError as missing:
        # The command is part of the message: a run that goes on without the model tells no hints.
        command = install_hint(spec.provider)
        raise ModelError(
            f"{spec.text!r} needs a package that is not installed: {command}", hint=command
        ) from missing
    except Exception as refused:
        variable = KEY_VARIABLES.get(spec.provider)
        said = next(iter(str(refused).strip().splitlines()), "") or type(refused).__name__
        raise ModelError(
            f"{spec.text!r} cannot be opened: {said}",
            hint=f"Set {variable}."
            if variable and not os.environ.get(variable)
            else "`secondlook doctor` shows what is installed and which keys are set.",
        ) from refused
    return model


async def close(model: BaseChatModel) -> None:
    """Its connections. Which of its attributes holds them is each provider's own affair."""
    for name, closing in (("http_async_client", "aclose"), ("_async_client", "close")):
        end = getattr(getattr(model, name, None), closing, None)
        if end is not None:
            await end()


def install_hint(provider: str) -> str:
    return f"pip install langchain {PACKAGES[provider]}"


def call_arguments(spec: ModelSpec, request: ChatRequest, *, num_ctx: int | None) -> dict[str, Any]:
    """Length, temperature, seed and stops, under the names the provider has for them."""
    stop = list(request.stop) or None
    if spec.provider == "ollama":
        options = {
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stop": stop,
            # Never left out: a server that assumes less silently drops the start of the prompt.
            "num_ctx": num_ctx,
        }
        return {"options": {name: value for name, value in options.items() if value is not None}}
    given: dict[str, Any] = {"temperature": request.temperature}
    if request.idempotency_key and spec.provider in _TAKE_HEADERS:
        given["extra_headers"] = {"Idempotency-Key": request.idempotency_key}
    if spec.provider == "openai" and spec.base_url:
        # Other servers mostly know this name only; the client would send the newer one.
        given["extra_body"] = {"max_tokens": request.max_tokens}
    else:
        given[_NAMES_OF_MAX_TOKENS.get(spec.provider, "max_tokens")] = request.max_tokens
    if request.seed is not None:
        given["seed"] = request.seed
    if stop:
        given["stop"] = stop
    return given


def _arguments(spec: ModelSpec) -> dict[str, Any]:
    # Without TLS there is nothing to verify, and reading the certificates takes a tenth of a
    # second. A proxy from the environment is for the outside, never for this machine.
    http: dict[str, Any] = {
        "trust_env": not spec.local,
        "verify": not str(spec.base_url).startswith("http://"),
    }
    if spec.provider == "ollama":
        return {"base_url": spec.base_url, "client_kwargs": http}
    given: dict[str, Any] = {"max_retries": 0}
    if spec.base_url:
        given["base_url"] = spec.base_url
    if spec.provider == "openai":
        key = os.environ.get(KEY_VARIABLES["openai"], "").strip()
        if not key and not spec.base_url:
            raise ModelError(
                f"{spec.text!r} needs a key, and OPENAI_API_KEY is not set",
                hint="Set OPENAI_API_KEY, or name a server of your own: "
                "openai:MODEL@http://host:port/v1.",
            )
        from openai import DefaultAsyncHttpxClient

        # One per event loop, ours: shared ones break when their loop is closed.
        client = DefaultAsyncHttpxClient(**http, timeout=None)
        # Servers of one's own mostly want no key, but the client insists on one.
        given |= {"api_key": key or "not-needed", "stream_usage": True, "http_async_client": client}
    return given


# Output modes in LangChain's terms: how a schema is bound to a chat model.

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_UNSUPPORTED = frozenset(
    {"default", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"}
)
"""What OpenAI's own strict mode refuses; other servers hold a model to it. We validate it all."""


def bound(model: BaseChatModel, spec: ModelSpec, request: ChatRequest) -> Runnable[Any, Any]:
    """The model, made to answer in the form of the request."""
    schema = request.schema
    if schema is None or request.mode in {"text", "prompted"}:
        return model
    try:
        if request.mode == "tool":
            name = schema_name(schema)
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
    """What an OpenAI-compatible server gets in the body of the request.

    Not as LangChain's own argument: its client would parse the stream and raise on a cut reply.
    """
    native = request.schema is not None and request.mode == "json_schema"
    if not native or spec.provider not in {"openai", "azure_openai"}:
        return {}
    schema = cast("dict[str, Any]", request.schema)
    without = _UNSUPPORTED if spec.base_url is None else frozenset({"default"})
    form = {"name": schema_name(schema), "schema": strict(schema, without), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def schema_name(schema: dict[str, Any]) -> str:
    return _NOT_A_NAME.sub("_", str(schema.get("title") or "Reply"))[:_LONGEST_NAME]


def strict(schema: Any, without: frozenset[str] = frozenset({"default"})) -> Any:
    """Every field required and no others, as OpenAI's strict mode wants it."""
    if isinstance(schema, list):
        return [strict(item, without) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties")
    made = {name: strict(value, without) for name, value in schema.items() if name not in without}
    if isinstance(fields, dict):
        # Here a word of schemas may be the name of a field.
        made["properties"] = {name: strict(value, without) for name, value in fields.items()}
        made |= {"required": list(fields), "additionalProperties": False}
    return made


# How much a served model can see, asked of its server.

OLLAMA_WINDOW = 8192
"""What we ask Ollama for where nobody says otherwise: its own default is half of that or less,
what a model was trained with is often more than a laptop has memory for."""
_SECONDS = 5.0
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def ollama_window(spec: ModelSpec, told: int | None) -> int:
    """What to ask for as `num_ctx`: as set, as the model file says, or our default; never more
    than the model was trained with."""
    shown = await _json(spec, "POST", f"{spec.base_url}/api/show", {"model": spec.model})
    in_file = _NUM_CTX.search(str(shown.get("parameters") or ""))
    wanted = told or (int(in_file[1]) if in_file else 0) or OLLAMA_WINDOW
    about = shown.get("model_info")
    trained = _first_positive(
        value
        for name, value in (about.items() if isinstance(about, dict) else ())
        if name.endswith(".context_length")
    )
    return min(wanted, trained) if trained else wanted


async def server_window(spec: ModelSpec) -> int | None:
    """Of an OpenAI-compatible server: llama.cpp says it in /props, vLLM in its list of models."""
    address = str(spec.base_url)
    props = await _json(spec, "GET", f"{address.removesuffix('/v1')}/props")
    defaults = props.get("default_generation_settings")
    if isinstance(defaults, dict) and (found := _first_positive([defaults.get("n_ctx")])):
        return found
    data = (await _json(spec, "GET", f"{address}/models")).get("data")
    models = data if isinstance(data, list) else []
    for model in models:
        if isinstance(model, dict) and (len(models) == 1 or model.get("id") == spec.model):
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
        async with httpx.AsyncClient(trust_env=not spec.local, timeout=_SECONDS) as client:
            reply = await client.request(method, url, json=body)
            content = reply.json() if reply.is_success else {}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


# What went wrong at a provider, in our own errors. By class and status, never by message.

_AWAY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_NOT_FOUND = 404
_NOT_UNDERSTOOD = frozenset({400, 404, 405, 415, 422, 500, 501})
"""What servers answer to a form of request they do not know; some crash on it."""
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_LONGEST_MESSAGE = 300
_HTTP_CLIENTS = ("httpx", "httpx2")


def translated(  # noqa: C901, PLR0911
    error: Exception, spec: ModelSpec, mode: OutputMode
) -> SecondlookError:
    """Our error for one of a provider, its client, or its connection."""
    if isinstance(error, SecondlookError):
        return error
    from langchain_core import exceptions

    text = " ".join(str(error).split()) or type(error).__name__
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
    said, codes, status = f"{spec.text!r}: {text}", _codes(error), _status(error)
    if isinstance(error, exceptions.ContextOverflowError) or codes & _TOO_LONG:
        return ContextOverflow(said, hint="Give less evidence: answer.evidence_tokens.")
    if mode in {"json_schema", "tool"}:
        unable = isinstance(error, NotImplementedError | TypeError | ValueError | KeyError)
        if (unable and status is None) or status in _NOT_UNDERSTOOD:
            return ModeRefused(said)
    start = f"Check that {spec.base_url or spec.provider} can be reached from here."
    missing = f"Check the name {spec.model!r} and the address (OpenAI-compatible ones end in /v1)."
    if spec.provider == "ollama":
        start = f"Start it with `ollama serve`; it is looked for at {spec.base_url}."
        missing = (
            f"Fetch it with `ollama pull {spec.model}`; `secondlook doctor` lists what is there."
        )
    if _is_any(error, exceptions.ModelTimeoutError, TimeoutError, *_of_http("TimeoutException")):
        return ModelTimeout(f"{spec.text!r} did not answer in time", hint=start)
    if status in {401, 403}:
        key = KEY_VARIABLES.get(spec.provider)
        hint = f"Check the key in {key}." if key else f"Check the key of {spec.provider}."
        return ModelError(said, hint=hint)
    if codes & _OUT_OF_CREDIT:
        return ModelError(said, hint="The account has no credit left; see the provider's site.")
    if status == _NOT_FOUND:
        return ModelError(said, hint=missing)
    if status in _AWAY:
        return ModelBusy(said, wait=_retry_after(error))
    if status is None and _is_any(
        error, exceptions.ModelConnectionError, OSError, *_of_http("TransportError")
    ):
        return ModelUnavailable(f"{spec.text!r} cannot be reached", hint=start)
    return ModelError(said)


def unwanted_parameter(error: Exception) -> str | None:
    """The name of the parameter that a model will not take, where its provider names it."""
    if _status(error) not in {400, 422}:
        return None
    name = getattr(error, "param", None)
    return name if isinstance(name, str) else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def _status(error: Exception) -> int | None:
    for one in _chain(error):
        code = getattr(one, "status_code", None)
        if isinstance(code, int) and code > 0:
            return code
    return None


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


def _is_any(error: Exception, *kinds: type[BaseException]) -> bool:
    return any(isinstance(one, kinds) for one in _chain(error))


def _of_http(name: str) -> list[type[BaseException]]:
    """An error class of the HTTP clients that providers use, as far as they are in use."""
    loaded = [sys.modules[client] for client in _HTTP_CLIENTS if client in sys.modules]
    return [getattr(client, name) for client in loaded if hasattr(client, name)]


def _retry_after(error: Exception) -> float | None:
    """Retry-After in seconds; its other form, a date, is left to our own pause."""
    for one in _chain(error):
        headers: Any = getattr(getattr(one, "response", None), "headers", None)
        value = headers.get("retry-after") if headers is not None else None
        if isinstance(value, str) and value.replace(".", "", 1).isdecimal():
            return float(value)
    return None
