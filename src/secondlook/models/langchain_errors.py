"""What went wrong at a provider, in our own errors. By class and status, never by message."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from secondlook.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    SecondlookError,
)
from secondlook.models.port import ModelBusy, ModeRefused
from secondlook.models.specs import KEY_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.models.port import OutputMode
    from secondlook.models.specs import ModelSpec

_AWAY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_NO_ACCESS = frozenset({401, 403})
_NOT_FOUND = 404
_NOT_UNDERSTOOD = frozenset({400, 404, 405, 415, 422, 500, 501})
"""What servers answer to a form of request they do not know; some crash on it."""
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_LONGEST_MESSAGE = 300
_HTTP_CLIENTS = ("httpx", "httpx2")


def translated(error: Exception, spec: ModelSpec, mode: OutputMode) -> SecondlookError:
    """Our error for one of a provider, its client, or its connection."""
    if isinstance(error, SecondlookError):
        return error
    said = f"{spec.text!r}: {_message(error)}"
    if _is_overflow(error):
        return ContextOverflow(said, hint="Give less evidence: answer.evidence_tokens.")
    if mode in {"json_schema", "tool"} and _is_mode_trouble(error):
        return ModeRefused(said)
    if _is_timeout(error):
        return ModelTimeout(f"{spec.text!r} did not answer in time", hint=_start_hint(spec))
    return _by_status(error, spec, said)


def unwanted_parameter(error: Exception) -> str | None:
    """The name of the parameter that a model will not take, where its provider names it."""
    if _status(error) not in {400, 422}:
        return None
    name = getattr(error, "param", None)
    return name if isinstance(name, str) else None


def _by_status(error: Exception, spec: ModelSpec, said: str) -> SecondlookError:
    status = _status(error)
    if status in _NO_ACCESS:
        return ModelError(said, hint=_key_hint(spec))
    if _codes(error) & _OUT_OF_CREDIT:
        return ModelError(said, hint="The account has no credit left; see the provider's site.")
    if status == _NOT_FOUND:
        return ModelError(said, hint=_missing_hint(spec))
    if status in _AWAY:
        return ModelBusy(said, wait=_retry_after(error))
    if status is None and _is_connection(error):
        return ModelUnavailable(f"{spec.text!r} cannot be reached", hint=_start_hint(spec))
    return ModelError(said)


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


def _is_overflow(error: Exception) -> bool:
    from langchain_core.exceptions import ContextOverflowError

    return isinstance(error, ContextOverflowError) or bool(_codes(error) & _TOO_LONG)


def _is_mode_trouble(error: Exception) -> bool:
    unable = isinstance(error, NotImplementedError | TypeError | ValueError | KeyError)
    return (unable and _status(error) is None) or _status(error) in _NOT_UNDERSTOOD


def _is_timeout(error: Exception) -> bool:
    from langchain_core.exceptions import ModelTimeoutError

    kinds = (ModelTimeoutError, TimeoutError)
    return _is_any(error, (*kinds, *_of_http("TimeoutException")))


def _is_connection(error: Exception) -> bool:
    from langchain_core.exceptions import ModelConnectionError

    kinds = (ModelConnectionError, OSError)
    return _is_any(error, (*kinds, *_of_http("TransportError")))


def _is_any(error: Exception, kinds: tuple[type[BaseException], ...]) -> bool:
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


def _message(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def _start_hint(spec: ModelSpec) -> str:
    if spec.provider == "ollama":
        return f"Start it with `ollama serve`; it is looked for at {spec.base_url}."
    return f"Check that {spec.base_url or spec.provider} can be reached from here."


def _missing_hint(spec: ModelSpec) -> str:
    if spec.provider == "ollama":
        return f"Fetch it with `ollama pull {spec.model}`; `secondlook doctor` lists what is there."
    return f"Check the name {spec.model!r} and the address (OpenAI-compatible ones end in /v1)."


def _key_hint(spec: ModelSpec) -> str:
    variable = KEY_VARIABLES.get(spec.provider)
    return f"Check the key in {variable}." if variable else f"Check the key of {spec.provider}."
