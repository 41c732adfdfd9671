"""Embedders: the embedded one (mean of the last layer, cosine, no prefixes), any that
sentence-transformers can load, and services over HTTP. All implement `Embedder`."""

from __future__ import annotations

import importlib
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.reading.session import CLS, SEP, OnnxModel, Wordpieces, Workers, printable
from secondlook.reading.weights import Weights, find_weights, verified
from secondlook.settings.addresses import plain, sent_to

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.reading.port import Vectors

_SPECIAL_TOKENS = 2
# Texts are encoded and run in groups, so that memory stays flat however many are given.
_GROUP = 256


class OnnxEmbedder:
    """The same text gives the same vector, whatever it is sent with."""

    def __init__(self, weights: Weights | None = None, *, threads: int | None = None) -> None:
        self._weights = weights or find_weights("embedder")
        self._workers = Workers(threads)
        with verified(self._weights):
            self._wordpieces = Wordpieces(self._weights.tokenizer)
            self._model = OnnxModel(self._weights.graphs[0])
        self.name = self._weights.identity
        self.dimensions = self._weights.dimensions
        self.max_tokens = self._weights.max_tokens

    def token_starts(self, text: str) -> list[int]:
        return self._wordpieces.starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for first in range(0, len(texts), _GROUP):
            group = texts[first : first + _GROUP]
            ids = self._wordpieces.ids(group, limit=self.max_tokens - _SPECIAL_TOKENS)
            # Longest first: the last passes are short ones, so no core waits long at the end.
            order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
            feeds = [{"ids": np.array([[CLS, *ids[at], SEP]], dtype=np.int64)} for at in order]
            for at, outputs in zip(order, self._workers.map(self._model.run, feeds), strict=True):
                (vectors[first + at],) = next(iter(outputs.values()))
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_passages([text])[0]
        return vector


_DEFAULT_TOKENS = 512
_BATCH = 32


