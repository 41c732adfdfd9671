"""The embedded embedder: gte-small, mean of the last layer, cosine, no prefixes."""

from __future__ import annotations

import importlib
import json
import os
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

import numpy as np

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.reading.session import CLS, SEP, OnnxModel, Wordpieces, printable
from secondlook.reading.weights import Weights, find_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from email.message import Message
    from urllib.request import OpenerDirector

    from secondlook.reading.port import Vectors

_SPECIAL_TOKENS = 2
# Texts are encoded and run in groups, so that memory stays flat however many are given.
_GROUP = 256


class OnnxEmbedder:
    """Implements `Embedder`. The same text gives the same vector, whatever it is sent with."""

    def __init__(self, weights: Weights | None = None, *, threads: int | None = None) -> None:
        self._weights = weights or find_weights("embedder")
        self._wordpieces = Wordpieces(self._weights.tokenizer)
        self._model = OnnxModel(self._weights.model, threads=threads)

    @property
    def name(self) -> str:
        return self._weights.identity

    @property
    def dimensions(self) -> int:
        return self._weights.dimensions

    @property
    def max_tokens(self) -> int:
        return self._weights.max_tokens

    def token_starts(self, text: str) -> list[int]:
        return self._wordpieces.starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for first in range(0, len(texts), _GROUP):
            group = texts[first : first + _GROUP]
            vectors[first : first + len(group)] = self._embed(group)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Vectors:
        ids = self._wordpieces.ids(texts, limit=self.max_tokens - _SPECIAL_TOKENS)
        # Longest first: the last passes are short ones, so no core waits long at the end.
        order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
        outputs = self._model.run_all(
            [{"ids": np.array([[CLS, *ids[at], SEP]], dtype=np.int64)} for at in order]
        )
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for at, (vector,) in zip(order, outputs, strict=True):
            vectors[at] = vector[0]
        return vectors


# Any embedder that sentence-transformers can load, by name or path.

_DEFAULT_TOKENS = 512
_BATCH = 32


class TransformerEmbedder:
    """Implements `Embedder`. Needs sentence-transformers, and with it torch."""

    def __init__(self, model: str) -> None:
        self._name = model
        self._model = load_transformer("SentenceTransformer", model)
        self._one_at_a_time = threading.Lock()

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self._name}"

    @property
    def dimensions(self) -> int:
        renamed = getattr(self._model, "get_embedding_dimension", None)
        return int((renamed or self._model.get_sentence_embedding_dimension)())

    @property
    def max_tokens(self) -> int:
        return int(self._model.max_seq_length or _DEFAULT_TOKENS)

    def token_starts(self, text: str) -> list[int]:
        return approximate_starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._encode("document", prefixes(self._name)[0], texts)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._encode("query", prefixes(self._name)[1], [text])[0]
        return vector

    def _encode(self, role: str, prefix: str, texts: Sequence[str]) -> Vectors:
        """A model that carries its own prompts puts them in itself; else we prefix."""
        prompted = role in (getattr(self._model, "prompts", None) or {})
        encode = getattr(self._model, f"encode_{role}") if prompted else self._model.encode
        full = [printable(text) if prompted else prefix + printable(text) for text in texts]
        with self._one_at_a_time:
            rows = encode(full, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        return unit_vectors(rows, model=self.name, texts=len(texts))


def load_transformer(kind: Literal["SentenceTransformer", "CrossEncoder"], model: str) -> Any:
    """A model of that class of sentence-transformers, or an error that says what to do."""
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as missing:
        raise ModelUnavailable(
            "sentence-transformers is not installed",
            hint="pip install sentence-transformers",
        ) from missing
    try:
        return getattr(library, kind)(model)
    except (OSError, ValueError, RuntimeError) as failure:
        raise ModelUnavailable(
            f"sentence-transformers cannot load {model!r}: {failure}",
            hint="give a model's name or the folder it was saved to",
        ) from failure


# Embedders behind HTTP: Ollama, and whatever speaks OpenAI's embeddings protocol.

Provider: TypeAlias = Literal["ollama", "openai"]
_OLLAMA = "http://127.0.0.1:11434"
_OPENAI = "https://api.openai.com/v1"
_REMOTE_BATCH = 64
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
        batches = [full[at : at + _REMOTE_BATCH] for at in range(0, len(full), _REMOTE_BATCH)]
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


# What embedders without a tokenizer of their own here share: counting tokens, query prefixes.

# Four letters or digits to a token at most, and every other visible character one of its own
# (so also each Chinese or Japanese one): more tokens than the common tokenizers make of text, so
# that chunks counted this way are never cut.
_TOKEN = re.compile(r"[^\W\u2e80-\uffff]{1,4}|[^\s]")
# What models of these families were trained to see before a passage and before a question.
# https://huggingface.co/nomic-ai/nomic-embed-text-v1.5, .../intfloat/e5-base-v2,
# .../mixedbread-ai/mxbai-embed-large-v1, .../BAAI/bge-small-en-v1.5 (their model cards).
_RETRIEVAL = "Represent this sentence for searching relevant passages: "
_PREFIXES = (
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("e5-", "passage: ", "query: "),
    ("mxbai-embed", "", _RETRIEVAL),
    ("bge-small-en", "", _RETRIEVAL),
    ("bge-base-en", "", _RETRIEVAL),
    ("bge-large-en", "", _RETRIEVAL),
)


def approximate_starts(text: str) -> list[int]:
    return [match.start() for match in _TOKEN.finditer(text)]


def prefixes(model: str) -> tuple[str, str]:
    """What goes before each passage and before the question."""
    for family, passage, query in _PREFIXES:
        if family in model.lower():
            return passage, query
    return "", ""


def unit_vectors(rows: Sequence[Sequence[float]], *, model: str, texts: int) -> Vectors:
    """Whatever a service sent, as unit vectors, or an error that says what is wrong with it."""
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as ragged:
        raise ModelError(f"{model!r} sent vectors of differing or non-numeric shape") from ragged
    if vectors.ndim != 2 or len(vectors) != texts:  # noqa: PLR2004
        raise ModelError(f"{model!r} sent {len(vectors)} vectors for {texts} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0):
        raise ModelError(f"{model!r} sent a vector that has no direction")
    unit: Vectors = vectors / lengths
    return unit
