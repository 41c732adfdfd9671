"""LangChain's chat models, made for us: no retries of their own, no proxy to this machine.

Nothing is sent to anyone but the provider: LangSmith's tracing is on only where a person has
switched it on in their environment.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelError
from secondlook.models.specs import KEY_VARIABLES, PACKAGES

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from secondlook.models.port import ChatRequest
    from secondlook.models.specs import ModelSpec

_EXTRAS = frozenset({"openai", "ollama"})
_NO_KEY = "not-needed"
"""Servers of one's own mostly want none, but the client insists on one."""
_NAMES_OF_MAX_TOKENS = {
    "google_genai": "max_output_tokens",
    "google_vertexai": "max_output_tokens",
}
_TAKE_HEADERS = frozenset({"openai", "azure_openai"})
"""Whose clients pass on a header with one call."""


def build(spec: ModelSpec) -> BaseChatModel:
    """The chat model that `init_chat_model` makes of a spec, or an error with the way out."""
    try:
        _require_packages(spec.provider)
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
        raise ModelError(
            f"{spec.text!r} cannot be opened: {_first_line(refused)}", hint=_opening_hint(spec)
        ) from refused
    return model


async def close(model: BaseChatModel) -> None:
    """Its connections. Which of its attributes holds them is each provider's own affair."""
    for name, closing in (("http_async_client", "aclose"), ("_async_client", "close")):
        end = getattr(getattr(model, name, None), closing, None)
        if end is not None:
            await end()


def install_hint(provider: str) -> str:
    if provider in _EXTRAS:
        return f'pip install "secondlook[{provider}]"'
    return f"pip install langchain {PACKAGES[provider]}"


def _require_packages(provider: str) -> None:
    """Before the key is looked for, which we do for the providers of our own extras ourselves."""
    package = PACKAGES[provider].replace("-", "_")
    if provider in _EXTRAS and find_spec(package) is None:
        raise ImportError(package)


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
    if spec.provider == "ollama":
        plain = str(spec.base_url).startswith("http://")
        http = {"trust_env": not spec.local, "verify": not plain}
        return {"base_url": spec.base_url, "client_kwargs": http}
    given: dict[str, Any] = {"max_retries": 0}
    if spec.base_url:
        given["base_url"] = spec.base_url
    if spec.provider == "openai":
        given |= {
            "api_key": _openai_key(spec),
            "stream_usage": True,
            "http_async_client": _openai_http(spec),
        }
    return given


def _openai_http(spec: ModelSpec) -> Any:
    """One per event loop, ours: shared ones break when their loop is closed."""
    from openai import DefaultAsyncHttpxClient

    # Without TLS there is nothing to verify, and reading the certificates takes a tenth of a
    # second. A proxy from the environment is for the outside, never for this machine.
    plain = str(spec.base_url).startswith("http://")
    return DefaultAsyncHttpxClient(verify=not plain, trust_env=not spec.local, timeout=None)


def _openai_key(spec: ModelSpec) -> str:
    key = os.environ.get(KEY_VARIABLES["openai"], "").strip()
    if key:
        return key
    if spec.base_url:
        return _NO_KEY
    raise ModelError(
        f"{spec.text!r} needs a key, and OPENAI_API_KEY is not set",
        hint="Set OPENAI_API_KEY, or name a server of your own: openai:MODEL@http://host:port/v1.",
    )


def _opening_hint(spec: ModelSpec) -> str:
    variable = KEY_VARIABLES.get(spec.provider)
    if variable and not os.environ.get(variable):
        return f"Set {variable}."
    return "`secondlook doctor` shows what is installed and which keys are set."


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