class TransformerEmbedder:
    """Needs sentence-transformers, and with it torch."""

    def __init__(self, model: str) -> None:
        self._named = model
        self._model = load_transformer("SentenceTransformer", model)
        self._one_at_a_time = threading.Lock()
        self.name = f"sentence-transformers:{model}"
        renamed = getattr(self._model, "get_embedding_dimension", None)
        self.dimensions = int((renamed or self._model.get_sentence_embedding_dimension)())
        self.max_tokens = int(self._model.max_seq_length or _DEFAULT_TOKENS)

    def token_starts(self, text: str) -> list[int]:
        return approximate_starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._encode("document", prefixes(self._named)[0], texts)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._encode("query", prefixes(self._named)[1], [text])[0]
        return vector

    def _encode(self, role: str, prefix: str, texts: Sequence[str]) -> Vectors:
        """A model that carries its own prompts puts them in itself; else we prefix."""
        prompted = role in (getattr(self._model, "prompts", None) or {})
        encode = getattr(self._model, f"encode_{role}") if prompted else self._model.encode
        full = [printable(text) if prompted else prefix + printable(text) for text in texts]
        with self._one_at_a_time:
            rows = encode(full, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        return unit_vectors(rows, model=self.name, texts=len(texts))


_SAFE_TRANSFORMERS = 6


def load_transformer(kind: Literal["SentenceTransformer", "CrossEncoder"], model: str) -> Any:
    """A model of that class of sentence-transformers, or an error that says what to do."""
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as missing:
        raise ModelUnavailable(
            "sentence-transformers is not installed", hint="pip install sentence-transformers"
        ) from missing
    # Older ones import Python from the folder of a model, whatever they are told.
    installed = str(getattr(library, "__version__", "0"))
    if int((re.match(r"\d+", installed) or "0")[0]) < _SAFE_TRANSFORMERS:
        raise ModelUnavailable(
            f"sentence-transformers {installed} may run code that comes with a model",
            hint=f'upgrade it: pip install "sentence-transformers>={_SAFE_TRANSFORMERS}"',
        )
    folder = Path(model)
    if folder.exists() and not folder.is_absolute() and not model.startswith("."):
        raise UsageError(
            f"there is a folder {model!r} here, which would be loaded in place of a known model",
            hint=f"write ./{model} if you mean that folder, or start from another one",
        )
    try:
        return getattr(library, kind)(model)
    except (OSError, ValueError, RuntimeError) as failure:
        raise ModelUnavailable(
            f"sentence-transformers cannot load {model!r}: {failure}",
            hint="give a model's name or the folder it was saved to",
        ) from failure


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


def open_remote(
    provider: str, model: str, *, base_url: str | None = None, api_key: str | None = None
) -> RemoteEmbedder:
    """`model` may carry its address: "MODEL@http://host:port/v1"."""
    model = plain(model)
    if "@http" in model:
        model, _, named = model.rpartition("@")
        base_url = base_url or named
    if provider == "ollama":
        host = os.environ.get("OLLAMA_HOST") or _OLLAMA
        base_url = base_url or (host if "://" in host else f"http://{host}")
    else:
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        api_key = api_key or os.environ.get("OPENAI_API_KEY")
    return RemoteEmbedder(provider, model, base_url, api_key)


class RemoteEmbedder:
    """Ollama, or whatever speaks OpenAI's embeddings protocol. Tokens are counted approximately,
    on the safe side."""

    max_tokens = 512

    def __init__(
        self,
        provider: str,
        model: str,
        base_url: str,
        api_key: str | None = None,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        base_url = plain(base_url)
        address = urlsplit(base_url)
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise UsageError(
                f"{base_url!r} is no address of an embedding service",
                hint="give it as http://host:port/v1",
            )
        self.name = f"{provider}:{model}"
        self._ollama, self._model = provider == "ollama", model
        self._url = base_url.rstrip("/") + ("/api/embed" if self._ollama else "/embeddings")
        # A proxy from the environment is for the outside, never for this machine's own services.
        self._through_proxy = address.hostname not in _LOOPBACK
        self._sent = sent_to(base_url)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._before_passage, self._before_query = prefixes(model)
        self._hint = (
            f"start it with `ollama serve` and `ollama pull {model}`"
            if self._ollama
            else f"check that {base_url} is reachable from here"
        )
        self._pause = pause
        self._dimensions: int | None = None
        self._probing = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Asked of the service once, by embedding one word."""
        with self._probing:
            if self._dimensions is None:
                self._dimensions = self._embed(["dimensions"]).shape[1]
        return self._dimensions

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
        # An empty input is refused by some services; a blank means the same to a model.
        extra = {"truncate": True} if self._ollama else {"encoding_format": "float"}
        inputs = [printable(text) or " " for text in texts]
        reply = self._asked({"model": self._model, "input": inputs, **extra})
        try:
            ordered = [] if self._ollama else sorted(reply["data"], key=lambda row: row["index"])
            rows = reply["embeddings"] if self._ollama else [row["embedding"] for row in ordered]
        except (KeyError, TypeError) as unexpected:
            raise ModelError(
                f"{self._url} answered in a form this version does not know",
                hint="is the base URL that of an embedding service?",
            ) from unexpected
        return unit_vectors(rows, model=self.name, texts=len(texts))

    def _asked(self, body: dict[str, Any]) -> Any:
        """The reply, as JSON. A service that is busy or cannot be reached is asked again."""
        import httpx

        for waited in range(_TRIES):
            wait = 0.5 * 2**waited
            try:
                reply = httpx.post(
                    self._url,
                    json=body,
                    headers=self._headers,
                    timeout=_TIMEOUT_SECONDS,
                    trust_env=self._through_proxy,
                    **self._sent,
                )
            except httpx.HTTPError as unreachable:
                said = f"no answer from {self._url}: {unreachable}"
            else:
                if reply.is_success:
                    return self._read(reply)
                said = f"{self._url} answered {reply.status_code}: {reply.text[:400]!r}"
                if reply.status_code not in _TRY_AGAIN:
                    raise self._refusal(reply.status_code, said)
                # Its other form, a date, is left to our own pause.
                told = reply.headers.get("Retry-After", "")
                wait = float(told) if told.isdecimal() else wait
            if waited + 1 < _TRIES:
                self._pause(min(wait, _LONGEST_PAUSE_SECONDS))
        raise ModelUnavailable(said, hint=self._hint)

    def _read(self, reply: Any) -> Any:
        try:
            return reply.json()
        except ValueError as garbled:
            raise ModelError(f"{self._url} did not answer with JSON") from garbled

    def _refusal(self, code: int, said: str) -> ModelError:
        if code in _NO_ACCESS:
            return ModelUnavailable(said, hint="check the API key (OPENAI_API_KEY)")
        return ModelUnavailable(said, hint=self._hint) if code == _NOT_FOUND else ModelError(said)


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
    (re.compile("nomic-embed-text"), "search_document: ", "search_query: "),
    (re.compile("e5-"), "passage: ", "query: "),
    (re.compile("mxbai-embed|bge-(?:small|base|large)-en"), "", _RETRIEVAL),
)


def approximate_starts(text: str) -> list[int]:
    return [match.start() for match in _TOKEN.finditer(text)]


def prefixes(model: str) -> tuple[str, str]:
    """What goes before each passage and before the question."""
    for family, passage, query in _PREFIXES:
        if family.search(model.lower()):
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
