"""Embedders behind HTTP: Ollama, and whatever speaks OpenAI's embeddings protocol.

Standard library only. Every wait is bounded: a time limit per request and a number of tries.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

import numpy as np

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.reading.approximate import approximate_starts, prefixes, unit_vectors
from secondlook.reading.wordpieces import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from email.message import Message
    from urllib.request import OpenerDirector

    from secondlook.reading.port import Vectors

Provider: TypeAlias = Literal["ollama", "openai"]
_OLLAMA = "http://127.0.0.1:11434"
_OPENAI = "https://api.openai.com/v1"
_BATCH = 64
_TRIES = 4
_TIMEOUT_SECONDS = 60.0
_LONGEST_PAUSE_SECONDS = 20.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}
_NO_ACCESS = {401, 403}
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Service:
    """Where to ask, how to ask, and what to tell a person when nobody answers."""

    provider: Provider
    model: str
    base_url: str
    api_key: str | None = None

    @property
    def url(self) -> str:
        path = "/api/embed" if self.provider == "ollama" else "/embeddings"
        return self.base_url.rstrip("/") + path

    def body(self, texts: Sequence[str]) -> bytes:
        # An empty input is refused by some services; a blank means the same to a model.
        inputs = [printable(text) or " " for text in texts]
        extra = {"truncate": True} if self.provider == "ollama" else {"encoding_format": "float"}
        return json.dumps({"model": self.model, "input": inputs, **extra}).encode()

    def headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {"Content-Type": "application/json", "Accept": "application/json", **key}

    def rows(self, reply: Any) -> list[list[float]]:
        """The vectors in the order asked for."""
        if self.provider == "ollama":
            return cast("list[list[float]]", reply["embeddings"])
        ordered = sorted(reply["data"], key=lambda row: int(row["index"]))
        return [row["embedding"] for row in ordered]

    @property
    def start_hint(self) -> str:
        if self.provider == "ollama":
            return f"start it with `ollama serve` and `ollama pull {self.model}`"
        return f"check that {self.base_url} is reachable from here"


def open_remote(
    provider: str, model: str, *, base_url: str | None = None, api_key: str | None = None
) -> RemoteEmbedder:
    """`model` may carry its address: "MODEL@http://host:port/v1"."""
    if "@http" in model:
        model, _, named = model.rpartition("@")
        base_url = base_url or named
    if provider == "ollama":
        host = os.environ.get("OLLAMA_HOST") or _OLLAMA
        base_url = base_url or (host if "://" in host else f"http://{host}")
        return RemoteEmbedder(Service("ollama", model, _checked(base_url), api_key))
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    api_key = api_key or os.environ.get("OPENAI_API_KEY")
    return RemoteEmbedder(Service("openai", model, _checked(base_url), api_key))


def _checked(base_url: str) -> str:
    address = urlsplit(base_url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise UsageError(
            f"{base_url!r} is no address of an embedding service",
            hint="give it as http://host:port/v1",
        )
    return base_url


class RemoteEmbedder:
    """Implements `Embedder` over HTTP. Tokens are counted approximately, on the safe side."""

    def __init__(
        self,
        service: Service,
        *,
        timeout: float = _TIMEOUT_SECONDS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._service = service
        self._timeout = timeout
        self._pause = pause
        self._before_passage, self._before_query = prefixes(service.model)
        self._dimensions: int | None = None
        self._probing = threading.Lock()

    @property
    def name(self) -> str:
        return f"{self._service.provider}:{self._service.model}"

    @property
    def dimensions(self) -> int:
        """Asked of the service once, by embedding one word."""
        with self._probing:
            if self._dimensions is None:
                self._dimensions = self._embed(["dimensions"]).shape[1]
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return 512

    def token_starts(self, text: str) -> list[int]:
        return approximate_starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        full = [self._before_passage + text for text in texts]
        batches = [full[at : at + _BATCH] for at in range(0, len(full), _BATCH)]
        return np.concatenate([self._embed(batch) for batch in batches])

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([self._before_query + text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Vectors:
        reply = self._ask(texts)
        try:
            rows = self._service.rows(reply)
        except (KeyError, TypeError, ValueError) as unexpected:
            raise ModelError(
                f"{self._service.url} answered in a form this version does not know",
                hint="is the base URL that of an embedding service?",
            ) from unexpected
        return unit_vectors(rows, model=self.name, texts=len(texts))

    def _ask(self, texts: Sequence[str]) -> Any:
        for remaining in reversed(range(_TRIES)):
            try:
                return self._post(self._service.body(texts))
            except _Busy as busy:
                if not remaining:
                    raise ModelUnavailable(str(busy), hint=self._service.start_hint) from busy
                waited = _TRIES - 1 - remaining
                self._pause(min(busy.wait or 0.5 * 2**waited, _LONGEST_PAUSE_SECONDS))
        raise AssertionError  # the last try returns or raises

    def _post(self, body: bytes) -> Any:
        from urllib.error import HTTPError
        from urllib.request import Request

        url = self._service.url
        request = Request(url, body, self._service.headers(), method="POST")  # noqa: S310 - checked
        try:
            with _opener(url).open(request, timeout=self._timeout) as reply:
                return json.load(reply)
        except HTTPError as refused:
            with refused:
                raise self._refusal(refused.code, refused.read(400), refused.headers) from refused
        except OSError as unreachable:
            raise _Busy(f"no answer from {url}: {unreachable}") from unreachable
        except ValueError as garbled:
            raise ModelError(f"{url} did not answer with JSON") from garbled

    def _refusal(self, code: int, detail: bytes, headers: Message) -> Exception:
        said = f"{self._service.url} answered {code}: {detail.decode('utf-8', 'replace')!r}"
        if code in _TRY_AGAIN:
            return _Busy(said, wait=_seconds(headers.get("Retry-After")))
        if code in _NO_ACCESS:
            return ModelUnavailable(said, hint="check the API key (OPENAI_API_KEY)")
        if code == _NOT_FOUND:
            return ModelUnavailable(said, hint=self._service.start_hint)
        return ModelError(said)


class _Busy(Exception):
    """The service may answer if asked again, after `wait` seconds where it says so."""

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def _seconds(header: str | None) -> float | None:
    """Retry-After as a number; its other form, a date, is left to our own pause."""
    return float(header) if header and header.isdecimal() else None


def _opener(url: str) -> OpenerDirector:
    """A proxy from the environment is for the outside, never for this machine's own services."""
    from urllib.request import ProxyHandler, build_opener

    handlers = [ProxyHandler({})] if urlsplit(url).hostname in _LOOPBACK else []
    return build_opener(*handlers)
